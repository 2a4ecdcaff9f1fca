// The little that HTML cannot do by itself. Loaded by every page; no page needs it to be read.
"use strict";

// A form that was taken is emptied for the next one.
document.addEventListener("htmx:afterRequest", (event) => {
  const form = event.target.closest("form[data-reset-on-success]");
  if (form && event.detail.successful) {
    form.reset();
    form.querySelectorAll(".errors").forEach((place) => place.replaceChildren());
  }
});
