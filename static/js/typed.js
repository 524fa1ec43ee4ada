// A session that ends while somebody writes costs no text: it waits in this tab until they are back on the page.
"use strict";

(() => {
  const KEY = "dlq-console-typed";
  const fields = "textarea[id], input[id]:not([type]), input[id][type=text]";
  const follows = (event) => event.detail.requestConfig.elt.hasAttribute("data-follows");

  function keep() {
    const typed = [...document.querySelectorAll(fields)].filter((field) => field.value !== field.defaultValue);
    if (!typed.length) return;
    const values = Object.fromEntries(typed.map((field) => [field.id, field.value]));
    window.sessionStorage.setItem(KEY, JSON.stringify({ path: window.location.pathname, values }));
  }

  function giveBack() {
    const kept = JSON.parse(window.sessionStorage.getItem(KEY) ?? "null");
    if (kept?.path !== window.location.pathname) return;
    window.sessionStorage.removeItem(KEY);
    for (const [id, value] of Object.entries(kept.values)) {
      const field = document.getElementById(id);
      if (!field) continue;
      field.value = value;
      const sheet = field.closest("details");
      if (sheet) sheet.open = true;
    }
  }

  // Whoever only looks is not sent away from what they are writing; the next thing they do leads to the log-in.
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (event.detail.xhr.status !== 401) return;
    if (follows(event)) event.preventDefault();
    else keep();
  });

  giveBack();
})();
