/** The service worker: the console opens without a network. It keeps the console's own files, and nothing of the hub. */

const CACHE = "hubbub-shell";
const FIRST = ["/", "/static/theme.js", "/static/design.css", "/static/console.css", "/static/icon.svg"];
const MAIN = "/static/main.js";
const IMPORTED = /(?:from|import\()\s*"(\.[^"]+\.js)"/g;

/** Every module that one leads to. @param {Cache} cache @param {string} path @param {Set<string>} met */
async function keep(cache, path, met) {
  if (met.has(path)) return;
  met.add(path);
  const response = await fetch(path, { cache: "no-cache" });
  if (!response.ok) return;
  await cache.put(path, response.clone());
  const found = [...(await response.text()).matchAll(IMPORTED)];
  const wanted = found.map(([, name]) => new URL(name, new URL(path, location.origin)).pathname);
  await Promise.all(wanted.map((one) => keep(cache, one, met)));
}

async function install() {
  const cache = await caches.open(CACHE);
  await cache.addAll(FIRST);
  await keep(cache, MAIN, new Set());
}

/** The hub's own answer, else what is kept. @param {Request} request @param {string} key */
async function answer(request, key) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(request);
    if (response.ok) await cache.put(key, response.clone());
    return response;
  } catch (error) {
    const kept = await cache.match(key);
    if (kept) return kept;
    throw error;
  }
}

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(install());
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const { origin, pathname } = new URL(event.request.url);
  if (origin !== location.origin || event.request.method !== "GET") return;
  if (pathname === "/" || pathname === "/login") event.respondWith(answer(event.request, "/"));
  else if (pathname.startsWith("/static/")) event.respondWith(answer(event.request, pathname));
});
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { open } = event.notification.data;
  const show = async () => {
    const [page] = await self.clients.matchAll({ type: "window" });
    if (!page) return self.clients.openWindow(`/${open}`);
    await page.focus();
    return page.postMessage({ open });
  };
  event.waitUntil(show());
});
