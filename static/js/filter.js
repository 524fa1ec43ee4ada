// A field of a filter that was not taken is marked, and described by the sentence that says why, until the filter is taken.
"use strict";

(() => {
  function mark(form, name) {
    for (const field of form.querySelectorAll(`[aria-invalid], [name="${CSS.escape(name)}"]`)) {
      const wrong = field.name === name;
      field.setAttribute("aria-invalid", wrong);
      if (!wrong) field.removeAttribute("aria-describedby");
      else field.setAttribute("aria-describedby", "problem");
      // A field that nobody sees cannot be put right.
      if (wrong) field.closest("details")?.setAttribute("open", "");
    }
  }

  // htmx sends this to the form, as the answer says.
  document.addEventListener("notTaken", ({ target, detail }) => mark(target, detail.value));

  document.addEventListener("htmx:afterOnLoad", ({ target, detail }) => {
    if (target.matches("form.filter") && detail.xhr.status < 400) mark(target, "");
  });
})();
