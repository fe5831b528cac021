/**
 * Builds the set of keys that verify envelopes. If one key is forbidden (such as a private key), the set refuses every
 * envelope, even one that needs another key: whoever added the forbidden key could have changed the other keys too.
 */

import { formatUnixSeconds } from "./date-time.ts";
import { decodeBytesOrText } from "./file-text.ts";
import { type HistoricKey, type KeyHistory, type KeyWindow, readKeyHistory } from "./key-history.ts";
import { Refusal, refuse } from "./reasons.ts";
import { isThumbprint, thumbprintOf, type VettedRsaKey, vetRsaKey } from "./rsa-key.ts";
import { isJsonObject, type JsonObject, type JsonValue, readStrictJson } from "./strict-json.ts";
import { type CheckOutcome, type KeyTrust, passedCheck } from "./verification.ts";

/** A key of the set. `window` says when the key was in use; null without a key history. */
export type KeyInSet = VettedRsaKey & { readonly window: KeyWindow | null };

/** The result of `createKeySet`. If `refusal` is not null, every envelope gets this refusal. */
export type KeySet = {
  readonly keys: ReadonlyMap<string, KeyInSet>;
  readonly refusal: Refusal | null;
  /** Why the keys are trusted; null if the set is refused. */
  readonly trust: KeyTrust | null;
  /** The outcome of the check `keySet`, the same for every envelope. */
  readonly checked: CheckOutcome;
};

export type KeySetSources = {
  /** A JWKS document (RFC 7517 section 5): as text, as bytes, or as a parsed value. */
  readonly jwks?: string | Uint8Array | object;
  /** A key history, as the service serves it or `tvs keys history` prints it. */
  readonly keyHistory?: string | Uint8Array;
  /** The issuer that the key history must name; any issuer by default. */
  readonly issuer?: string;
  /**
   * Key id (RFC 7638 thumbprint) of the key that must have signed the key history. The history is signed with one of its
   * own keys, so alone it proves nothing: give the anchor, or a JWKS that you fetched yourself.
   */
  readonly anchor?: string;
};

/** Checks the keys of a JWKS. Key ids must be unique, even among keys that are ignored. */
function vetKeys(entries: JsonValue[]): Map<string, KeyInSet> | Refusal {
  const keys = new Map<string, KeyInSet>();
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

/** Reads a JWKS document and checks its keys. @returns the RSA keys by key id, or the refusal of the whole set */
function readJwks(jwks: string | Uint8Array | object): ReadonlyMap<string, KeyInSet> | Refusal {
  const isFile = jwks instanceof Uint8Array || typeof jwks === "string";
  const document = isFile ? readStrictJson(decodeBytesOrText(jwks) ?? "") : (jwks as JsonObject);
  if (document instanceof Refusal) {
    const isDuplicate = document.reason === "JSON_DUPLICATE_MEMBER";
    return refuse(isDuplicate ? "KEY_SET_DUPLICATE_MEMBER" : "KEY_SET_UNREADABLE");
  }
  if (!isJsonObject(document) || !Array.isArray(document.keys)) return refuse("KEY_SET_UNREADABLE");
  return vetKeys(document.keys);
}

function isSameKey(one: VettedRsaKey, other: VettedRsaKey): boolean {
  return one.jwk.n === other.jwk.n && one.jwk.e === other.jwk.e;
}

/**
 * Merges a JWKS and a key history. The history adds windows to the JWKS's keys, and adds compromised keys. No other key is
 * added: a JWKS keeps retired keys, so a key that the JWKS lacks was removed after the history was signed.
 * @param isPinned whether the caller pinned the history's signer; if so, keys that only the unsigned JWKS has are left out
 */
function mergeKeys(
  published: ReadonlyMap<string, KeyInSet>,
  historic: ReadonlyMap<string, HistoricKey>,
  isPinned: boolean,
): Map<string, KeyInSet> | Refusal {
  const keys = new Map<string, KeyInSet>(isPinned ? [] : published);
  for (const [kid, key] of historic) {
    const other = published.get(kid);
    if (other !== undefined && !isSameKey(other, key))
      return refuse("KEY_SET_CONFLICT", `The JWKS and the key history give different keys under ${kid}.`);
    if (other !== undefined || key.window.compromisedSinceMs !== null) keys.set(kid, key);
  }
  return keys;
}

type Trusted = { readonly keys: ReadonlyMap<string, KeyInSet>; readonly trust: KeyTrust };

/** Checks that the history's signer, who could have added any key, is in the JWKS and is the anchor, if these are given. */
async function anchorHistory(
  history: KeyHistory,
  published: ReadonlyMap<string, KeyInSet> | null,
  anchor: string | undefined,
): Promise<Trusted | Refusal> {
  const { signer } = history;
  const keys = published === null ? history.keys : mergeKeys(published, history.keys, anchor !== undefined);
  if (keys instanceof Refusal) return keys;
  const historySigner = await thumbprintOf(signer.jwk);
  const isPublished = published === null || [...published.values()].some((key) => isSameKey(key, signer));
  if (!isPublished || (anchor !== undefined && anchor !== historySigner)) {
    const place = isPublished ? `not ${anchor}, the one that you pinned` : "not in the JWKS";
    const detail = `The key that signed the key history, ${historySigner}, is ${place}.`;
    return refuse("KEY_HISTORY_NOT_ANCHORED", detail);
  }
  const basis = anchor !== undefined ? "anchor" : published !== null ? "jwks" : "key-history";
  return {
    keys,
    trust: { basis, historySigner, historySignedAt: formatUnixSeconds(history.issuedAtSeconds) },
  };
}

async function readSources(sources: KeySetSources): Promise<Trusted | Refusal> {
  const { jwks, keyHistory, issuer = null, anchor } = sources;
  const published = jwks === undefined ? null : readJwks(jwks);
  if (published instanceof Refusal) return published;
  if (keyHistory === undefined) {
    const trust = { basis: "jwks", historySigner: null, historySignedAt: null } as const;
    return { keys: published ?? new Map(), trust };
  }
  const history = await readKeyHistory(decodeBytesOrText(keyHistory) ?? "", issuer);
  return history instanceof Refusal ? history : anchorHistory(history, published, anchor);
}

const noForbiddenKey = "No key of the set is forbidden.";
const checkedWithJwks = passedCheck(noForbiddenKey);

function checkedBy({ basis, historySigner, historySignedAt }: KeyTrust): CheckOutcome {
  if (basis === "jwks") return checkedWithJwks;
  const signed = `which key ${historySigner} signed on ${historySignedAt}`;
  return basis === "anchor"
    ? passedCheck(`${noForbiddenKey} Trust rests on the key history, ${signed}, and you pinned that key.`)
    : passedCheck(
        `${noForbiddenKey} Trust rests on the key history alone, ${signed}. If it came with the envelope, it proves nothing.`,
      );
}

/**
 * Builds the key set for `verifyEnvelope` from a JWKS (RFC 7517), a key history or both.
 *
 * If a source cannot be checked, `verifyEnvelope` refuses every envelope. With both sources, the history's signer
 * must be in the JWKS, else the refusal is `KEY_HISTORY_NOT_ANCHORED`. `anchor` is the id of the key that must have signed
 * the history; only keys of the history are then accepted. A history without JWKS and anchor may have any signer: get it
 * from the service or your own archive, never from the party that hands over the envelope.
 * @param sources at least one of `jwks` and `keyHistory`, and `anchor` only with a `keyHistory`
 * @throws TypeError if no source is given, the anchor is malformed, or an anchor is given without a history
 * @example
 * ```ts
 * const address = "https://verify.example.org/v1/inter-agency/.well-known";
 * const jwks = await (await fetch(`${address}/jwks.json`)).text();
 * const keyHistory = await (await fetch(`${address}/key-history`)).text();
 * const keys = await createKeySet({ jwks, keyHistory, issuer: "https://verify.example.org" });
 * ```
 */
export async function createKeySet(sources: KeySetSources): Promise<KeySet> {
  const { jwks, keyHistory, anchor } = sources;
  if (jwks === undefined && keyHistory === undefined)
    throw new TypeError("createKeySet needs a JWKS, a key history or both");
  if (anchor !== undefined && (keyHistory === undefined || !isThumbprint(anchor)))
    throw new TypeError("the anchor is the 43-character id of the key that signed the key history");
  // Only the cryptography throws here, for example on a page without https.
  const outcome = await readSources(sources).catch(() => refuse("VERIFIER_FAILED"));
  return outcome instanceof Refusal
    ? { keys: new Map(), refusal: outcome, trust: null, checked: checkedWithJwks }
    : { ...outcome, refusal: null, checked: checkedBy(outcome.trust) };
}
