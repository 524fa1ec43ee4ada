// Single keys in lists: j and k walk, x selects, o opens, r reprocesses, / searches, ? says all this.
"use strict";

(() => {
  if (document.body.dataset.keys === "off") return;
  const help = document.getElementById("keys");

  const links = () => [...document.querySelectorAll(".events tbody th a")];
  const row = () => document.activeElement.closest(".events tbody tr");

  function walk(step) {
    const all = links();
    const here = all.findIndex((link) => link.closest("tr") === row());
    all[Math.max(0, Math.min(all.length - 1, here + step))]?.focus();
  }

  const press = (selector) => row()?.querySelector(selector)?.click();

  const acts = {
    j: () => walk(1),
    k: () => walk(-1),
    x: () => press('input[name="event"]'),
    o: () => press("th a"),
    r: () => press('button[formaction$="/reprocess"]'),
    "/": () => document.getElementById("search")?.focus(),
    "?": () => help?.showModal(),
  };

  const writes = (element) => element.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]") || writes(event.target)) return;
    if (acts[event.key]) event.preventDefault();
    acts[event.key]?.();
  });

  document.addEventListener("click", ({ target }) => {
    if (target.closest("[data-keys-help]")) help?.showModal();
    // A click beside the sheet closes it.
    if (target === help) help.close();
  });
})();
