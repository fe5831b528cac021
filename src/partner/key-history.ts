/**
 * The key history: every key that the service ever published, with its window of use and its compromise. It is a compact
 * JWS signed by the active key; with it an envelope is verifiable years later.
 */

import { formatSeconds, parseDateTime } from "./date-time.ts";
import { readJwsHeader, readJwsObject, splitCompactJws } from "./jws.ts";
import { Refusal, refuse, type Warning } from "./reasons.ts";
import { isSignedBy, type VettedKey, vetRsaKey } from "./rsa-key.ts";
import { isJsonObject, type JsonObject, type JsonValue, readStrictJson } from "./strict-json.ts";
import { type Passed, passed, skipped } from "./verification.ts";

const keyStates = ["pending", "active", "retired", "compromised"] as const;
type KeyState = (typeof keyStates)[number];

/** When a key was in use; times in milliseconds since the Unix epoch. */
export type KeyWindow = {
  readonly state: KeyState;
  readonly activatedAtMs: number | null;
  readonly retiredAtMs: number | null;
  readonly compromisedSinceMs: number | null;
};

export type HistoricKey = VettedKey & { readonly window: KeyWindow };

/** A verified key history. */
export type KeyHistory = {
  readonly issuer: string;
  readonly issuedAtSeconds: number;
  readonly keys: ReadonlyMap<string, HistoricKey>;
  /** One of `keys`, hence no proof of who made the history. */
  readonly signer: HistoricKey;
};

/** The header's `typ`, so that a history never passes for another token (RFC 8725 section 3.11). */
export const keyHistoryType = "key-history+jwt";

function malformed(detail: string): Refusal {
  return refuse("KEY_HISTORY_MALFORMED", detail);
}

/** Milliseconds; null when not set, undefined when malformed. */
function readTime(value: JsonValue | undefined): number | null | undefined {
  if (value === null) return null;
  return typeof value === "string" ? (parseDateTime(value) ?? undefined) : undefined;
}

/** A state without its own time would leave a window open. */
function isComplete(window: KeyWindow): boolean {
  if (window.state === "active") return window.activatedAtMs !== null;
  if (window.state === "retired") return window.retiredAtMs !== null;
  return window.state === "pending" || window.compromisedSinceMs !== null;
}

function readWindow(entry: JsonObject): KeyWindow | null {
  const state = keyStates.find((known) => known === entry.state);
  const activatedAtMs = readTime(entry.activatedAt);
  const retiredAtMs = readTime(entry.retiredAt);
  const compromisedSinceMs = readTime(entry.compromisedSince);
  if (state === undefined || readTime(entry.publishedAt) === undefined) return null;
  if (activatedAtMs === undefined || retiredAtMs === undefined || compromisedSinceMs === undefined)
    return null;
  const window = { state, activatedAtMs, retiredAtMs, compromisedSinceMs };
  return isComplete(window) ? window : null;
}

function readEntry(entry: JsonValue): HistoricKey | Refusal {
  if (!isJsonObject(entry) || !isJsonObject(entry.jwk))
    return malformed("An entry of the key history has no key.");
  const key = vetRsaKey(entry.jwk);
  if (key === null) return malformed("The key history lists a key that is not an RSA key.");
  if (key instanceof Refusal) return key;
  if (entry.kid !== key.jwk.kid)
    return malformed("An entry of the key history and its key have different ids.");
  const window = readWindow(entry);
  if (window === null)
    return malformed(`The key history gives key ${key.jwk.kid} no well-formed state and times.`);
  return { ...key, window };
}

function readEntries(entries: JsonValue[]): Map<string, HistoricKey> | Refusal {
  const keys = new Map<string, HistoricKey>();
  for (const entry of entries) {
    const key = readEntry(entry);
    if (key instanceof Refusal) return key;
    if (keys.has(key.jwk.kid)) return refuse("KEY_SET_DUPLICATE_KID");
    keys.set(key.jwk.kid, key);
  }
  return keys;
}

function readPayload(payload: JsonObject): Omit<KeyHistory, "signer"> | Refusal {
  const { iss, iat, keys } = payload;
  if (
    typeof iss !== "string" ||
    typeof iat !== "number" ||
    !Number.isSafeInteger(iat) ||
    !Array.isArray(keys)
  ) {
    return malformed("The key history lacks its issuer, its time or its list of keys.");
  }
  const entries = readEntries(keys);
  return entries instanceof Refusal ? entries : { issuer: iss, issuedAtSeconds: iat, keys: entries };
}

/** `tvs keys history --json` wraps the JWS in an object. */
function unwrap(text: string): string {
  const trimmed = text.trim();
  if (!trimmed.startsWith("{")) return trimmed;
  const reading = readStrictJson(trimmed);
  const wrapper = !(reading instanceof Refusal) && isJsonObject(reading) ? reading : {};
  return typeof wrapper.keyHistory === "string" ? wrapper.keyHistory : "";
}

/**
 * Reads a key history and verifies it with one of its own keys, which proves only that its signer made all of it. The
 * caller has to know the signer from elsewhere (`KeyHistory.signer`).
 * @param text the compact JWS, alone or as `{"keyHistory": "…"}`
 * @param issuer the expected issuer; null accepts any
 * @throws DOMException when this machine has no WebCrypto
 */
export async function readKeyHistory(text: string, issuer: string | null): Promise<KeyHistory | Refusal> {
  const jws = splitCompactJws(unwrap(text));
  if (jws instanceof Refusal) return refuse("KEY_HISTORY_UNREADABLE");
  const header = readJwsHeader(jws.protectedHeader);
  if (header instanceof Refusal) return malformed(header.detail);
  if (header.typ !== keyHistoryType) return malformed(`The key history's typ is not ${keyHistoryType}.`);
  const payload = readJwsObject(jws.payload, "payload");
  if (payload instanceof Refusal) return malformed(payload.detail);
  const history = readPayload(payload);
  if (history instanceof Refusal) return history;
  const signer = history.keys.get(header.kid);
  if (signer === undefined) return refuse("KEY_HISTORY_KID_UNKNOWN");
  if (!(await isSignedBy(signer, jws))) return refuse("KEY_HISTORY_SIGNATURE_INVALID");
  if (isCompromisedAt(signer.window, history.issuedAtSeconds)) return refuse("KEY_HISTORY_KEY_COMPROMISED");
  if (issuer !== null && history.issuer !== issuer) return refuse("KEY_HISTORY_ISSUER_MISMATCH");
  return { ...history, signer };
}

/** Whether a key was compromised, at the whole second of a signature. */
function isCompromisedAt(window: KeyWindow, seconds: number): boolean {
  return window.compromisedSinceMs !== null && seconds >= Math.floor(window.compromisedSinceMs / 1000);
}

type CompromiseFinding = {
  readonly outcome: Passed;
  readonly warnings: readonly Warning[];
  /** Whether the envelope is acceptable only by the log's proof. */
  readonly precedesCompromise: boolean;
};

function finding(outcome: Passed, ...warnings: Warning[]): CompromiseFinding {
  return { outcome, warnings: Object.freeze(warnings), precedesCompromise: false };
}

const unknown = skipped("No key history tells when this key was in use.");
const unknownCompromise = finding(unknown);
const neverCompromised = finding(passed("The key history flags no compromise of this key."));
const beforeCompromise = finding(
  passed(
    "The key was compromised later than this says it was signed; its thief could have written that time.",
  ),
  "COULD_BE_BACKDATED",
);
const inUse = passed("The key was in use at the time of signing.");

/** An entry that the log had before the compromise was not made by the key's thief. */
function loggedBefore(compromisedSinceMs: number, loggedSeconds: number): CompromiseFinding {
  const since = formatSeconds(Math.floor(compromisedSinceMs / 1000));
  const detail = `The key was compromised on ${since}; this still counts because the log had it on ${formatSeconds(loggedSeconds)}, before that.`;
  return { outcome: passed(detail), warnings: [], precedesCompromise: true };
}

/**
 * Refuses a signature made at or after the key's compromise, unless the log had it before that (decision D13.6).
 * @param window null when no key history is known
 * @param seconds the time of signing, which a thief can choose
 * @param loggedSeconds the time of a checkpoint that covers the envelope; null without a proof
 */
export function checkCompromise(
  window: KeyWindow | null,
  seconds: number,
  loggedSeconds: number | null,
): CompromiseFinding | Refusal {
  if (window === null) return unknownCompromise;
  const { compromisedSinceMs } = window;
  if (compromisedSinceMs === null) return neverCompromised;
  if (loggedSeconds !== null && !isCompromisedAt(window, loggedSeconds))
    return loggedBefore(compromisedSinceMs, loggedSeconds);
  if (!isCompromisedAt(window, seconds)) return beforeCompromise;
  return loggedSeconds === null
    ? refuse("KEY_COMPROMISED")
    : refuse("KEY_COMPROMISED", "The key was compromised when this was signed, and when the log had it.");
}

/**
 * Refuses a signature made before the key was activated or after it was retired, in whole seconds as signatures have. A
 * key that was never activated never signs.
 * @param window null when no key history is known
 */
export function checkWindow(window: KeyWindow | null, seconds: number): Passed | Refusal {
  if (window === null) return unknown;
  const { activatedAtMs, retiredAtMs } = window;
  if (activatedAtMs === null || seconds < Math.floor(activatedAtMs / 1000))
    return refuse("KEY_OUTSIDE_WINDOW");
  const isRetired = retiredAtMs !== null && seconds > Math.floor(retiredAtMs / 1000);
  return isRetired ? refuse("KEY_OUTSIDE_WINDOW") : inUse;
}
