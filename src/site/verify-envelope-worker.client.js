// The service worker of the envelope page: without a network it gives what the page has put into the cache. It keeps
// nothing by itself but newer copies of that, and with a network it changes nothing.

/** A hall's network may be there and lead nowhere. */
const patienceMs = 5_000;

/** A language or an encoding that is asked for differently must not lose the only copy. */
const however = { ignoreVary: true };

async function answer(request) {
  const cache = await caches.open("verify-envelope");
  const kept = await cache.match(request, however);
  if (kept === undefined) return fetch(request);
  const late = new Promise((resolve) => setTimeout(resolve, patienceMs));
  const fresh = await Promise.race([fetch(request), late]).catch(() => undefined);
  if (fresh?.ok !== true) return kept;
  // A device without room has the older copy still, and the page gets the newer one.
  await cache.put(request, fresh.clone()).catch(() => undefined);
  return fresh;
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const isOurs = new URL(request.url).origin === location.origin;
  if (request.method === "GET" && isOurs) event.respondWith(answer(request));
});
