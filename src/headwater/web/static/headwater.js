// Enhancements of the pages. Every page works without them.
"use strict";

// Reset a form after success, unless the response asks for a choice elsewhere.
document.addEventListener("htmx:afterRequest", (event) => {
  const form = event.target.closest("form[data-reset-on-success]");
  if (form && event.detail.successful) form.querySelectorAll(".errors").forEach((place) => place.replaceChildren());
  if (form && event.detail.successful && !event.detail.xhr.getResponseHeader("HX-Retarget")) {
    form.reset();
  }
});

// A feed was added: the list that is loaded next shows it, and other feeds that were found stay on offer.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  const added = event.detail.xhr.getResponseHeader("Headwater-Added");
  const list = document.getElementById("feed-list-container");
  if (!added || !list) return;
  const field = Object.assign(document.createElement("input"), { type: "hidden", name: "added", value: added });
  field.setAttribute("form", "feed-filters");
  list.append(field);
});
// Only now: htmx triggers nothing on an element that has left the page.
document.addEventListener("htmx:afterRequest", (event) => {
  const found = document.getElementById("feed-found");
  if (!found || !event.detail.xhr.getResponseHeader("Headwater-Added")) return;
  event.target.closest("#feed-found .choices > li")?.remove();
  if (found.querySelector(".choices form")) return;
  found.replaceChildren();
  document.getElementById("feed-add-form").reset();
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.target?.id === "feed-list-container") document.querySelector(".feed.added")?.scrollIntoView({ block: "nearest" });
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
const PLACES = { a: "/read?shelf=all", u: "/read?shelf=unread", s: "/read?shelf=starred", l: "/read?shelf=later", f: "/dashboard" };
const REPEATED = new Set(["j", "k", "n", "p"]);
let prefixUntil = 0; // until when the second key after g is accepted
let selectWhenLoaded = false; // j was pressed on the last line while more are loading

const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]");
const lines = () => [...document.querySelectorAll(".line[data-line]")];
const selected = () => document.querySelector(".line.current");
const current = () => {
  const opened = document.querySelector("#pane [data-line]");
  if (opened) return opened;
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

function tag() {
  const place = current()?.querySelector('.tags [data-key="t"]');
  return place?.matches("input") ? place.select() : place?.click();
}

function press(key) {
  switch (key) {
    case "j": case "n": return step(1);
    case "k": case "p": return step(-1);
    case "u": return leave();
    case "o": return current()?.querySelector("[data-open]")?.click();
    case "v": return (current()?.querySelector("[data-original]") ?? document.querySelector(".page [data-original]"))?.click();
    case "?": return document.getElementById("keys")?.showModal();
    case "/": return document.querySelector('[data-key="/"]')?.select();
    case "t": return tag();
    case "A": case "z": return document.querySelector(`[data-key="${key}"]`)?.click();
    default: return current()?.querySelector(`[data-key="${CSS.escape(key)}"]`)?.click();
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && event.target.matches('[data-key="/"], .tags input')) event.target.blur();
  else if (event.key === "Escape" && !isTyping(event.target) && !document.querySelector("dialog[open], :popover-open")) leave();
  if (event.key.length !== 1 || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (event.repeat && !REPEATED.has(event.key)) return;
  const place = event.timeStamp < prefixUntil ? PLACES[event.key] : undefined;
  prefixUntil = event.key === "g" ? event.timeStamp + 1500 : 0;
  if (place) location.assign(place);
  else if ("/?t".includes(event.key)) event.preventDefault();
  if (!place && event.key !== "g") press(event.key);
});

// Copy a link. Without permission, or over plain HTTP, it is shown to be copied by hand.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    const field = Object.assign(document.createElement("input"), { value: button.dataset.copy, readOnly: true, ariaLabel: "Link" });
    button.replaceWith(field);
    field.select();
  }
});

// A line with the focus is selected.
document.addEventListener("focusin", (event) => {
  const line = event.target.closest(".line");
  if (line) select(line);
});

document.addEventListener("htmx:afterSettle", () => {
  if (!selectWhenLoaded) return;
  selectWhenLoaded = false;
  step(1);
});

// With two or three panes, an article opens beside its list; on a small screen in its place. The list stays as it is.
const pane = document.getElementById("pane");
const isOpened = () => Boolean(pane?.firstElementChild);
const link = (line) => line?.querySelector("[data-open]");
let listTitle = document.title, listTop = 0;

async function openLine(line, isPushed) {
  if (!isOpened()) [listTitle, listTop] = [document.title, scrollY];
  const { href } = link(line);
  if (isPushed) history[isOpened() ? "replaceState" : "pushState"]({ line: line.id }, "", href);
  select(line);
  await htmx.ajax("GET", href, { target: "#pane", swap: "innerHTML settle:0ms" });
  if (!isOpened()) return;
  const all = lines();
  for (const [rel, by] of [["prev", -1], ["next", 1]]) {
    const way = pane.querySelector(`[rel=${rel}]`);
    const next = link(all[all.indexOf(line) + by]);
    if (way && next) way.href = next.href;
    else if (way && !(rel === "next" && document.querySelector(".lines .more"))) way.remove();
  }
  if (pane.getBoundingClientRect().top < 0) pane.scrollIntoView();
  pane.scrollTop = 0;
  pane.focus({ preventScroll: true });
  showMarks();
}

function closePane() {
  if (!isOpened()) return;
  pane.replaceChildren();
  document.title = listTitle;
  scrollTo(0, listTop);
  link(selected())?.focus({ preventScroll: true });
  selected()?.scrollIntoView({ block: "nearest" });
}

// The buttons of the line show what was changed in the article.
function showMarks() {
  const made = pane.querySelector(".buttons");
  const shown = made && document.getElementById(made.id.replace("article-", ""));
  if (!shown) return;
  shown.innerHTML = made.innerHTML.replaceAll("article-", "");
  htmx.process(shown);
}
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.closest?.("#pane .buttons")) showMarks();
});

function step(by) {
  if (!isOpened()) return lines().length ? move(by) : document.querySelector(`.neighbours [rel=${by > 0 ? "next" : "prev"}]`)?.click();
  const before = selected();
  move(by);
  if (selected() !== before) openLine(selected(), true);
  else if (selectWhenLoaded) htmx.trigger(".lines .more", "revealed");
}

function leave() {
  if (isOpened()) history.back();
  else document.querySelector(".page .back")?.click();
}

document.addEventListener("click", (event) => {
  if (!pane || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const line = event.target.closest("[data-open]")?.closest(".line");
  const way = event.target.closest("#pane .neighbours a");
  if (line) openLine(line, true);
  else if (way) step(way.rel === "next" ? 1 : -1);
  else if (event.target.closest("#pane .back")) leave();
  else return;
  event.preventDefault();
});
addEventListener("popstate", ({ state }) => {
  const line = state?.line && document.getElementById(state.line);
  if (line) openLine(line, false);
  else closePane();
});

// Swipe to the left for the next article, to the right for the previous one.
let touched = null;
addEventListener("touchstart", ({ touches: [finger, ...more], target }) => {
  touched = more.length || !target.closest(".page") || target.closest("pre, table, input, audio, video") ? null : finger;
}, { passive: true });
addEventListener("touchend", ({ changedTouches: [finger] }) => {
  if (!touched || getSelection().toString()) return;
  const [x, y] = [finger.clientX - touched.clientX, finger.clientY - touched.clientY];
  if (Math.abs(x) > 80 && Math.abs(y) < 50) step(x < 0 ? 1 : -1);
});

// Mark lines as read that are scrolled past, if the reader chose so.
const passed = new Set();
let sendPassed;
const watcher = "scrollReads" in document.documentElement.dataset && new IntersectionObserver((entries) => {
  for (const { target, isIntersecting, boundingClientRect } of entries) {
    if (isIntersecting) target.dataset.seen = "";
    else if ("seen" in target.dataset && boundingClientRect.top < innerHeight / 2 && boundingClientRect.height && target.querySelector(".buttons [data-action=read]")) passed.add(target.id.slice(5));
  }
  clearTimeout(sendPassed);
  if (passed.size) sendPassed = setTimeout(() => {
    htmx.ajax("POST", "/read/some", { values: { articles: [...passed].join() }, swap: "none" });
    passed.clear();
  }, 400);
});
function watchLines() {
  if (watcher) document.querySelectorAll(".lines > .line").forEach((line) => watcher.observe(line));
}
document.addEventListener("htmx:afterSettle", watchLines);
watchLines();

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

// What a button says after success, in the element for its errors.
document.addEventListener("htmx:afterRequest", (event) => {
  const { says } = event.target.dataset ?? {};
  if (says && event.detail.successful) event.target.parentElement.parentElement.querySelector(".errors").textContent = says;
});

// A hidden tab does not ask for new articles.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.id === "news" && document.hidden) event.preventDefault();
});

// Keep details open when their fragment is replaced.
let opened = [];
document.addEventListener("htmx:beforeSwap", (event) => {
  opened = [...event.detail.target.querySelectorAll("details[id][open]")].map((details) => details.id);
});
document.addEventListener("htmx:afterSwap", () => {
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
});

// Complete a query: a combobox whose list is below the box (ARIA Authoring Practices, "Editable Combobox").
class Completer {
  constructor(box) {
    this.box = box;
    this.list = document.createElement("ul");
    this.list.id = `${box.id}-completions`;
    this.list.className = "completions";
    this.list.hidden = true;
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "Completions");
    this.said = document.createElement("span");
    this.said.className = "hidden";
    this.said.setAttribute("role", "status");
    box.after(this.list, this.said);
    for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"], ["aria-controls", this.list.id]]) {
      box.setAttribute(name, value);
    }
    box.addEventListener("input", () => this.ask(120));
    box.addEventListener("keydown", (event) => this.press(event));
    box.addEventListener("blur", () => this.close());
    this.list.addEventListener("mousedown", (event) => {
      event.preventDefault(); // the box keeps the focus
      const option = event.target.closest("[role=option]");
      if (option) this.accept(option);
    });
  }

  ask(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), wait);
  }

  async load() {
    const { value, selectionStart: at } = this.box;
    const cursor = [...value.slice(0, at)].length; // the server counts characters, not UTF-16 units
    this.request?.abort();
    this.request = new AbortController();
    try {
      const url = `${this.box.dataset.complete}?${new URLSearchParams({ q: value, at: cursor })}`;
      const response = await fetch(url, { signal: this.request.signal, headers: { Accept: "application/json" } });
      if (response.ok && this.box.value === value && document.activeElement === this.box) this.show(await response.json());
    } catch {
      this.close(); // aborted by the next key, or offline: the box works without completions
    }
  }

  show({ start, end, items }) {
    this.span = [start, end];
    this.list.replaceChildren(...items.map(({ text, hint }, number) => {
      const option = document.createElement("li");
      option.id = `${this.list.id}-${number}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.dataset.text = text;
      option.append(text.trim(), " ");
      if (hint) option.append(Object.assign(document.createElement("small"), { textContent: hint }));
      return option;
    }));
    this.box.removeAttribute("aria-activedescendant");
    this.list.hidden = items.length === 0;
    this.box.setAttribute("aria-expanded", String(!this.list.hidden));
    this.said.textContent = items.length === 0 ? "" : `${items.length} ${items.length === 1 ? "completion" : "completions"}`;
  }

  close() {
    clearTimeout(this.timer);
    this.request?.abort();
    this.show({ start: 0, end: 0, items: [] });
  }

  move(step) {
    const options = [...this.list.children];
    const at = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
    const next = options[at === -1 ? (step > 0 ? 0 : options.length - 1) : (at + step + options.length) % options.length];
    for (const option of options) option.setAttribute("aria-selected", String(option === next));
    this.box.setAttribute("aria-activedescendant", next.id);
    next.scrollIntoView({ block: "nearest" });
  }

  accept(option) {
    const characters = [...this.box.value];
    const before = characters.slice(0, this.span[0]).join("") + option.dataset.text;
    this.box.value = before + characters.slice(this.span[1]).join("");
    this.box.setSelectionRange(before.length, before.length);
    this.close();
    if (option.dataset.text.endsWith(":")) this.ask(0);
  }

  press(event) {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const chosen = this.list.querySelector("[aria-selected=true]");
    if (event.key === "ArrowDown" && this.list.hidden) this.ask(0);
    else if (this.list.hidden) return;
    else if (event.key === "ArrowDown") this.move(1);
    else if (event.key === "ArrowUp") this.move(-1);
    else if (event.key === "Escape") this.close();
    else if ((event.key === "Enter" || event.key === "Tab") && chosen) this.accept(chosen);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
document.querySelectorAll("input[data-complete]").forEach((box) => new Completer(box));

// Remember which categories of the side bar are closed.
const CLOSED = "closed-categories";
const closed = () => new Set(JSON.parse(localStorage.getItem(CLOSED) ?? "[]"));
function closeCategories() {
  const names = closed();
  for (const details of document.querySelectorAll("details[data-category]")) {
    if (names.has(details.dataset.category)) details.open = false;
  }
}
document.addEventListener("toggle", (event) => {
  if (!event.target.matches("details[data-category]")) return;
  const names = closed();
  names[event.target.open ? "delete" : "add"](event.target.dataset.category);
  localStorage.setItem(CLOSED, JSON.stringify([...names]));
}, true);
document.addEventListener("htmx:afterSettle", closeCategories);
closeCategories();

// A browser subscribes only for a service worker that is active: a new one is being installed first.
function untilActive(registration) {
  const worker = registration.installing ?? registration.waiting;
  return new Promise((resolve, reject) => {
    const look = () => {
      if (registration.active) resolve();
      else if (worker.state === "redundant") reject(new Error("The service worker was not installed."));
    };
    worker?.addEventListener("statechange", look);
    look();
  });
}

// Notifications in this browser: subscribe at its push service, and send the subscription to the server.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-push-key]");
  if (!button) return;
  const state = document.querySelector("[data-push-state]");
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) {
    state.textContent = "This browser has no notifications, or the page is not open over HTTPS.";
    return;
  }
  try {
    const worker = await navigator.serviceWorker.register("/static/push.js");
    await untilActive(worker);
    const key = button.dataset.pushKey.replaceAll("-", "+").replaceAll("_", "/");
    const found = await worker.pushManager.subscribe({
      userVisibleOnly: true, applicationServerKey: Uint8Array.from(atob(key), (one) => one.charCodeAt(0)),
    });
    const { endpoint, keys } = found.toJSON();
    const answer = await fetch("/notifications/browser", {
      method: "POST", body: new URLSearchParams({ endpoint, key: keys.p256dh, auth: keys.auth }),
      headers: { "X-CSRF-Token": JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRF-Token"] },
    });
    state.textContent = answer.ok ? "This browser is notified." : "The server refused this browser.";
  } catch {
    state.textContent = "The browser refused. Allow notifications for this site, and try again.";
  }
});
