/**
 * The keys that envelopes are verified with, vetted once for all of them.
 *
 * One forbidden key makes the whole set refuse everything, used or not: whoever let it in could have
 * changed the others as well.
 */

import { type HistoricKey, readKeyHistory } from "./key-history.ts";
import type { KeyWindow } from "./key-window.ts";
import { Refusal, refuse } from "./reasons.ts";
import { type VettedKey, vetRsaKey } from "./rsa-key.ts";
import { decodeUtf8, isJsonObject, type JsonObject, type JsonValue, readStrictJson } from "./strict-json.ts";

/** A key with its window of use, which only a key history tells. */
export type KnownKey = VettedKey & { readonly window: KeyWindow | null };

/** Build it with `createKeySet`; `refusal` is set when the set refuses everything. */
export type KeySet = {
  readonly keys: ReadonlyMap<string, KnownKey>;
  readonly refusal: Refusal | null;
};

export type KeySetSources = {
  /** A JWKS document (RFC 7517 section 5): its text or bytes, or the value when already parsed. */
  readonly jwks?: string | Uint8Array | object;
  /** A key history as the service serves it or as `keys history` prints it. */
  readonly keyHistory?: string | Uint8Array;
  /** The issuer that the key history must be of. */
  readonly issuer?: string;
};

/** Files saved by some editors and shells begin with a byte order mark. */
function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

function readJwksText(text: string): JsonValue | Refusal {
  const reading = readStrictJson(withoutMark(text));
  if ("value" in reading) return reading.value;
  const isDuplicate = reading.problem === "JSON_DUPLICATE_MEMBER";
  return refuse(isDuplicate ? "KEY_SET_DUPLICATE_MEMBER" : "KEY_SET_UNREADABLE");
}

function readJwksDocument(jwks: string | Uint8Array | object): JsonValue | Refusal {
  if (jwks instanceof Uint8Array) return readJwksText(decodeUtf8(jwks) ?? "");
  return typeof jwks === "string" ? readJwksText(jwks) : (jwks as JsonObject);
}

/** Key ids must be unique over all keys, those that are ignored included. */
function vetKeys(entries: JsonValue[]): Map<string, KnownKey> | Refusal {
  const keys = new Map<string, KnownKey>();
  const kids = new Set<JsonValue>();
  for (const entry of entries) {
    if (!isJsonObject(entry))
      return refuse("KEY_SET_KEY_MALFORMED", "The key set holds something that is no key.");
    const key = vetRsaKey(entry);
    if (key instanceof Refusal) return key;
    const { kid = null } = entry;
    if (kid !== null && kids.has(kid)) return refuse("KEY_SET_DUPLICATE_KID");
    kids.add(kid);
    if (key !== null) keys.set(key.jwk.kid, { ...key, window: null });
  }
  return keys;
}

/**
 * Reads and vets a JWKS document.
 *
 * @param jwks its text, its bytes or its parsed value
 * @returns the RSA keys by key id, or the refusal of the whole set
 */
export function readJwks(jwks: string | Uint8Array | object): ReadonlyMap<string, KnownKey> | Refusal {
  const document = readJwksDocument(jwks);
  if (document instanceof Refusal) return document;
  if (!isJsonObject(document) || !Array.isArray(document.keys)) return refuse("KEY_SET_UNREADABLE");
  return vetKeys(document.keys);
}

/** The history adds windows to known keys and brings those that have left the JWKS. */
function merge(
  published: ReadonlyMap<string, KnownKey>,
  historic: ReadonlyMap<string, HistoricKey>,
): Map<string, KnownKey> | Refusal {
  const keys = new Map<string, KnownKey>(published);
  for (const [kid, key] of historic) {
    const other = published.get(kid);
    if (other !== undefined && (other.jwk.n !== key.jwk.n || other.jwk.e !== key.jwk.e)) {
      return refuse("KEY_SET_CONFLICT", `The JWKS and the key history give different keys under ${kid}.`);
    }
    keys.set(kid, key);
  }
  return keys;
}

async function readSources(sources: KeySetSources): Promise<ReadonlyMap<string, KnownKey> | Refusal> {
  const published = sources.jwks === undefined ? new Map<string, KnownKey>() : readJwks(sources.jwks);
  if (published instanceof Refusal || sources.keyHistory === undefined) return published;
  const { keyHistory } = sources;
  const text = typeof keyHistory === "string" ? keyHistory : (decodeUtf8(keyHistory) ?? "");
  const history = await readKeyHistory(withoutMark(text), sources.issuer ?? null);
  return history instanceof Refusal ? history : merge(published, history.keys);
}

/**
 * Builds the key set that `verifyEnvelope` needs, from a JWKS, a key history or both.
 *
 * A bad source does not throw: the set then carries the refusal that every envelope will get.
 *
 * @param sources at least one of `jwks` and `keyHistory`; the history alone is enough
 * @throws TypeError when neither is given
 */
export async function createKeySet(sources: KeySetSources): Promise<KeySet> {
  if (sources.jwks === undefined && sources.keyHistory === undefined) {
    throw new TypeError("createKeySet needs a JWKS, a key history or both");
  }
  // What throws here is the cryptography itself, for example a page that is not served over https.
  const outcome = await readSources(sources).catch(() => refuse("VERIFIER_FAILED"));
  return outcome instanceof Refusal
    ? { keys: new Map(), refusal: outcome }
    : { keys: outcome, refusal: null };
}
