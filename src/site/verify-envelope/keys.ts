/** The public keys and the status lists: of this service's offline pack, and for a proof the log's key; or as pasted. */

import { createKeySet, type KeySet } from "../../partner/key-set.ts";
import { readLogKeys } from "../../partner/log-proof.ts";
import { Refusal } from "../../partner/reasons.ts";
import type { VerifierKey } from "../../partner/signed-note.ts";
import { readOfflinePack } from "../../partner/status-list.ts";
import { type EnvelopeTexts, maybeById, PageProblem } from "./view.ts";

type Words = EnvelopeTexts["problems"];
/** How the page got its keys, which an attestation says. */
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

/** What envelopes are judged by. */
type Trusted = {
  readonly keys: KeySet;
  /** Null where nobody can ask for a list. */
  readonly statusLists: readonly string[] | null;
  /** When the pack was made: keys and lists are of that time. Null for pasted keys. */
  readonly madeAt: string | null;
};

/** The history in it tells which key was compromised, so without it no envelope is called genuine. */
async function fetchPack(address: string, words: Words): Promise<Trusted> {
  const pack = readOfflinePack(await fetchText(address, words));
  if (pack === null) throw new PageProblem(words.keysUnreachable(words.noPack));
  const { jwks, keyHistory, statusLists, madeAt } = pack;
  return { keys: await createKeySet({ jwks, keyHistory }), statusLists, madeAt };
}

async function pastedKeys(jwks: string, keyHistory: string, words: Words): Promise<Trusted> {
  if (jwks === "" && keyHistory === "") throw new PageProblem(words.noKeys);
  if (jwks.length + keyHistory.length > maxKeyCharacters) throw new PageProblem(words.keysTooLarge);
  const keys = await createKeySet({
    ...(jwks === "" ? {} : { jwks }),
    ...(keyHistory === "" ? {} : { keyHistory }),
  });
  return { keys, statusLists: null, madeAt: null };
}

/** Keeps what was fetched for {@link freshMs}. A failed request is tried again with the next envelope. */
function keptFresh<T>(fetchIt: () => Promise<T>): () => Promise<T> {
  let fetched: Promise<T> | null = null;
  let fetchedAtMs = 0;
  return () => {
    const nowMs = performance.now();
    if (nowMs - fetchedAtMs > freshMs) fetched = null;
    if (fetched === null) fetchedAtMs = nowMs;
    fetched ??= fetchIt().catch((error) => {
      fetched = null;
      throw error;
    });
    return fetched;
  };
}

type Keys = {
  readonly source: KeySource;
  load(): Promise<Trusted>;
  /** The keys of the evidence log, which only a proof needs. */
  loadLog(): Promise<readonly VerifierKey[]>;
};

async function logKeysOf(text: string, words: Words): Promise<readonly VerifierKey[]> {
  if (text === "") throw new PageProblem(words.noLogKey);
  if (text.length > maxKeyCharacters) throw new PageProblem(words.keysTooLarge);
  const keys = await readLogKeys(text);
  if (keys instanceof Refusal) throw new PageProblem(words.badLogKey);
  return keys;
}

/** Where the keys come from, by the form of the page. */
export function keySource(addresses: { pack: string; log: string }, words: Words): Keys {
  const jwks = maybeById("jwks", HTMLTextAreaElement);
  const history = maybeById("key-history", HTMLTextAreaElement);
  const logKey = maybeById("log-key", HTMLTextAreaElement);
  if (jwks !== null && history !== null && logKey !== null) {
    return {
      source: "pasted",
      load: () => pastedKeys(jwks.value.trim(), history.value.trim(), words),
      loadLog: () => logKeysOf(logKey.value.trim(), words),
    };
  }
  return {
    source: "fetched",
    load: keptFresh(() => fetchPack(addresses.pack, words)),
    loadLog: keptFresh(async () => logKeysOf(await fetchText(addresses.log, words), words)),
  };
}
