// A page that shows how things stand: it changes only where something has changed and nobody is at work in it, and says
// every second how old it is. Nobody who looks, and no connection, are two things.
"use strict";

(() => {
  // Milliseconds in which a pointer on a link is about to press it.
  const ABOUT_TO = 3_000;
  const region = document.querySelector("[data-pulse]");
  const line = document.getElementById("fresh");
  const box = document.getElementById("pause-news");
  // When the figures on the page were last heard of, and how many seconds old they were then.
  let heard = { at: Date.now(), age: Number.parseFloat(line.dataset.age) };
  let trouble = "";
  let shown = "";
  let moved = 0;

  const said = () => region.querySelector("[data-said]").dataset.said;
  // With the parts elsewhere that come along with its answers.
  const isBusy = () =>
    [region, ...document.querySelectorAll("[data-along]")].some(
      (one) =>
        one.contains(document.activeElement) || (Date.now() - moved < ABOUT_TO && one.querySelector("a:hover, button:hover")),
    );

  function span(seconds) {
    if (seconds < 60) return `${Math.floor(seconds)} s`;
    return seconds < 3_600 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3_600)} h`;
  }

  function tick() {
    const { at, age } = heard;
    if (Number.isNaN(age)) return;
    const now = Math.max(0, age + (Date.now() - at) / 1_000);
    const limit = Number(line.dataset.limit);
    const isOld = now > limit;
    // That nobody looks is for an answer to say: without one it may be the connection.
    const old = age > limit || !line.hasAttribute("data-when-waiting") ? "stale" : "waiting";
    const calm = isOld ? old : "live";
    const state = trouble === "held" || !trouble ? (box?.checked ? "paused" : trouble || calm) : trouble;
    const text = line.getAttribute(`data-when-${state}`).replace("@", line.dataset.at).replace("#", span(now));
    if (line.textContent !== text) line.textContent = text;
    line.dataset.state = state;
    const isLost = isOld || ["lost", "over"].includes(state);
    region.classList.toggle("pulse-lost", isLost);
    document.body.classList.toggle("page-lost", isLost);
  }

  function lose({ detail }) {
    if (detail.requestConfig.elt !== region) return;
    trouble = [401, 403].includes(detail.xhr?.status) ? "over" : "lost";
    tick();
  }

  document.addEventListener("htmx:sendError", lose);
  document.addEventListener("htmx:timeout", lose);
  document.addEventListener("htmx:beforeOnLoad", (event) => event.detail.xhr.status >= 400 && lose(event));
  document.addEventListener("pointermove", () => (moved = Date.now()), { passive: true });
  document.addEventListener("change", tick);

  // Before those who ask whether anything is put in place. What comes from the browser's memory looks like an answer.
  document.addEventListener(
    "htmx:beforeSwap",
    ({ detail }) => {
      const { xhr, requestConfig } = detail;
      if (requestConfig.elt !== region || xhr.status !== 200) return;
      const tag = xhr.getResponseHeader("ETag");
      trouble = tag !== shown && isBusy() ? "held" : "";
      detail.shouldSwap = tag !== shown && !trouble;
      // What stays is as old as it was.
      if (trouble) return;
      const before = said();
      shown = tag;
      heard = { at: Date.now(), age: Number.parseFloat(xhr.getResponseHeader("Seen-Age")) };
      line.dataset.at = xhr.getResponseHeader("Seen-At");
      // Told aloud is who stands otherwise than before, not every figure.
      const tell = () => said() !== before && (document.getElementById("news").textContent = said());
      region.addEventListener("htmx:afterSettle", tell, { once: true });
    },
    true,
  );

  window.setInterval(tick, 1_000);
  tick();
})();
