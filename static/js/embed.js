// A status frame keeps itself up to date while it is seen, and tells the page around it how tall it is. It hears nothing.
"use strict";

(() => {
  const LONGEST = 900;
  const { id, origins, refresh } = document.body.dataset;
  const around = window.location.ancestorOrigins;
  let failures = 0;
  let asked = Date.now();
  let timer;

  function tell() {
    const height = Math.ceil(document.querySelector("main").getBoundingClientRect().height);
    const message = { type: "dlq-embed:height", v: 1, id, height };
    // Only to pages that may show it; where the browser says which one does, to no other name.
    const known = origins.split(" ").filter((one) => one && (!around || around[0] === one));
    if (window.parent !== window) known.forEach((origin) => window.parent.postMessage(message, origin));
  }

  function late(is) {
    document.getElementById("status").classList.toggle("late", is);
    document.querySelector(".frame-late").hidden = !is;
  }

  async function look() {
    asked = Date.now();
    try {
      const limit = AbortSignal.timeout(10_000);
      const answer = await fetch(window.location.href, { credentials: "omit", cache: "no-cache", signal: limit });
      // It was taken back: what the server says now is to be seen, not what it said before.
      if (answer.status === 404) return window.location.reload();
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      document.getElementById("status").replaceWith(page.getElementById("status"));
      document.title = page.title;
      failures = 0;
    } catch {
      failures += 1;
      late(true);
    }
    tell();
    return wait();
  }

  function wait() {
    const seconds = Math.min(LONGEST, Number(refresh) * 2 ** failures) * (0.9 + 0.2 * Math.random());
    window.clearTimeout(timer);
    timer = window.setTimeout(() => (document.hidden ? wait() : look()), 1000 * seconds);
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && Date.now() - asked > 1000 * Number(refresh)) look();
  });
  window.addEventListener("resize", tell);
  tell();
  wait();
})();
