"use strict"; // The service worker: shows what the server sends, and opens it.

self.addEventListener("push", (event) => {
  let message = {};
  try { message = event.data.json(); } catch { /* not ours */ }
  const title = String(message.title || "Headwater");
  event.waitUntil(self.registration.showNotification(title, {
    body: String(message.body || ""), icon: "/static/icon.svg", data: String(message.path || "/read"),
  }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const target = new URL(event.notification.data, self.location.origin);
  if (target.origin === self.location.origin) event.waitUntil(self.clients.openWindow(target.href));
});
