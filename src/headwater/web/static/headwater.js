// Enhancements of the pages. Every page works without them.
"use strict";

// Reset a form after success.
document.addEventListener("htmx:afterRequest", (event) => {
  const form = event.target.closest("form[data-reset-on-success]");
  if (form && event.detail.successful) {
    form.reset();
    form.querySelectorAll(".errors").forEach((place) => place.replaceChildren());
  }
});

// After saving, close the edit form: the list is loaded next.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  const form = event.target.closest("form[data-closes]");
  if (event.target === form && event.detail.xhr.status < 300) form.parentElement.querySelector("[name=editing]")?.remove();
});

// Text fields of a filter react to input. Their change event on blur would replace the list under a button that is being
// pressed.
document.addEventListener("change", (event) => {
  if (event.target.matches("form[role=search] input:not([type=checkbox])")) event.stopPropagation();
}, true);

// A list may be replaced during a request of one of its lines. htmx would then drop the response: its element and target
// are no longer in the page.
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

// Keyboard shortcuts: j and k select a line, other keys click the button or link with that data-key.
const PLACES = { a: "/read?shelf=all", u: "/read?shelf=unread", s: "/read?shelf=starred", f: "/dashboard" };
const REPEATED = new Set(["j", "k"]);
let prefixUntil = 0; // until when the second key after g is accepted
let selectWhenLoaded = false; // j was pressed on the last line while more are loading

const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]");
const lines = () => [...document.querySelectorAll(".line[data-line]")];
const selected = () => document.querySelector(".line.current");
const current = () => {
  const all = document.querySelectorAll("[data-line]");
  return selected() ?? (all.length === 1 ? all[0] : null);
};

function select(line) {
  if (line === selected()) return;
  selected()?.classList.remove("current");
  line?.classList.add("current");
}

function move(step) {
  const all = lines();
  const at = all.indexOf(selected());
  const next = all[at === -1 ? (step > 0 ? 0 : all.length - 1) : at + step];
  const more = document.querySelector(".lines .more");
  if (!next && step > 0 && more) {
    selectWhenLoaded = true;
    more.scrollIntoView({ block: "nearest" });
  }
  if (!next) return;
  select(next);
  next.querySelector("[data-open]")?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function press(key) {
  switch (key) {
    case "j": return move(1);
    case "k": return move(-1);
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
  const place = event.timeStamp < prefixUntil ? PLACES[event.key] : undefined;
  prefixUntil = event.key === "g" ? event.timeStamp + 1500 : 0;
  if (place) location.assign(place);
  else if (event.key === "/" || event.key === "?") event.preventDefault();
  if (!place && event.key !== "g") press(event.key);
});

// A line with the focus is selected.
document.addEventListener("focusin", (event) => {
  const line = event.target.closest(".line");
  if (line) select(line);
});

document.addEventListener("htmx:afterSettle", () => {
  if (!selectWhenLoaded) return;
  selectWhenLoaded = false;
  move(1);
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-keys]")) document.getElementById("keys")?.showModal();
  if (event.target.matches("dialog[open]")) event.target.close(); // on its backdrop
});

// Report a click on an original link, if the user consented. The link itself is unchanged.
function reportClick(event) {
  const link = event.target.closest?.("[data-counted] [data-original]");
  if (!link || event.button > 1) return;
  const headers = JSON.parse(document.body.getAttribute("hx-headers") ?? "{}");
  fetch(`/articles/${link.dataset.original}/click`, { method: "POST", headers, keepalive: true }).catch(() => {});
}
document.addEventListener("click", reportClick);
document.addEventListener("auxclick", reportClick); // middle button

// Keep details open when their fragment is replaced.
let opened = [];
document.addEventListener("htmx:beforeSwap", (event) => {
  opened = [...event.detail.target.querySelectorAll("details[id][open]")].map((details) => details.id);
});
document.addEventListener("htmx:afterSwap", () => {
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
});
