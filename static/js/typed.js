// A session that ends while somebody writes costs no text: it waits in this tab until they are back on the page.
"use strict";

(() => {
  const KEY = "dlq-console-typed";
  // Who is logged in, or was before the session ended; nobody else gets the text.
  const WHO = "dlq-console-typist";
  const { person } = document.body.dataset;
  const fields = ":is(textarea, input:not([type]), input[type=text], input[type=datetime-local])[id]";
  const follows = (event) => event.detail.requestConfig.elt.hasAttribute("data-follows");

  // What was typed, by the selector of its field; `path` is the page that it is on.
  function store(path, typed) {
    const typist = window.sessionStorage.getItem(WHO);
    if (typed.length) window.sessionStorage.setItem(KEY, JSON.stringify({ typist, path, typed }));
  }

  function keep() {
    const typed = [...document.querySelectorAll(fields)].filter((field) => field.value !== field.defaultValue);
    store(window.location.pathname, typed.map(({ id, value }) => [`#${CSS.escape(id)}`, value]));
  }

  // The page that says that the session has ended holds what a plain form had brought.
  const told = [...document.querySelectorAll("textarea[data-form]")];

  function take() {
    const { pathname } = new URL(told[0].dataset.page, window.location);
    const sends = (to) => `form:is([action="${to}"], :has([formaction="${to}"]))`;
    const place = ({ form, name }) => `${sends(CSS.escape(form))} [name="${name}"]`;
    store(pathname, told.map(({ dataset, value }) => [place(dataset), value]));
  }

  function giveBack() {
    const kept = JSON.parse(window.sessionStorage.getItem(KEY) ?? "{}");
    const isTheirs = kept.typist === person;
    if (person && (!isTheirs || kept.path === window.location.pathname)) window.sessionStorage.removeItem(KEY);
    if (!isTheirs || kept.path !== window.location.pathname) return;
    for (const [place, value] of kept.typed) {
      const [field, another] = document.querySelectorAll(place);
      // Of several forms of a kind nobody could say which one it was.
      if (!field || another) continue;
      field.value = value;
      field.closest("details")?.setAttribute("open", "");
    }
  }

  // Whoever only looks is not sent away from what they are writing; the next thing they do leads to the log-in.
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (event.detail.xhr.status !== 401) return;
    if (follows(event)) event.preventDefault();
    else keep();
  });

  if (told.length) take();
  else giveBack();
  if (person) window.sessionStorage.setItem(WHO, person);
})();
