/** Keeps the page and the service's offline pack on this device, so that it judges without a network (decision D15.8). */

/** The page insists on addresses of scripts that a policy has seen; this one is the page's own. */
type TrustedTypes = {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): {
    createScriptURL(url: string): string;
  };
};

const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
const policy = trustedTypes?.createPolicy("tvs-worker", { createScriptURL: (url) => url });

/** The page as it is opened now and as a code's link opens it, and all that it consists of. */
function partsOfPage(others: readonly string[]): URL[] {
  const parts = document.querySelectorAll("link[href], script[src], img[src]");
  const addresses = [...parts].map((part) => part.getAttribute("href") ?? part.getAttribute("src") ?? "");
  const { pathname, search } = location;
  return [pathname, pathname + search, ...addresses, ...others].map(
    (each) => new URL(each, document.baseURI),
  );
}

/**
 * Keeps what is needed, and deletes what is no longer named.
 *
 * @param worker the address of the service worker
 * @param others what the page loads besides: the pack, and the scripts that are loaded when they are needed
 * @returns whether it is all kept; a browser may have no place for it, or allow none
 */
export async function keepOnDevice(worker: string, others: readonly string[]): Promise<boolean> {
  try {
    await navigator.serviceWorker.register(policy?.createScriptURL(worker) ?? worker, {
      scope: location.pathname,
    });
    const cache = await caches.open("verify-envelope");
    const wanted = [...new Set(partsOfPage(others).map(({ href }) => href))];
    await cache.addAll(wanted.map((href) => new Request(href, { cache: "no-cache", credentials: "omit" })));
    const left = (await cache.keys()).filter(({ url }) => !wanted.includes(url));
    await Promise.all(left.map((request) => cache.delete(request)));
    return true;
  } catch {
    return false;
  }
}
