// What the console adds to htmx: following pauses in hidden tabs and ends with the session, problems are told aloud,
// nobody loses the keyboard focus or typed text to a swap, menus close like menus.
"use strict";

(() => {
  const problem = document.getElementById("problem");
  // Milliseconds and pixels between the clicks of one double click.
  const AGAIN = 700;
  const NEAR = 16;
  // Elements that no longer follow their event, because they may not or it is gone.
  const stopped = new WeakSet();
  // The element that had the focus in whatever sends a request.
  const pressed = new WeakMap();
  let focusLost = null;
  // The form whose text has arrived, while its answer is put in place.
  let sent = null;

  // htmx names the element an event is sent to; this is the one that asked.
  const askedBy = (event) => event.detail.requestConfig.elt;
  const follows = (element) => element.hasAttribute("data-follows");

  // Problems

  function addDismiss() {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "dismiss", textContent: "×" });
    button.setAttribute("aria-label", problem.dataset.dismiss);
    button.addEventListener("click", () => problem.replaceChildren());
    problem.append(button);
  }

  function tell(text) {
    problem.replaceChildren(Object.assign(document.createElement("p"), { textContent: text }));
    addDismiss();
  }

  // A page that says itself how old it is needs no second place for that.
  const saysItself = (event) => askedBy(event).hasAttribute("data-pulse");

  document.addEventListener("htmx:sendError", (event) => saysItself(event) || tell(problem.dataset.unreachable));
  document.addEventListener("htmx:timeout", (event) => saysItself(event) || tell(problem.dataset.slow));

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr } = event.detail;
    const asker = askedBy(event);
    if (xhr.status < 400) return void (follows(asker) || problem.replaceChildren());
    if (follows(asker) && xhr.status < 500 && xhr.status !== 429) stopped.add(asker);
    if (saysItself(event)) return;
    // The console's own answers say where they belong; anything else came from something in between.
    if (xhr.getResponseHeader("HX-Retarget") === "#problem") event.detail.shouldSwap = true;
    else tell(problem.dataset.failed);
  });

  // Following

  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt } = event.detail;
    if (follows(elt) && (document.hidden || stopped.has(elt))) event.preventDefault();
    // The button that was pressed rests during the request, and what rests has no focus.
    if (elt.contains(document.activeElement)) pressed.set(elt, document.activeElement);
  });

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) document.querySelectorAll("[data-follows]").forEach((one) => htmx.trigger(one, "look"));
  });

  document.addEventListener("announce", ({ detail }) => document.getElementById("news").replaceChildren(detail.text));

  // A button that names its address for those without script need not name it twice.
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    detail.path = detail.elt.getAttribute("formaction") ?? detail.path;
  });

  // Focus and typed text

  const hasTypedText = (region) =>
    [...region.querySelectorAll("input:not([type=hidden]):not([type=checkbox]), textarea")].some(
      (field) => field.value !== field.defaultValue || field === document.activeElement,
    );

  // Parts that come along with an answer wait while somebody writes in their place. Where the answer itself claims the
  // focus it keeps it: whether the pressed button has lost it by now depends on when the browser last drew.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target } = event.detail;
    if (target.contains(document.activeElement)) focusLost ??= target.id;
    if (hasTypedText(target) && !target.contains(sent)) event.detail.shouldSwap = false;
  });

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { target, shouldSwap, xhr } = event.detail;
    sent = xhr.status < 400 ? askedBy(event) : null;
    if (!shouldSwap) return;
    if (pressed.has(askedBy(event)) || target.contains(document.activeElement)) focusLost = target.id;
  });

  document.addEventListener("htmx:afterSettle", () => {
    if (problem.firstChild && !problem.querySelector(".dismiss")) addDismiss();
    if (focusLost && document.activeElement === document.body) {
      const place = document.getElementById(focusLost);
      const goal = place?.querySelector("a[href], button, [tabindex]") ?? place;
      goal?.focus({ preventScroll: true });
    }
    focusLost = null;
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    const before = pressed.get(askedBy(event));
    pressed.delete(askedBy(event));
    if (before?.isConnected && document.activeElement === document.body) before.focus({ preventScroll: true });
  });

  // Menus: one at a time; a click elsewhere or Escape closes it

  const openMenus = () => document.querySelectorAll("details.menu[open]");

  document.addEventListener("click", ({ target }) => {
    for (const menu of openMenus()) menu.open = menu.contains(target);
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of openMenus()) {
      if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
      menu.open = false;
    }
  });

  // Whoever opens the sheet of a note wants to write it.
  const write = ({ target }) =>
    target.open && target.closest(".act-form") && target.querySelector("input, textarea")?.focus();
  document.addEventListener("toggle", write, true);

  // A second click where the first one was means the same: what stands there by now may do the opposite.

  let last = { at: -AGAIN };
  document.addEventListener("click", (event) => {
    // A key has no place.
    if (!event.detail || !event.target.closest("button")) return;
    const { timeStamp: at, clientX: x, clientY: y } = event;
    const isAgain = at - last.at < AGAIN && Math.hypot(x - last.x, y - last.y) < NEAR;
    last = { at, x, y };
    if (!isAgain) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);

  // A page from the browser's memory may show what is over, to somebody who has logged out.
  window.addEventListener("pageshow", ({ persisted }) => persisted && window.location.reload());
})();
