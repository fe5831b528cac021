/** Verifies one signed envelope offline (contract C9 and contract C18). */

import { computeAnswerAge } from "./answer-age.ts";
import {
  type Claims,
  findEnvelopeDifference,
  readClaimedIssuer,
  readEnvelopeClaims,
  readIssuedAt,
  readUnsignedMembers,
} from "./claims.ts";
import { statementJwsType } from "./contract.ts";
import { explainByDamage, findMisreadUtf16, findTextDamage, removeByteOrderMark } from "./file-text.ts";
import { refuseNonEnvelope } from "./input.ts";
import type { CompactJws, JwsHeader } from "./jws.ts";
import { isStatement, readJwsHeader, readJwsPart, splitCompactJws } from "./jws.ts";
import { checkKeyCompromise, checkKeyWindow, keyHistoryJwsType } from "./key-history.ts";
import type { KeyInSet, KeySet } from "./key-set.ts";
import { type LoggedEntry, type LogProof, verifyLogEntry } from "./log-proof.ts";
import { Refusal, refuse } from "./reasons.ts";
import { verifyRsaSignature } from "./rsa-key.ts";
import type { StatusList } from "./status-list.ts";
import { defaultMaxListAgeSeconds, findStatus, statusListJwsType, verifyStatusLists } from "./status-list.ts";
import { isJsonObject, type JsonObject, type JsonValue, readStrictJson } from "./strict-json.ts";
import type { CheckList, CheckOutcome, ClockOptions, SharedClaims, Verification } from "./verification.ts";
import { passedCheck, readClockOptions, runVerificationChecks, skippedCheck } from "./verification.ts";

export type VerifyOptions = ClockOptions & {
  /** The keys to verify with, a result of `createKeySet`. */
  readonly keys: KeySet;
  /** The service's issuer, from the operator; any other issuer is refused. */
  readonly issuer: string;
  /** The caller's partner id; an envelope for another partner is refused. */
  readonly audience: string;
  /** The result of `openLogProof`; an envelope that is not the proved log entry is refused. */
  readonly proof?: LogProof;
  /** The service's status lists (`application/statuslist+jwt`), by which a withdrawn answer is refused. */
  readonly statusLists?: readonly string[];
  /** The greatest age of a status list in seconds; 7 days by default. No list is accepted after its own `exp`. */
  readonly maxListAgeSeconds?: number;
};

/** The signed content of a JWS, whose signature and key passed all checks. */
type Signed = {
  readonly payload: JsonObject;
  /** The claim `iat`, in seconds. */
  readonly issuedAt: number;
  /** The key id in the header. */
  readonly kid: string;
  /** Each given status list, or its refusal; null if the caller gave no status lists. */
  readonly lists: readonly (StatusList | Refusal)[] | null;
};

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

/**
 * Reads the text of an envelope or statement as JSON if it begins with a brace. Any other text, such as a bare JWS, and a
 * value of `readStrictJson` are returned as they are.
 */
export function readJsonOrJws(input: string | JsonValue): JsonValue | Refusal {
  if (typeof input !== "string") return input;
  const text = removeByteOrderMark(input);
  const misread = findMisreadUtf16(text);
  if (misread !== null || !/^[\t\n\r ]*\{/.test(text)) return misread ?? text;
  const reading = readStrictJson(text);
  return reading instanceof Refusal ? explainByDamage(reading, text) : reading;
}

/** Splits a compact JWS. Damage by mail or an editor, even in the header alone, is refused with `TEXT_DAMAGED`. */
export function splitReceivedJws(text: string): CompactJws | Refusal {
  const jws = splitCompactJws(text);
  if (jws instanceof Refusal) return explainByDamage(jws, text);
  return (/[^\w-]/.test(jws.protectedHeader) ? findTextDamage(text) : null) ?? jws;
}

/** Splits an envelope, or a bare JWS, into the JWS and the unsigned members (`outer`), which are null for a bare JWS. */
function readForm(input: string | JsonValue) {
  const given = readJsonOrJws(input);
  if (given instanceof Refusal) return given;
  if (typeof given === "string") {
    const jws = splitReceivedJws(given);
    return jws instanceof Refusal ? (refuseNonEnvelope(given) ?? jws) : { jws, outer: null };
  }
  const outer = isJsonObject(given)
    ? readUnsignedMembers(given)
    : refuse("ENVELOPE_MALFORMED", "This is neither an envelope nor a signature.");
  if (outer instanceof Refusal)
    return isStatement(given) ? refuse("IS_A_STATEMENT") : (refuseNonEnvelope(given) ?? outer);
  const jws = splitReceivedJws(outer.signature);
  return jws instanceof Refusal ? jws : { jws, outer };
}

/**
 * Reads a header and checks its `typ`. The issuer signs envelopes, statements, key histories and status lists with the same
 * keys, so a verifier must not accept one as another.
 * @param own the `typ` to require; null for envelopes, which need no `typ`, and may have any `typ` that no other token has
 */
export function readHeaderOfType(own: string | null, protectedHeader: string): JwsHeader | Refusal {
  const header = readJwsHeader(protectedHeader);
  if (header instanceof Refusal || header.typ === own) return header;
  if (header.typ === statementJwsType) return refuse("IS_A_STATEMENT");
  if (own !== null)
    return refuse(header.typ === null || header.typ === "JWT" ? "IS_AN_ENVELOPE" : "HEADER_TYP");
  return [keyHistoryJwsType, statusListJwsType].includes(header.typ ?? "") ? refuse("HEADER_TYP") : header;
}

/** Finds a header's key. If the key is unknown, records as `claimedIssuer` the unexpected issuer of the payload. */
function findKey(list: CheckList, kid: string, payload: Uint8Array, options: VerifyOptions) {
  const key = options.keys.keys.get(kid);
  if (key !== undefined) return key;
  const claimed = readClaimedIssuer(readJwsPart(payload, "payload"));
  if (claimed === null || claimed === options.issuer) return refuse("KID_UNKNOWN");
  list.found.claimedIssuer = claimed;
  return outcomes.foreign;
}

/** Verifies the signature, the log proof and the status lists. */
async function runCryptography(key: KeyInSet, jws: CompactJws, { proof, statusLists, keys }: VerifyOptions) {
  try {
    if (!(await verifyRsaSignature(key, jws))) return refuse("SIGNATURE_INVALID");
    const logged = proof === undefined ? null : await verifyLogEntry(proof, jws);
    const lists = statusLists === undefined ? null : await verifyStatusLists(statusLists, keys);
    return { logged, lists };
  } catch {
    return refuse("VERIFIER_FAILED");
  }
}

/** Checks that the key was not compromised, and was in use, at `issuedAt`, which is the claim `iat`. */
function checkKey(list: CheckList, { window }: KeyInSet, issuedAt: number, logged: LoggedEntry | null): void {
  const checked = checkKeyCompromise(window, issuedAt, logged?.checkpoint.seconds ?? null);
  const { outcome, warnings, precedesCompromise } = list.read("compromise", checked);
  list.add("compromise", outcome);
  list.found.warnings = warnings;
  if (logged !== null) list.found.log = { ...logged.evidence, precedesCompromise };
  list.add("window", checkKeyWindow(window, issuedAt));
}

/**
 * Runs the checks from `header` to `window`. The key is checked before the claims: a key's thief can sign any claim.
 * @param own the `typ` to require; null for envelopes
 */
export async function checkSignatureAndKey(
  list: CheckList,
  jws: CompactJws,
  options: VerifyOptions,
  own: string | null,
): Promise<Signed> {
  const { keys } = options;
  const { kid } = list.read("header", readHeaderOfType(own, jws.protectedHeader), outcomes.header);
  list.found.kid = kid;
  list.add("keySet", keys.refusal ?? keys.checked);
  list.found.trust = keys.trust;
  const key = list.read("key", findKey(list, kid, jws.payload, options), outcomes.key);
  const answered = await runCryptography(key, jws, options);
  const { logged, lists } = list.read("signature", answered, outcomes.signature);
  const finding = list.read("log", logged);
  list.add("log", finding?.outcome ?? outcomes.noProof);
  list.found.log = finding?.evidence ?? null;
  const payload = list.read("claims", readJwsPart(jws.payload, "payload"));
  const issuedAt = list.read("claims", readIssuedAt(payload));
  checkKey(list, key, issuedAt, finding);
  return { payload, issuedAt, kid, lists };
}

function checkTime(claims: SharedClaims, options: VerifyOptions): CheckOutcome | Refusal {
  const { nowSeconds, toleranceSeconds } = readClockOptions(options);
  const { issuedAtSeconds, expiresSeconds, notBeforeSeconds } = claims;
  const latestSeconds = nowSeconds + toleranceSeconds;
  if (issuedAtSeconds > latestSeconds) return refuse("ISSUED_IN_FUTURE");
  if (expiresSeconds !== null && expiresSeconds <= nowSeconds - toleranceSeconds)
    return refuse("TOKEN_EXPIRED");
  const isEarly = notBeforeSeconds !== null && notBeforeSeconds > latestSeconds;
  return isEarly ? refuse("TOKEN_NOT_YET_VALID") : outcomes.time;
}

/** Records the claims, and compares issuer, audience and times with the caller's options. */
export function checkExpectedClaims(list: CheckList, claims: SharedClaims, options: VerifyOptions): void {
  list.found.claims = claims;
  list.add("claims", outcomes.claims);
  list.add("issuer", claims.issuer === options.issuer ? outcomes.issuer : refuse("ISSUER_MISMATCH"));
  const isAudience = claims.audience === options.audience;
  list.add("audience", isAudience ? outcomes.audience : refuse("AUDIENCE_MISMATCH"));
  list.add("time", checkTime(claims, options));
}

/** Looks up the envelope in the status lists. A withdrawn envelope is refused only if it says eligible or VALID. */
function checkStatus(list: CheckList, claims: Claims, lists: Signed["lists"], options: VerifyOptions) {
  const { issuer, maxListAgeSeconds: maxAgeSeconds = defaultMaxListAgeSeconds } = options;
  const { eligible, license } = claims.result;
  const isYes = eligible || license?.status === "VALID";
  if (lists === null) return outcomes.noList;
  if (claims.status === null) return outcomes.noPlace;
  const query = { issuer, signedSeconds: claims.issuedAtSeconds, isYes, maxAgeSeconds };
  const found = findStatus(claims.status, lists, { ...query, ...readClockOptions(options) });
  if (found instanceof Refusal) return found;
  list.found.statusList = found;
  const by = `the status list of ${found.signedAt}`;
  if (!found.withdrawn) return passedCheck(`Not withdrawn, by ${by}.`);
  return isYes
    ? refuse("WITHDRAWN_SINCE", `It is withdrawn, by ${by}.`)
    : passedCheck(`The answer was no already; ${by} says withdrawn.`);
}

/** Throws TypeError if an option is wrong: the caller's mistake must not look like a verdict on the envelope. */
export function assertVerifyOptions(options: VerifyOptions): void {
  const { issuer, audience, maxListAgeSeconds = 0, statusLists = [] } = options;
  if (typeof issuer !== "string" || issuer === "") throw new TypeError("verifyEnvelope needs the issuer");
  if (typeof audience !== "string" || audience === "")
    throw new TypeError("verifyEnvelope needs the audience");
  readClockOptions(options);
  if (!(maxListAgeSeconds >= 0)) throw new TypeError("maxListAgeSeconds is not a duration");
  if (!Array.isArray(statusLists) || statusLists.some((list) => typeof list !== "string"))
    throw new TypeError("statusLists is not an array of texts");
}

/**
 * Verifies one envelope (contract C9; RFC 7515, RS256 alone).
 * @param input an envelope as JSON text, a bare compact JWS, or a value of `readStrictJson` (`JSON.parse` drops duplicate
 * members, which then cannot be refused)
 * @returns the verdict with every check; a bad envelope never throws
 * @throws TypeError if `issuer` or `audience` is missing, or if `now`, a duration or `statusLists` is invalid
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
  assertVerifyOptions(options);
  return runVerificationChecks(async (list) => {
    const { jws, outer } = list.read("form", readForm(input));
    list.add("form", outer === null ? outcomes.bare : outcomes.envelope);
    const { payload, issuedAt, kid, lists } = await checkSignatureAndKey(list, jws, options, null);
    const claims = list.read("claims", readEnvelopeClaims(payload, issuedAt));
    checkExpectedClaims(list, claims, options);
    const difference = outer === null ? outcomes.noOuter : findEnvelopeDifference(outer, claims, kid);
    list.add("outer", difference ?? outcomes.outer);
    list.add("status", checkStatus(list, claims, lists, options));
    list.found.age = computeAnswerAge(claims, readClockOptions(options).nowSeconds);
  });
}
