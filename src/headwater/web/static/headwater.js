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

// A line that was saved is not edited any more: the list, which is asked for next, shows it as it is.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  const form = event.target.closest("form[data-closes]");
  if (event.target === form && event.detail.xhr.status < 300) form.parentElement.querySelector("[name=editing]")?.remove();
});

// Text fields of a filter act as one types. The event that they fire when they lose the focus would replace the list
// under the button that is being pressed.
document.addEventListener("change", (event) => {
  if (event.target.matches("form[role=search] input:not([type=checkbox])")) event.stopPropagation();
}, true);

// A list may be replaced while a request of one of its lines is under way. htmx would then drop the answer: its events do
// not reach the page, and its target is not part of it any more.
document.addEventListener("htmx:beforeSend", (event) => {
  const { elt, target, xhr } = event.detail;
  xhr.addEventListener("readystatechange", () => {
    if (xhr.readyState !== XMLHttpRequest.DONE || document.body.contains(elt)) return;
    const swapStyle = elt.closest("[hx-swap]")?.getAttribute("hx-swap").split(" ")[0] ?? "innerHTML";
    const place = target.isConnected ? null : document.getElementById(target.id);
    xhr.addEventListener("load", () => {
      if (place && xhr.status === 200 && swapStyle !== "none") htmx.swap(place, xhr.responseText, { swapStyle });
      const names = xhr.getResponseHeader("HX-Trigger")?.split(",") ?? [];
      names.forEach((name) => htmx.trigger(document.body, name.trim()));
    });
  });
});

// The keyboard: j and k walk through the lines, the other keys press the button or link that names them.
const PLACES = { a: "/read?shelf=all", u: "/read?shelf=unread", s: "/read?shelf=starred", f: "/dashboard" };
const REPEATED = new Set(["j", "k"]);
let going = 0; // until when the second key of g-something is awaited
let wantsMore = false; // j was pressed on the last line while more are on their way

const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]");
const lines = () => [...document.querySelectorAll(".line[data-line]")];
const chosen = () => document.querySelector(".line.current");
const current = () => {
  const all = document.querySelectorAll("[data-line]");
  return chosen() ?? (all.length === 1 ? all[0] : null);
};

function choose(line) {
  if (line === chosen()) return;
  chosen()?.classList.remove("current");
  line?.classList.add("current");
}

function walk(step) {
  const all = lines();
  const at = all.indexOf(chosen());
  const next = all[at === -1 ? (step > 0 ? 0 : all.length - 1) : at + step];
  const more = document.querySelector(".lines .more");
  if (!next && step > 0 && more) {
    wantsMore = true;
    more.scrollIntoView({ block: "nearest" });
  }
  if (!next) return;
  choose(next);
  next.querySelector("[data-open]")?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function press(key) {
  switch (key) {
    case "j": return walk(1);
    case "k": return walk(-1);
    case "o": return current()?.querySelector("[data-open]")?.click();
    case "v": return (current()?.querySelector("[data-original]") ?? document.querySelector(".page [data-original]"))?.click();
    case "?": return document.getElementById("keys")?.showModal();
    case "/": return document.querySelector('[data-key="/"]')?.select();
    case "A": return document.querySelector('[data-key="A"]')?.click();
    default: return current()?.querySelector(`[data-key="${CSS.escape(key)}"]`)?.click();
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && event.target.matches('[data-key="/"]')) event.target.blur();
  if (event.key.length !== 1 || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (event.repeat && !REPEATED.has(event.key)) return;
  const place = event.timeStamp < going ? PLACES[event.key] : undefined;
  going = event.key === "g" ? event.timeStamp + 1500 : 0;
  if (place) location.assign(place);
  else if (event.key === "/" || event.key === "?") event.preventDefault();
  if (!place && event.key !== "g") press(event.key);
});

// The line that holds the focus is the current one, however the focus came there.
document.addEventListener("focusin", (event) => {
  const line = event.target.closest(".line");
  if (line) choose(line);
});

document.addEventListener("htmx:afterSettle", () => {
  if (!wantsMore) return;
  wantsMore = false;
  walk(1);
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-keys]")) document.getElementById("keys")?.showModal();
  if (event.target.matches("dialog[open]")) event.target.close(); // beside it: on its backdrop
});

// Whoever agreed to be counted is: the link leads where it says, and we are told beside it. When that fails, nothing does.
function tell(event) {
  const link = event.target.closest?.("[data-counted] [data-original]");
  if (!link || event.button > 1) return;
  const headers = JSON.parse(document.body.getAttribute("hx-headers") ?? "{}");
  fetch(`/articles/${link.dataset.original}/click`, { method: "POST", headers, keepalive: true }).catch(() => {});
}
document.addEventListener("click", tell);
document.addEventListener("auxclick", tell); // the middle button, into a new tab

// What renews itself keeps what was opened in it.
let opened = [];
document.addEventListener("htmx:beforeSwap", (event) => {
  opened = [...event.detail.target.querySelectorAll("details[id][open]")].map((details) => details.id);
});
document.addEventListener("htmx:afterSwap", () => {
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
});
