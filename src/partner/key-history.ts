/**
 * Reads the key history: every key that the service ever published, when the key was in use, and since when it was
 * compromised. The history is a compact JWS, signed by the active key, and serves to verify envelopes years later.
 */

import { formatUnixSeconds, parseDateTime } from "./date-time.ts";
import { readJwsHeader, readJwsPart, splitCompactJws } from "./jws.ts";
import { Refusal, refuse, type Warning } from "./reasons.ts";
import { type VettedRsaKey, verifyRsaSignature, vetRsaKey } from "./rsa-key.ts";
import { isJsonObject, type JsonObject, type JsonValue, readStrictJson } from "./strict-json.ts";
import { type CheckOutcome, passedCheck, skippedCheck } from "./verification.ts";

const keyStates = ["pending", "active", "retired", "compromised"] as const;

/** A key's state, and the Unix times of its activation, retirement and compromise; null before the event. */
export type KeyWindow = {
  readonly state: (typeof keyStates)[number];
  readonly activatedAtMs: number | null;
  readonly retiredAtMs: number | null;
  readonly compromisedSinceMs: number | null;
};

export type HistoricKey = VettedRsaKey & { readonly window: KeyWindow };

/** A verified key history. */
export type KeyHistory = {
  readonly issuer: string;
  readonly issuedAtSeconds: number;
  readonly keys: ReadonlyMap<string, HistoricKey>;
  /** The key that signed the history. It is one of `keys`, so it does not prove who made the history. */
  readonly signer: HistoricKey;
};

/** The `typ` of a key history, by which no verifier accepts a history as another token (RFC 8725 section 3.11). */
export const keyHistoryJwsType = "key-history+jwt";

function malformed(detail: string): Refusal {
  return refuse("KEY_HISTORY_MALFORMED", detail);
}

/** Reads a time in milliseconds; null if it is not set, undefined if it is malformed. */
function readTime(value: JsonValue | undefined): number | null | undefined {
  if (value === null) return null;
  return typeof value === "string" ? (parseDateTime(value) ?? undefined) : undefined;
}

/** Whether a window has the time that its state needs. A retired key without `retiredAt` could sign at any time. */
function isComplete(window: KeyWindow): boolean {
  if (window.state === "active") return window.activatedAtMs !== null;
  if (window.state === "retired") return window.retiredAtMs !== null;
  return window.state === "pending" || window.compromisedSinceMs !== null;
}

function readWindow(entry: JsonObject): KeyWindow | null {
  const state = keyStates.find((known) => known === entry.state);
  const { publishedAt, activatedAt, retiredAt, compromisedSince } = entry;
  const times = [activatedAt, retiredAt, compromisedSince, publishedAt].map(readTime);
  if (state === undefined || times.includes(undefined)) return null;
  const [activatedAtMs = null, retiredAtMs = null, compromisedSinceMs = null] = times;
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
  const isTime = typeof iat === "number" && Number.isSafeInteger(iat);
  if (typeof iss !== "string" || !isTime || !Array.isArray(keys))
    return malformed("The key history lacks its issuer, its time or its list of keys.");
  const entries = readEntries(keys);
  return entries instanceof Refusal ? entries : { issuer: iss, issuedAtSeconds: iat, keys: entries };
}

/** Returns the JWS, also from the object in which `tvs keys history --json` wraps it. */
function unwrap(text: string): string {
  const trimmed = text.trim();
  if (!trimmed.startsWith("{")) return trimmed;
  const reading = readStrictJson(trimmed);
  const wrapper = !(reading instanceof Refusal) && isJsonObject(reading) ? reading : {};
  return typeof wrapper.keyHistory === "string" ? wrapper.keyHistory : "";
}

/**
 * Reads a key history and verifies its signature with one of its own keys. The signature proves only that the signer made
 * the history: the caller must check the signer (`KeyHistory.signer`) against another source.
 * @param text the compact JWS, alone or as `{"keyHistory": "…"}`
 * @param issuer the expected issuer; null accepts any issuer
 * @throws DOMException when this machine has no WebCrypto
 */
export async function readKeyHistory(text: string, issuer: string | null): Promise<KeyHistory | Refusal> {
  const jws = splitCompactJws(unwrap(text));
  if (jws instanceof Refusal) return refuse("KEY_HISTORY_UNREADABLE");
  const header = readJwsHeader(jws.protectedHeader);
  if (header instanceof Refusal) return malformed(header.detail);
  if (header.typ !== keyHistoryJwsType)
    return malformed(`The key history's typ is not ${keyHistoryJwsType}.`);
  const payload = readJwsPart(jws.payload, "payload");
  if (payload instanceof Refusal) return malformed(payload.detail);
  const history = readPayload(payload);
  if (history instanceof Refusal) return history;
  const signer = history.keys.get(header.kid);
  if (signer === undefined) return refuse("KEY_HISTORY_KID_UNKNOWN");
  if (!(await verifyRsaSignature(signer, jws))) return refuse("KEY_HISTORY_SIGNATURE_INVALID");
  if (isCompromisedAt(signer.window, history.issuedAtSeconds)) return refuse("KEY_HISTORY_KEY_COMPROMISED");
  if (issuer !== null && history.issuer !== issuer) return refuse("KEY_HISTORY_ISSUER_MISMATCH");
  return { ...history, signer };
}

/** Whether a key was already compromised at the Unix time `seconds`. Fractions of a second are ignored. */
function isCompromisedAt(window: KeyWindow, seconds: number): boolean {
  return window.compromisedSinceMs !== null && seconds >= Math.floor(window.compromisedSinceMs / 1000);
}

type CompromiseFinding = {
  readonly outcome: CheckOutcome;
  readonly warnings: readonly Warning[];
  /** Whether the log had the envelope before the envelope's key was compromised. */
  readonly precedesCompromise: boolean;
};

function compromiseFinding(outcome: CheckOutcome, ...warnings: Warning[]): CompromiseFinding {
  return { outcome, warnings: Object.freeze(warnings), precedesCompromise: false };
}

const unknownUse = skippedCheck("No key history tells when this key was in use.");
const unknownCompromise = compromiseFinding(unknownUse);
const neverCompromised = compromiseFinding(passedCheck("The key history flags no compromise of this key."));
const beforeCompromise = compromiseFinding(
  passedCheck(
    "The key was compromised later than this says it was signed; its thief could have written that time.",
  ),
  "COULD_BE_BACKDATED",
);
const inUse = passedCheck("The key was in use at the time of signing.");

/** Accepts an envelope that the log had before the key's compromise: the key's thief cannot have made that envelope. */
function acceptLoggedBefore(compromisedSinceMs: number, loggedSeconds: number): CompromiseFinding {
  const since = formatUnixSeconds(Math.floor(compromisedSinceMs / 1000));
  const detail = `The key was compromised on ${since}; this still counts because the log had it on ${formatUnixSeconds(loggedSeconds)}, before that.`;
  return { outcome: passedCheck(detail), warnings: [], precedesCompromise: true };
}

/**
 * Refuses a signature made at or after the key's compromise, unless the log had it before that time (decision D13.6).
 * @param window null if no key history was given
 * @param seconds the Unix time of signing, which a thief can choose
 * @param loggedSeconds the Unix time of a checkpoint that covers the envelope; null without a proof
 */
export function checkKeyCompromise(window: KeyWindow | null, seconds: number, loggedSeconds: number | null) {
  if (window === null) return unknownCompromise;
  const { compromisedSinceMs } = window;
  if (compromisedSinceMs === null) return neverCompromised;
  if (loggedSeconds !== null && !isCompromisedAt(window, loggedSeconds))
    return acceptLoggedBefore(compromisedSinceMs, loggedSeconds);
  if (!isCompromisedAt(window, seconds)) return beforeCompromise;
  return loggedSeconds === null
    ? refuse("KEY_COMPROMISED")
    : refuse("KEY_COMPROMISED", "The key was compromised when this was signed, and when the log had it.");
}

/**
 * Refuses a signature made before the key was activated or after it was retired. Times are compared in whole seconds,
 * because a signing time has no fractions. Every signature of a key that was never activated is refused.
 * @param window null if no key history was given
 */
export function checkKeyWindow(window: KeyWindow | null, seconds: number): CheckOutcome | Refusal {
  if (window === null) return unknownUse;
  const { activatedAtMs, retiredAtMs } = window;
  if (activatedAtMs === null || seconds < Math.floor(activatedAtMs / 1000))
    return refuse("KEY_OUTSIDE_WINDOW");
  const isRetired = retiredAtMs !== null && seconds > Math.floor(retiredAtMs / 1000);
  return isRetired ? refuse("KEY_OUTSIDE_WINDOW") : inUse;
}
