// The service worker of the envelope page. Without a network it answers from the cache, which the page fills. With a network
// it answers from the network and refreshes the cached copies.

/** Milliseconds to wait for a network that is connected and leads nowhere. */
const patienceMs = 5_000;

/** Finds the only copy for any language or encoding of the request. */
const anyVariant = { ignoreVary: true };

async function answer(request) {
  const cache = await caches.open("verify-envelope");
  const kept = await cache.match(request, anyVariant);
  if (kept === undefined) return fetch(request);
  const late = new Promise((resolve) => setTimeout(resolve, patienceMs));
  const fresh = await Promise.race([fetch(request), late]).catch(() => undefined);
  if (fresh?.ok !== true) return kept;
  // A device without room keeps the older copy, and the page gets the newer one.
  await cache.put(request, fresh.clone()).catch(() => undefined);
  return fresh;
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const isOurs = new URL(request.url).origin === location.origin;
  if (request.method === "GET" && isOurs) event.respondWith(answer(request));
});
