// What follows the truth rests where that is of no use: paused by the person, or away after a failure.
"use strict";

(() => {
  const KEY = "dlq-console-paused";
  const LONGEST = 60_000;
  // Per element: not before, and how long the last rest was.
  const rests = new WeakMap();

  const isPaused = () => window.localStorage.getItem(KEY) === "1";
  const box = () => document.getElementById("pause-news");

  function show() {
    if (box()) box().checked = isPaused();
  }

  document.addEventListener("change", ({ target }) => {
    if (target !== box()) return;
    if (target.checked) window.localStorage.setItem(KEY, "1");
    else window.localStorage.removeItem(KEY);
    if (!target.checked) document.querySelectorAll("[data-live]").forEach((one) => htmx.trigger(one, "look"));
  });

  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt } = event.detail;
    if (!elt.hasAttribute("data-follows")) return;
    const tooSoon = Date.now() < (rests.get(elt)?.until ?? 0);
    if (tooSoon || (isPaused() && elt.hasAttribute("data-live"))) event.preventDefault();
  });

  function rest(event) {
    const { xhr, requestConfig } = event.detail;
    const { elt } = requestConfig;
    if (!elt.hasAttribute("data-follows")) return;
    // Who may not look does not get to by asking on: the session has ended, or the right was taken.
    const over = [401, 403].includes(xhr?.status);
    const length = over ? Infinity : Math.min(LONGEST, 2 * (rests.get(elt)?.length ?? 5_000));
    const told = 1_000 * Number(xhr?.getResponseHeader("Retry-After") ?? 0);
    // Not all come back at the same moment.
    rests.set(elt, { until: Date.now() + Math.max(told || 0, length * (0.85 + 0.3 * Math.random())), length });
  }

  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (event.detail.xhr.status === 401) rest(event);
  });
  document.addEventListener("htmx:sendError", rest);
  document.addEventListener("htmx:timeout", rest);
  document.addEventListener("htmx:responseError", rest);
  document.addEventListener("htmx:afterOnLoad", (event) => {
    if (event.detail.xhr.status < 400) rests.delete(event.detail.requestConfig.elt);
  });

  document.addEventListener("htmx:afterSettle", show);
  show();
})();
