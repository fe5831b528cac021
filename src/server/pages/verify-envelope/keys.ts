/** The public keys: from this service, by the only two requests that the page ever makes, or as pasted. */

import { createKeySet, type KeySet } from "../../../partner/key-set.ts";
import { maybeById } from "./dom.ts";
import { type EnvelopeTexts, PageProblem } from "./texts.ts";

type Words = EnvelopeTexts["problems"];
/** How the page got its keys, which a certificate says. */
export type KeySource = "fetched" | "pasted";

const patienceMs = 15_000;
/** A page may stay open for days, and a key be compromised meanwhile. Caches of the key history hold it as long. */
const freshMs = 5 * 60_000;
const maxKeyCharacters = 4 * 1024 * 1024;

async function fetchText(address: string, words: Words): Promise<string> {
  const signal = AbortSignal.timeout(patienceMs);
  const response = await fetch(address, { signal, credentials: "omit", cache: "no-cache" }).catch(() => {
    throw new PageProblem(words.keysUnreachable(words.noConnection));
  });
  if (!response.ok) throw new PageProblem(words.keysUnreachable(words.status(response.status)));
  return response.text().catch(() => {
    throw new PageProblem(words.keysUnreachable(words.noConnection));
  });
}

/** The history tells which key was compromised, so without it no envelope is called genuine. */
async function fetchKeys(addresses: { jwks: string; history: string }, words: Words): Promise<KeySet> {
  const [jwks, keyHistory] = await Promise.all([
    fetchText(addresses.jwks, words),
    fetchText(addresses.history, words),
  ]);
  return createKeySet({ jwks, keyHistory });
}

async function pastedKeys(jwks: string, keyHistory: string, words: Words): Promise<KeySet> {
  if (jwks === "" && keyHistory === "") throw new PageProblem(words.noKeys);
  if (jwks.length + keyHistory.length > maxKeyCharacters) throw new PageProblem(words.keysTooLarge);
  return createKeySet({
    ...(jwks === "" ? {} : { jwks }),
    ...(keyHistory === "" ? {} : { keyHistory }),
  });
}

/**
 * Where the keys come from, by the form of the page.
 *
 * @param addresses of this service's key set and key history
 * @returns `load` gives the keys and throws PageProblem; fetched keys serve for {@link freshMs}
 */
export function keySource(
  addresses: { jwks: string; history: string },
  words: Words,
): { source: KeySource; load: () => Promise<KeySet> } {
  const jwks = maybeById("jwks", HTMLTextAreaElement);
  const history = maybeById("key-history", HTMLTextAreaElement);
  if (jwks !== null && history !== null) {
    return { source: "pasted", load: () => pastedKeys(jwks.value.trim(), history.value.trim(), words) };
  }
  let fetched: Promise<KeySet> | null = null;
  let fetchedAtMs = 0;
  const load = () => {
    const nowMs = performance.now();
    if (nowMs - fetchedAtMs > freshMs) fetched = null;
    if (fetched === null) fetchedAtMs = nowMs;
    fetched ??= fetchKeys(addresses, words).catch((error) => {
      // A failed request is tried again with the next envelope.
      fetched = null;
      throw error;
    });
    return fetched;
  };
  return { source: "fetched", load };
}
