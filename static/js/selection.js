// Selecting rows of a list. What is selected is kept in this tab, for each filter by itself, until it has been acted
// upon: so it outlives the pages of a list, and a look at what would be done.
"use strict";

(() => {
  const KEY = "dlq-console-picked";
  // Stands among the ids for everything that matches.
  const ALL = "all";
  const MOST_LISTS = 8;
  const { person } = document.body.dataset;
  let chosen = new Set();

  const bar = () => document.getElementById("pick");
  const boxes = () => [...document.querySelectorAll('input[name="event"][form="pick"]')];
  const sentence = (pattern, number) => pattern.replace("#", number.toLocaleString(document.documentElement.lang));

  // The selections of whoever is logged in; those of anybody else are forgotten.
  function lists() {
    const kept = JSON.parse(window.sessionStorage.getItem(KEY) ?? "{}");
    return new Map(kept.person === person ? kept.lists : []);
  }

  function keep(name, ids) {
    const all = lists();
    all.delete(name);
    if (ids.length) all.set(name, ids);
    window.sessionStorage.setItem(KEY, JSON.stringify({ person, lists: [...all].slice(-MOST_LISTS) }));
  }

  function tell(elsewhere) {
    const told = document.getElementById("picked");
    const { one, many, others, all, full, most } = told.dataset;
    const number = chosen.size;
    const parts = [sentence(number === 1 ? one : many, number)];
    if (elsewhere) parts.push(sentence(others, elsewhere));
    if (number >= Number(most)) parts.push(full);
    const next = chosen.has(ALL) ? all : parts.join(", ");
    // Said aloud only when it has changed.
    if (told.textContent !== next) told.textContent = next;
  }

  function show() {
    if (!bar()) return;
    chosen = new Set(lists().get(bar().dataset.key));
    const all = chosen.has(ALL);
    const here = boxes();
    here.forEach((box) => {
      box.checked = all || chosen.has(box.value);
      box.disabled = all;
      box.closest("tr").classList.toggle("picked", box.checked);
    });
    const checked = here.filter((box) => box.checked).map((box) => box.value);
    const page = document.getElementById("pick-page");
    page.checked = checked.length > 0 && checked.length === here.length;
    page.indeterminate = checked.length > 0 && !page.checked;
    page.disabled = all;
    document.getElementById("pick-all").checked = all;
    bar().classList.toggle("some", chosen.size > 0);
    // What is selected on other pages has no box here to send it.
    const elsewhere = all ? [] : [...chosen].filter((id) => !checked.includes(id));
    document.getElementById("pick-elsewhere").value = elsewhere.join();
    tell(elsewhere.length);
  }

  function pick(ids, wanted) {
    const most = Number(document.getElementById("picked").dataset.most);
    for (const id of ids) {
      if (!wanted) chosen.delete(id);
      else if (id === ALL || chosen.size < most) chosen.add(id);
    }
    keep(bar().dataset.key, [...chosen]);
    show();
  }

  document.addEventListener("change", ({ target }) => {
    if (target.matches('input[name="event"][form="pick"]')) pick([target.value], target.checked);
    else if (target.id === "pick-page") pick(boxes().map((box) => box.value), target.checked);
    else if (target.id === "pick-all") pick([ALL], target.checked);
  });

  document.addEventListener("click", ({ target }) => {
    if (target.id !== "pick-none") return;
    pick([...chosen], false);
    document.getElementById("pick-page").focus();
  });

  document.addEventListener("submit", ({ target }) => target.id === "log-out" && window.sessionStorage.removeItem(KEY));

  // The page after an act says which selection is done with.
  if (person) keep(document.querySelector("[data-picked-over]")?.dataset.pickedOver, []);
  document.addEventListener("htmx:afterSettle", show);
  // What was ticked before this script had come counts like everything else.
  const early = document.querySelectorAll('#pick-page:checked, [form="pick"]:checked');
  show();
  early.forEach((box) => box.checked || box.click());
})();
