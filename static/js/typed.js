// A session that ends while somebody writes costs no text: it waits in this tab until they are back on the page.
"use strict";

(() => {
  const KEY = "dlq-console-typed";
  const fields = "textarea[id], input[id]:not([type]), input[id][type=text]";
  const follows = (event) => event.detail.requestConfig.elt.hasAttribute("data-follows");

  const store = (path, values) => window.sessionStorage.setItem(KEY, JSON.stringify({ path, values }));

  function keep() {
    const typed = [...document.querySelectorAll(fields)].filter((field) => field.value !== field.defaultValue);
    if (!typed.length) return;
    store(window.location.pathname, Object.fromEntries(typed.map((field) => [field.id, field.value])));
  }

  // The page that says that the session has ended holds what a plain form had brought.
  function take() {
    const typed = [...document.querySelectorAll("textarea[data-page]")];
    if (!typed.length) return;
    const { pathname } = new URL(typed[0].dataset.page, window.location);
    store(pathname, Object.fromEntries(typed.map((field) => [field.dataset.name, field.value])));
  }

  function giveBack() {
    const kept = JSON.parse(window.sessionStorage.getItem(KEY) ?? "null");
    if (kept?.path !== window.location.pathname || document.querySelector("textarea[data-page]")) return;
    window.sessionStorage.removeItem(KEY);
    for (const [id, value] of Object.entries(kept.values)) {
      const field = document.getElementById(id) ?? document.querySelector(`main textarea[name="${id}"]`);
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
  take();
})();
