// Enhancements of the admin pages. Tables work without them, row by row.
"use strict";

// Selection: one checkbox selects all rows that are shown; the bar shows how many are selected.
const picks = (root) => [...root.querySelectorAll("input[name=ids]")];

function count() {
  const list = document.querySelector("[data-live-table]");
  if (!list) return;
  const all = picks(list);
  const chosen = all.filter((one) => one.checked).length;
  const everything = list.querySelector("#bulk-everything");
  const head = list.querySelector("[data-pick-all]");
  if (everything && chosen < all.length) everything.checked = false;
  if (head) {
    head.checked = chosen > 0 && chosen === all.length;
    head.indeterminate = chosen > 0 && chosen < all.length;
  }
  const number = list.querySelector("[data-count]");
  if (number) number.textContent = chosen;
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-pick-all]")) {
    picks(event.target.closest("[data-live-table]")).forEach((one) => { one.checked = event.target.checked; });
  }
  if (event.target.matches("#bulk-everything") && event.target.checked) {
    picks(event.target.closest("[data-live-table]")).forEach((one) => { one.checked = true; });
  }
  if (event.target.closest("[data-live-table]")) count();
});
document.addEventListener("htmx:afterSettle", count);

// A table is not renewed while rows are selected or more were loaded: they would be lost.
document.addEventListener("htmx:beforeRequest", (event) => {
  const list = event.target;
  if (!list.matches?.("[data-live-table]") || event.detail.requestConfig.triggeringEvent) return;
  if (picks(list).some((one) => one.checked) || list.dataset.isLong) event.preventDefault();
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.matches?.("tr.more")) document.querySelector("[data-live-table]").dataset.isLong = "yes";
});
// After a change the table is renewed, and nothing is selected.
["sourcesChanged", "refreshFrontier"].forEach((name) => document.addEventListener(name, () => {
  picks(document).forEach((one) => { one.checked = false; });
  count();
}));

// A filter is saved as the address shows it.
document.addEventListener("htmx:configRequest", (event) => {
  if (event.target.matches("[data-saves-query]")) event.detail.parameters.set("query", location.search.slice(1));
});

// The command palette (Ctrl-K): a combobox whose list the server fills. Arrows select, Enter opens or does it.
const palette = document.getElementById("palette");
const box = document.getElementById("palette-box");
const options = () => [...palette.querySelectorAll("[role=option]:not([aria-disabled])")];
const chosen = () => palette.querySelector("[aria-selected=true]");

function choose(option) {
  options().forEach((one) => one.setAttribute("aria-selected", String(one === option)));
  if (option) box.setAttribute("aria-activedescendant", option.id);
  else box.removeAttribute("aria-activedescendant");
  option?.scrollIntoView({ block: "nearest" });
}

function openPalette() {
  if (palette.open) return;
  document.getElementById("palette-said").className = "hidden";
  palette.showModal();
  box.select();
  htmx.trigger(box, "open");
}

document.addEventListener("keydown", (event) => {
  if (palette && (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette();
  }
});
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-palette]")) openPalette();
});
box?.addEventListener("keydown", (event) => {
  const all = options();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.isComposing || (!step && event.key !== "Enter")) return;
  event.preventDefault();
  if (step) choose(all[(all.indexOf(chosen()) + step + all.length) % all.length]);
  else chosen()?.click();
});
palette?.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id === "palette-list") choose(options()[0]);
  if (event.target.id === "palette-said") event.target.className = "";
});
