// Selecting rows of a list. What is selected is kept here and not in the boxes, so that it outlives the pages of a list.
"use strict";

(() => {
  const chosen = new Set();
  // Everything that matches is selected; holds for the filter it was said of.
  let allOf = null;

  const bar = () => document.getElementById("pick");
  const boxes = () => [...document.querySelectorAll('input[name="event"][form="pick"]')];
  const isAll = () => allOf !== null && allOf === bar().dataset.filter;
  const sentence = (pattern, number) => pattern.replace("#", number.toLocaleString(document.documentElement.lang));

  function tell(here) {
    const words = document.getElementById("picked").dataset;
    const elsewhere = chosen.size - here;
    let text = sentence(chosen.size === 1 ? words.one : words.many, chosen.size);
    if (elsewhere) text += ` (${sentence(words.elsewhere, elsewhere)})`;
    const told = document.getElementById("picked");
    const next = isAll() ? words.all : text;
    // Said aloud only when it has changed.
    if (told.textContent !== next) told.textContent = next;
  }

  function show() {
    if (!bar()) return;
    const all = isAll();
    boxes().forEach((box) => {
      box.checked = all || chosen.has(box.value);
      box.disabled = all;
      box.closest("tr").classList.toggle("picked", box.checked);
    });
    const here = boxes().filter((box) => box.checked).length;
    const page = document.getElementById("pick-page");
    page.checked = here > 0 && here === boxes().length;
    page.indeterminate = here > 0 && !page.checked;
    page.disabled = all;
    document.getElementById("pick-all").checked = all;
    bar().classList.toggle("some", all || chosen.size > 0);
    tell(here);
  }

  const keep = (box) => (box.checked ? chosen.add(box.value) : chosen.delete(box.value));

  document.addEventListener("change", ({ target }) => {
    if (target.matches('input[name="event"][form="pick"]')) keep(target);
    else if (target.id === "pick-page") {
      boxes().forEach((box) => {
        box.checked = target.checked;
        keep(box);
      });
    } else if (target.id === "pick-all") allOf = target.checked ? bar().dataset.filter : null;
    else return;
    show();
  });

  document.addEventListener("click", ({ target }) => {
    if (target.id !== "pick-none") return;
    chosen.clear();
    allOf = null;
    show();
    document.getElementById("pick-page").focus();
  });

  // What is selected on other pages has no box here to send it.
  document.addEventListener("submit", ({ target }) => {
    if (target.id !== "pick") return;
    target.querySelectorAll("[data-elsewhere-id]").forEach((field) => field.remove());
    if (isAll()) return;
    const here = new Set(boxes().map((box) => box.value));
    for (const value of chosen) {
      if (here.has(value)) continue;
      const field = Object.assign(document.createElement("input"), { type: "hidden", name: "event", value });
      field.dataset.elsewhereId = "";
      target.append(field);
    }
  });

  document.addEventListener("htmx:afterSettle", show);
  show();
})();
