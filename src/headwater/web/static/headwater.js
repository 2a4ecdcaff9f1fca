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

// The keyboard: j and k walk through the lines, the other keys press the button or link that names them.
const typing = (target) => target.closest("input, textarea, select, [contenteditable]");
const places = { a: "/read?shelf=all", u: "/read?shelf=unread", s: "/read?shelf=starred", f: "/dashboard" };
let going = false;

const lines = () => [...document.querySelectorAll("[data-line]")];
const current = () => document.querySelector("[data-line].current") ?? (lines().length === 1 ? lines()[0] : null);

function walk(step) {
  const all = lines();
  const at = all.indexOf(current());
  const next = all[at === -1 ? (step > 0 ? 0 : all.length - 1) : at + step];
  if (!next) return;
  current()?.classList.remove("current");
  next.classList.add("current");
  next.querySelector("[data-open]")?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function press(key) {
  switch (key) {
    case "j": return walk(1);
    case "k": return walk(-1);
    case "o": return current()?.querySelector("[data-open]")?.click();
    case "v": return (current()?.querySelector("[data-original]") ?? document.querySelector("[data-original]"))?.click();
    case "?": return document.getElementById("keys")?.showModal();
    case "g": going = true; return setTimeout(() => { going = false; }, 1500);
    case "/": return document.querySelector('[data-key="/"]')?.focus();
    case "A": return document.querySelector('[data-key="A"]')?.click();
    default: return current()?.querySelector(`[data-key="${CSS.escape(key)}"]`)?.click();
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector("dialog[open]")) return;
  if (going && places[event.key]) {
    location.href = places[event.key];
    return;
  }
  if (event.key.length !== 1) return;
  if (event.key === "/") event.preventDefault();
  press(event.key);
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-keys]")) document.getElementById("keys")?.showModal();
});

// What was marked read is shown as read.
document.addEventListener("htmx:afterRequest", (event) => {
  const deed = event.detail.successful && event.target.dataset?.deed;
  if (deed === "read" || deed === "unread") event.target.closest(".line")?.classList.toggle("is-read", deed === "read");
});
