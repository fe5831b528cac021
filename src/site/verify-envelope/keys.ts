/**
 * Loads the keys and status lists with which the page verifies. The page fetches this service's offline pack and, for a proof,
 * the key of the evidence log. With `?keys=pasted`, the page fetches nothing and reads the pasted keys.
 */

import { createKeySet, type KeySet } from "../../partner/key-set.ts";
import { readLogKeys } from "../../partner/log-proof.ts";
import { Refusal } from "../../partner/reasons.ts";
import type { VerifierKey } from "../../partner/signed-note.ts";
import { readOfflinePack } from "../../partner/status-list.ts";
import { keySource, PageError, readPageData, requireElement, texts } from "./view.ts";

const words = texts.problems;
const fetchTimeoutMs = 15_000;
/** How long fetched keys are used. A key can be compromised while the page stays open for days. */
const freshMs = 5 * 60_000;
const maxKeyCharacters = 4 * 1024 * 1024;

async function fetchText(address: string): Promise<string> {
  const unreachable = () => {
    throw new PageError(words.keysUnreachable(words.noConnection));
  };
  const signal = AbortSignal.timeout(fetchTimeoutMs);
  const request = { signal, credentials: "omit", cache: "no-cache" } as const;
  const response = await fetch(address, request).catch(unreachable);
  if (!response.ok) throw new PageError(words.keysUnreachable(words.status(response.status)));
  return response.text().catch(unreachable);
}

type Trusted = {
  readonly keys: KeySet;
  /** The service's status lists; null if the keys were pasted. */
  readonly statusLists: readonly string[] | null;
  /** The time at which the offline pack was made; null if the keys were pasted. */
  readonly madeAt: string | null;
};

/** Fetches the offline pack. Its key history names compromised keys, so without a pack no envelope is verified. */
async function fetchPack(address: string): Promise<Trusted> {
  const pack = readOfflinePack(await fetchText(address));
  if (pack === null) throw new PageError(words.keysUnreachable(words.noPack));
  const { jwks, keyHistory, statusLists, madeAt } = pack;
  return { keys: await createKeySet({ jwks, keyHistory }), statusLists, madeAt };
}

const pasted = (id: string) => requireElement(id, HTMLTextAreaElement).value.trim();

async function pastedKeys(): Promise<Trusted> {
  const [jwks, keyHistory] = [pasted("jwks"), pasted("key-history")];
  if (jwks === "" && keyHistory === "") throw new PageError(words.noKeys);
  if (jwks.length + keyHistory.length > maxKeyCharacters) throw new PageError(words.keysTooLarge);
  const sources = { ...(jwks === "" ? {} : { jwks }), ...(keyHistory === "" ? {} : { keyHistory }) };
  return { keys: await createKeySet(sources), statusLists: null, madeAt: null };
}

/** Caches a fetched value for {@link freshMs}. A failed request is not cached. */
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

async function logKeysOf(text: string): Promise<readonly VerifierKey[]> {
  if (text === "") throw new PageError(words.noLogKey);
  if (text.length > maxKeyCharacters) throw new PageError(words.keysTooLarge);
  const keys = await readLogKeys(text);
  if (keys instanceof Refusal) throw new PageError(words.badLogKey);
  return keys;
}

export const loadKeys =
  keySource === "pasted" ? pastedKeys : keptFresh(() => fetchPack(readPageData("pack")));

/** Loads the evidence log's keys, which only a proof needs. */
export const loadLogKeys =
  keySource === "pasted"
    ? () => logKeysOf(pasted("log-key"))
    : keptFresh(async () => logKeysOf(await fetchText(readPageData("logKey"))));
