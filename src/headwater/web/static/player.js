"use strict"; // Audio and video of articles: speed and position are kept in this browser. Nothing is loaded before a click.

(() => {
  const KEPT = 100; // files whose position is kept, the last played
  const SAVE_EVERY = 5; // seconds
  const read = (key, otherwise) => {
    try { return JSON.parse(localStorage.getItem(key)) ?? otherwise; } catch { return otherwise; }
  };
  const write = (key, value) => {
    try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* storage is full or not allowed */ }
  };

  const keep = (player) => {
    const others = read("positions", []).filter(([url]) => url !== player.src);
    const isOver = player.ended || player.currentTime < 1;
    write("positions", isOver ? others : [[player.src, player.currentTime], ...others].slice(0, KEPT));
  };
  // Events of players do not bubble, but every ancestor sees them first.
  const listen = (event, act) => document.addEventListener(event, (fired) => {
    if (fired.target instanceof HTMLMediaElement && fired.target.matches("[data-player]")) act(fired.target);
  }, true);

  listen("loadedmetadata", (player) => {
    const [, at] = read("positions", []).find(([url]) => url === player.src) || [];
    if (at) player.currentTime = at;
    player.playbackRate = read("speed", 1);
  });
  listen("timeupdate", (player) => {
    if (Math.abs(player.currentTime - (player.saved ?? 0)) < SAVE_EVERY) return;
    player.saved = player.currentTime;
    keep(player);
  });
  listen("pause", keep);
  listen("ended", keep);
  listen("play", (player) => {
    for (const other of document.querySelectorAll("[data-player]")) if (other !== player) other.pause();
    const speed = player.closest("figure").querySelector("[data-speed]");
    if (speed) speed.value = read("speed", 1);
  });

  document.addEventListener("change", ({ target }) => {
    if (!target.matches("[data-speed]")) return;
    write("speed", Number(target.value));
    target.closest("figure").querySelector("[data-player]").playbackRate = Number(target.value);
  });
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-video]");
    if (!button) return;
    const frame = document.createElement("iframe");
    frame.src = `https://www.youtube-nocookie.com/embed/${encodeURIComponent(button.dataset.video)}?autoplay=1`;
    frame.title = button.dataset.title;
    frame.allow = "autoplay; encrypted-media; fullscreen; picture-in-picture";
    frame.className = "video";
    button.replaceWith(frame);
    frame.focus();
  });
})();
