// The service worker of the page that verifies envelopes. Without a network, it answers from the cache, which the page fills.
// With a network, it answers from the network and replaces the cached copies.

/** Milliseconds after which a request that gets no response is answered from the cache. */
const patienceMs = 5_000;

/** Options of the search in the cache. `Vary` is ignored, because the cache has one copy for all languages and encodings. */
const anyVariant = { ignoreVary: true };

async function answer(request) {
  const cache = await caches.open("verify-envelope");
  const kept = await cache.match(request, anyVariant);
  if (kept === undefined) return fetch(request);
  const late = new Promise((resolve) => setTimeout(resolve, patienceMs));
  const fresh = await Promise.race([fetch(request), late]).catch(() => undefined);
  if (fresh?.ok !== true) return kept;
  // If the device has no room for the new copy, the old one stays in the cache. The page still gets the new response.
  await cache.put(request, fresh.clone()).catch(() => undefined);
  return fresh;
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const isOurs = new URL(request.url).origin === location.origin;
  if (request.method === "GET" && isOurs) event.respondWith(answer(request));
});
