/** Verifies one signed envelope offline (contract C9 and contract C18). */

import { computeAge } from "./answer-age.ts";
import {
  type Claims,
  findOuterDifference,
  type OuterMembers,
  readClaimedIssuer,
  readClaims,
  readIssuedAt,
  readOuterMembers,
} from "./claims.ts";
import { statementType } from "./contract.ts";
import { findDamage, findMisreadUtf16, preferDamage, removeByteOrderMark } from "./file-text.ts";
import { refuseNonEnvelope } from "./input.ts";
import {
  type CompactJws,
  isStatement,
  type JwsHeader,
  readJwsHeader,
  readJwsObject,
  splitCompactJws,
} from "./jws.ts";
import { checkCompromise, checkWindow, keyHistoryType } from "./key-history.ts";
import type { KeyInSet, KeySet } from "./key-set.ts";
import { findInLog, type LogFinding, type LogProof } from "./log-proof.ts";
import { Refusal, refuse } from "./reasons.ts";
import { hasSignatureLength, type VerifySignature, verifyWithWebCrypto } from "./rsa-key.ts";
import {
  defaultMaxListAgeSeconds,
  findStatus,
  openStatusLists,
  type StatusList,
  statusListType,
} from "./status-list.ts";
import { isJsonObject, type JsonObject, type JsonValue, readStrictJson } from "./strict-json.ts";
import {
  accept,
  addOutcome,
  beginVerification,
  type CheckOutcome,
  type Draft,
  failAt,
  passedCheck,
  type SharedClaims,
  skippedCheck,
  type Verification,
} from "./verification.ts";

export type VerifyOptions = {
  /** The keys to verify with, a result of `createKeySet`. */
  readonly keys: KeySet;
  /** The service's issuer, from the operator; any other issuer is refused. */
  readonly issuer: string;
  /** The caller's partner id; an envelope for another partner is refused. */
  readonly audience: string;
  /** The time of the verification; this machine's by default. */
  readonly now?: Date;
  /** How many seconds the clocks of service and caller may differ; 60 by default. */
  readonly clockToleranceSeconds?: number;
  /** An implementation of RS256 other than WebCrypto. */
  readonly verifySignature?: VerifySignature;
  /** The result of `openLogProof`; an envelope that is not the proved log entry is refused. */
  readonly proof?: LogProof;
  /** The service's status lists (`application/statuslist+jwt`), by which a withdrawn answer is refused. */
  readonly statusLists?: readonly string[];
  /** The oldest status list that is accepted, 7 days by default; no list is accepted after its own `exp`. */
  readonly maxListAgeSeconds?: number;
};

/** Options of `verifyEnvelopeSync`: no proof, no status lists, and a synchronous RS256. */
export type SyncVerifyOptions = Omit<VerifyOptions, "proof" | "statusLists"> & {
  readonly verifySignature: (...parameters: Parameters<VerifySignature>) => boolean;
};

/** The JWS of an envelope or statement, not verified yet, and the outcome of the check `form`. */
type Signed = { readonly jws: CompactJws; readonly form: CheckOutcome };

/** A parsed envelope. `outer` has its unsigned members; null if only the bare JWS was given. */
type Envelope = Signed & { readonly outer: OuterMembers | null };

/** A `Signed` that passed the checks before the signature: form, header, key set and key. */
type Opened = Signed & { readonly draft: Draft; readonly key: KeyInSet };

/** The results of the cryptography. */
type Cryptography = {
  /** Whether the signature is good; null if this machine's cryptography failed. */
  readonly isGood: boolean | null;
  /** The envelope's entry in the log, or the refusal of the proof; null without a proof. */
  readonly logged: LogFinding | Refusal | null;
  /** The opened status lists; null if no list was given. */
  readonly lists: readonly (StatusList | Refusal)[] | null;
};

/** A check of the claims, after the signature and the key's state at `issuedAt` (seconds) were found good. */
type CheckPayload = (payload: JsonObject, issuedAt: number) => Verification;

const outcomes = {
  envelope: passedCheck("A well-formed envelope, strict JSON, canonical base64url."),
  bare: passedCheck("A well-formed compact JWS, canonical base64url."),
  header: passedCheck("RS256, no extensions, no key of its own."),
  foreign: refuse("KID_UNKNOWN", "No such key is known, and another issuer is named than the one expected."),
  key: passedCheck("The key that the header names is known."),
  signature: passedCheck("The signature was made by this key over this content."),
  noProof: skippedCheck("No proof of the evidence log was given."),
  claims: passedCheck("All claims are there and well formed."),
  issuer: passedCheck("Signed for the expected issuer."),
  audience: passedCheck("Signed for the expected partner."),
  time: passedCheck("Not signed in the future, and within the limits that it sets itself."),
  outer: passedCheck("Every unsigned member is what is signed."),
  noOuter: skippedCheck("A bare signature has no unsigned members to compare."),
  noList: skippedCheck("No status list was asked whether this was withdrawn since."),
  noPlace: skippedCheck(
    "It names no place in a status list, so none was asked whether it was withdrawn since.",
  ),
};

const defaultToleranceSeconds = 60;

function readEnvelopeValue(value: JsonValue): Envelope | Refusal {
  const outer = isJsonObject(value)
    ? readOuterMembers(value)
    : refuse("ENVELOPE_MALFORMED", "This is neither an envelope nor a signature.");
  if (outer instanceof Refusal) {
    return isStatement(value) ? refuse("IS_A_STATEMENT") : (refuseNonEnvelope(value) ?? outer);
  }
  const jws = splitCompactJws(outer.signature);
  if (jws instanceof Refusal) return preferDamage(jws, outer.signature);
  return findDamageOfHeader(jws, outer.signature) ?? { jws, outer, form: outcomes.envelope };
}

/** Refuses white space in the header as damage by mail. Decoding the header later would not name the cause. */
function findDamageOfHeader({ protectedHeader }: CompactJws, text: string): Refusal | null {
  return /[^\w-]/.test(protectedHeader) ? findDamage(text) : null;
}

/** Reads an envelope or a bare compact JWS: its text, or a value of `readStrictJson`. */
function readForm(input: string | JsonValue): Envelope | Refusal {
  if (typeof input !== "string") return readEnvelopeValue(input);
  const text = removeByteOrderMark(input);
  const misread = findMisreadUtf16(text);
  if (misread !== null) return misread;
  // A text that begins with a brace is an envelope; any other text is read as a bare JWS.
  if (/^[\t\n\r ]*\{/.test(text)) {
    const reading = readStrictJson(text);
    return reading instanceof Refusal ? preferDamage(reading, text) : readEnvelopeValue(reading);
  }
  const jws = splitCompactJws(text);
  if (!(jws instanceof Refusal))
    return findDamageOfHeader(jws, text) ?? { jws, outer: null, form: outcomes.bare };
  return refuseNonEnvelope(text) ?? preferDamage(jws, text);
}

/**
 * Reads a header and checks its `typ`. The issuer signs envelopes, statements, key histories and status lists with the same
 * keys, so a verifier must not accept one as another.
 * @param own the `typ` to require; null for envelopes, which need no `typ` and may have any that no other token has
 */
export function readHeaderOf(own: string | null, protectedHeader: string): JwsHeader | Refusal {
  const header = readJwsHeader(protectedHeader);
  if (header instanceof Refusal || header.typ === own) return header;
  if (header.typ === statementType) return refuse("IS_A_STATEMENT");
  if (own !== null)
    return refuse(header.typ === null || header.typ === "JWT" ? "IS_AN_ENVELOPE" : "HEADER_TYP");
  return [keyHistoryType, statusListType].includes(header.typ ?? "") ? refuse("HEADER_TYP") : header;
}

/** Refuses an unknown key, and names the issuer that the envelope claims, where it can be verified. */
function failUnknownKey(draft: Draft, { payload }: CompactJws, { issuer }: VerifyOptions): Verification {
  const claimed = readClaimedIssuer(readJwsObject(payload, "payload"));
  const isForeign = claimed !== null && claimed !== issuer;
  draft.claimedIssuer = isForeign ? claimed : null;
  return failAt(draft, "key", isForeign ? outcomes.foreign : refuse("KID_UNKNOWN"));
}

/**
 * Runs the checks that come before the signature.
 * @param own as for {@link readHeaderOf}
 */
export function openSigned<S extends Signed>(
  signed: S | Refusal,
  options: VerifyOptions,
  own: string | null,
): (S & Opened) | Verification {
  const draft = beginVerification();
  if (signed instanceof Refusal) return failAt(draft, "form", signed);
  const { jws, form } = signed;
  addOutcome(draft, form);
  const header = readHeaderOf(own, jws.protectedHeader);
  if (header instanceof Refusal) return failAt(draft, "header", header);
  draft.kid = header.kid;
  addOutcome(draft, outcomes.header);
  if (options.keys.refusal !== null) return failAt(draft, "keySet", options.keys.refusal);
  draft.trust = options.keys.trust;
  addOutcome(draft, options.keys.checked);
  const key = options.keys.keys.get(header.kid);
  if (key === undefined) return failUnknownKey(draft, jws, options);
  addOutcome(draft, outcomes.key);
  return hasSignatureLength(key, jws.signature)
    ? { ...signed, draft, key }
    : failAt(draft, "signature", refuse("SIGNATURE_INVALID"));
}

/** Returns the time of the verification, in milliseconds since the Unix epoch. */
function timeOf({ now }: VerifyOptions): number {
  return now?.getTime() ?? Date.now();
}

function checkTime(claims: SharedClaims, options: VerifyOptions): Refusal | null {
  const nowSeconds = timeOf(options) / 1000;
  const tolerance = options.clockToleranceSeconds ?? defaultToleranceSeconds;
  if (claims.issuedAtSeconds > nowSeconds + tolerance) return refuse("ISSUED_IN_FUTURE");
  const { expiresSeconds, notBeforeSeconds } = claims;
  if (expiresSeconds !== null && expiresSeconds <= nowSeconds - tolerance) return refuse("TOKEN_EXPIRED");
  const isEarly = notBeforeSeconds !== null && notBeforeSeconds > nowSeconds + tolerance;
  return isEarly ? refuse("TOKEN_NOT_YET_VALID") : null;
}

/** Looks up the envelope in the status lists. If it is withdrawn, it is refused only if it says eligible or VALID. */
function checkStatus(
  draft: Draft,
  claims: Claims,
  lists: Cryptography["lists"],
  options: VerifyOptions,
): CheckOutcome | Refusal {
  const { issuer, clockToleranceSeconds, maxListAgeSeconds } = options;
  const { eligible, license } = claims.result;
  const isYes = eligible || license?.status === "VALID";
  if (lists === null) return outcomes.noList;
  if (claims.status === null) return outcomes.noPlace;
  const found = findStatus(claims.status, lists, {
    issuer,
    signedSeconds: claims.issuedAtSeconds,
    isYes,
    nowSeconds: timeOf(options) / 1000,
    toleranceSeconds: clockToleranceSeconds ?? defaultToleranceSeconds,
    maxAgeSeconds: maxListAgeSeconds ?? defaultMaxListAgeSeconds,
  });
  if (found instanceof Refusal) return found;
  draft.statusList = found;
  const by = `the status list of ${found.signedAt}`;
  if (!found.withdrawn) return passedCheck(`Not withdrawn, by ${by}.`);
  return isYes
    ? refuse("WITHDRAWN_SINCE", `It is withdrawn, by ${by}.`)
    : passedCheck(`The answer was no already; ${by} says withdrawn.`);
}

/** Compares issuer, audience and times with those that the caller expects. @returns null if they agree */
export function checkExpectedClaims(
  draft: Draft,
  claims: SharedClaims,
  options: VerifyOptions,
): Verification | null {
  draft.claims = claims;
  addOutcome(draft, outcomes.claims);
  if (claims.issuer !== options.issuer) return failAt(draft, "issuer", refuse("ISSUER_MISMATCH"));
  addOutcome(draft, outcomes.issuer);
  if (claims.audience !== options.audience) return failAt(draft, "audience", refuse("AUDIENCE_MISMATCH"));
  addOutcome(draft, outcomes.audience);
  const late = checkTime(claims, options);
  if (late !== null) return failAt(draft, "time", late);
  addOutcome(draft, outcomes.time);
  return null;
}

/** Compares the claims with the caller's options, the unsigned members and the status lists. */
function checkClaims(
  { draft, outer, key }: Envelope & Opened,
  claims: Claims | Refusal,
  lists: Cryptography["lists"],
  options: VerifyOptions,
): Verification {
  if (claims instanceof Refusal) return failAt(draft, "claims", claims);
  const unexpected = checkExpectedClaims(draft, claims, options);
  if (unexpected !== null) return unexpected;
  const difference = outer === null ? null : findOuterDifference(outer, claims, key.jwk.kid);
  if (difference !== null) return failAt(draft, "outer", difference);
  addOutcome(draft, outer === null ? outcomes.noOuter : outcomes.outer);
  const status = checkStatus(draft, claims, lists, options);
  if (status instanceof Refusal) return failAt(draft, "status", status);
  addOutcome(draft, status);
  draft.age = computeAge(claims, timeOf(options));
  return accept(draft);
}

/** Runs the checks from the signature on. The key comes before the claims: the thief of a key can sign any claim. */
export function checkSigned(
  { draft, key, jws }: Opened,
  { isGood, logged }: Cryptography,
  checkPayload: CheckPayload,
): Verification {
  if (isGood === null) return failAt(draft, "signature", refuse("VERIFIER_FAILED"));
  if (!isGood) return failAt(draft, "signature", refuse("SIGNATURE_INVALID"));
  addOutcome(draft, outcomes.signature);
  if (logged instanceof Refusal) return failAt(draft, "log", logged);
  draft.log = logged?.evidence ?? null;
  addOutcome(draft, logged?.outcome ?? outcomes.noProof);
  const payload = readJwsObject(jws.payload, "payload");
  if (payload instanceof Refusal) return failAt(draft, "claims", payload);
  const issuedAt = readIssuedAt(payload);
  if (issuedAt instanceof Refusal) return failAt(draft, "claims", issuedAt);
  const compromise = checkCompromise(key.window, issuedAt, logged?.checkpoint.seconds ?? null);
  if (compromise instanceof Refusal) return failAt(draft, "compromise", compromise);
  const { outcome, warnings, precedesCompromise } = compromise;
  addOutcome(draft, outcome);
  draft.warnings = warnings;
  if (logged !== null) draft.log = { ...logged.evidence, precedesCompromise };
  const inWindow = checkWindow(key.window, issuedAt);
  if (inWindow instanceof Refusal) return failAt(draft, "window", inWindow);
  addOutcome(draft, inWindow);
  return checkPayload(payload, issuedAt);
}

/** Throws TypeError if an option is wrong: the caller's mistake must not look like a verdict on the envelope. */
export function assertOptions(options: VerifyOptions): void {
  const { issuer, audience, now, clockToleranceSeconds = 0, maxListAgeSeconds = 0 } = options;
  const { statusLists = [] } = options;
  if (typeof issuer !== "string" || issuer === "") throw new TypeError("verifyEnvelope needs the issuer");
  if (typeof audience !== "string" || audience === "")
    throw new TypeError("verifyEnvelope needs the audience");
  if (now !== undefined && Number.isNaN(now.getTime())) throw new TypeError("now is not a valid date");
  if (!(clockToleranceSeconds >= 0)) throw new TypeError("clockToleranceSeconds is not a duration");
  if (!(maxListAgeSeconds >= 0)) throw new TypeError("maxListAgeSeconds is not a duration");
  if (!Array.isArray(statusLists) || statusLists.some((list) => typeof list !== "string"))
    throw new TypeError("statusLists is not an array of texts");
}

/**
 * Verifies one envelope (contract C9; RFC 7515, RS256 alone).
 * @param input an envelope as JSON text, a bare compact JWS, or a value of `readStrictJson` (`JSON.parse` drops duplicate
 * members, which then cannot be refused)
 * @returns the verdict with every check; a bad envelope never throws
 * @throws TypeError if issuer or audience is missing, a date is invalid, a duration is negative or a list is not a text
 * @example
 * ```ts
 * const verdict = await verifyEnvelope(text, { keys, issuer: "https://verify.example.org", audience: "exam-board" });
 * if (!verdict.valid) throw new Error(verdict.reason ?? "");
 * console.log(verdict.result?.status);
 * ```
 */
export async function verifyEnvelope(
  input: string | JsonValue,
  options: VerifyOptions,
): Promise<Verification> {
  assertOptions(options);
  const opened = openSigned(readForm(input), options, null);
  if ("verdict" in opened) return opened;
  const answered = await runCryptography(opened, options);
  return checkSigned(opened, answered, (payload, issuedAt) =>
    checkClaims(opened, readClaims(payload, issuedAt), answered.lists, options),
  );
}

/** Verifies the signature, finds the envelope in the log of the proof, and opens the status lists. */
export async function runCryptography({ jws, key }: Opened, options: VerifyOptions): Promise<Cryptography> {
  const { verifySignature = verifyWithWebCrypto, proof, statusLists, keys } = options;
  try {
    const isGood = await verifySignature(key.jwk.kid, key.jwk, jws.signingInput, jws.signature);
    const logged = proof === undefined ? null : await findInLog(proof, jws);
    const lists = statusLists === undefined ? null : await openStatusLists(statusLists, keys);
    return { isGood: isGood === true, logged, lists };
  } catch {
    return { isGood: null, logged: null, lists: null };
  }
}

/**
 * Verifies an envelope with a synchronous RS256, so that a million envelopes need no million promises.
 * @returns the verdict; a `verifySignature` that throws makes it undecidable (`VERIFIER_FAILED`)
 * @throws TypeError as `verifyEnvelope` does, and if a proof or status lists are given, which need a promise
 */
export function verifyEnvelopeSync(input: string | JsonValue, options: SyncVerifyOptions): Verification {
  assertOptions(options);
  if ("proof" in options || "statusLists" in options)
    throw new TypeError("verifyEnvelopeSync takes no proof and no statusLists: use verifyEnvelope");
  const opened = openSigned(readForm(input), options, null);
  if ("verdict" in opened) return opened;
  const { jws, key } = opened;
  let isGood: boolean | null = null;
  try {
    isGood = options.verifySignature(key.jwk.kid, key.jwk, jws.signingInput, jws.signature) === true;
  } catch {
    // Null means that this machine's cryptography failed.
  }
  return checkSigned(opened, { isGood, logged: null, lists: null }, (payload, issuedAt) =>
    checkClaims(opened, readClaims(payload, issuedAt), null, options),
  );
}
