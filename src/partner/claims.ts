/** Reads the claims of an envelope's JWS (RFC 7519 section 4.1; contract C9). */

import { certificateStatuses, type EligibilityResult, licenseStatuses, sources } from "./contract.ts";
import { formatSeconds } from "./date-time.ts";
import { addressOfIssuer } from "./issuer-address.ts";
import { Refusal, refuse } from "./reasons.ts";
import type { StatusClaim } from "./status-list.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./strict-json.ts";

/** Claims of the right types; whether they are the expected ones is another check. */
export type Claims = {
  readonly issuer: string;
  readonly audience: string;
  readonly verificationId: string;
  /** The time of signing, `iat`. */
  readonly issuedAtSeconds: number;
  readonly result: EligibilityResult;
  /** `exp` and `nbf`: the service sets neither, but a signed limit is honoured. */
  readonly expiresSeconds: number | null;
  readonly notBeforeSeconds: number | null;
  /** The place in a status list; null for an envelope that names none. */
  readonly status: StatusClaim | null;
};

const requiredClaims = ["iss", "aud", "sub", "iat", "result"];

/**
 * The time of signing, which decides about the key before anything else is read.
 *
 * @param payload the signed claims
 * @returns whole seconds since the Unix epoch
 */
export function readIssuedAt(payload: JsonObject): number | Refusal {
  const { iat } = payload;
  if (iat === undefined) return refuse("CLAIM_MISSING", "The claim iat is missing.");
  const isTime =
    typeof iat === "number" && Number.isSafeInteger(iat) && iat >= 0 && formatSeconds(iat) !== null;
  return isTime ? iat : refuse("CLAIM_TYPE", "The claim iat is not a time in whole seconds.");
}

/**
 * Who signed it, by its own word. Nothing is proved yet.
 *
 * @param payload claims of a signature that nobody has verified
 * @returns an address that a reader can be told, in plain letters; null for anything else
 */
export function readClaimedIssuer(payload: JsonObject | Refusal): string | null {
  if (payload instanceof Refusal || typeof payload.iss !== "string") return null;
  const { iss } = payload;
  const isPlain = /^[\x21-\x7e]{1,200}$/.test(iss);
  return isPlain && addressOfIssuer(iss) !== null ? iss : null;
}

function findTypeProblem(payload: JsonObject): Refusal | null {
  const missing = requiredClaims.find((claim) => !Object.hasOwn(payload, claim));
  if (missing !== undefined) return refuse("CLAIM_MISSING", `The claim ${missing} is missing.`);
  if (Array.isArray(payload.aud)) return refuse("AUDIENCE_NOT_SINGLE");
  const wrong = ["iss", "aud", "sub"].find(
    (claim) => typeof payload[claim] !== "string" || payload[claim] === "",
  );
  if (wrong !== undefined) return refuse("CLAIM_TYPE", `The claim ${wrong} is not a text.`);
  const problem = findResultProblem(payload.result);
  return problem === null ? null : refuse("RESULT_MALFORMED", problem);
}

/** Null when absent; undefined when present and no number. */
export function readLimit(value: JsonValue | undefined): number | null | undefined {
  if (value === undefined) return null;
  return typeof value === "number" ? value : undefined;
}

/** Null when absent; undefined when it names no place in a list. */
function readStatus({ status }: JsonObject): StatusClaim | null | undefined {
  if (status === undefined) return null;
  const list = isJsonObject(status) ? status.status_list : undefined;
  const { idx, uri } = isJsonObject(list) ? list : {};
  const isPlace = Number.isSafeInteger(idx) && Number(idx) >= 0 && typeof uri === "string" && uri !== "";
  return isPlace ? { uri, idx: Number(idx) } : undefined;
}

/**
 * Reads all claims.
 *
 * @param payload the signed claims
 * @param issuedAtSeconds what `readIssuedAt` gave
 */
export function readClaims(payload: JsonObject, issuedAtSeconds: number): Claims | Refusal {
  const problem = findTypeProblem(payload);
  if (problem !== null) return problem;
  const [expiresSeconds, notBeforeSeconds] = [readLimit(payload.exp), readLimit(payload.nbf)];
  if (expiresSeconds === undefined || notBeforeSeconds === undefined) {
    return refuse("CLAIM_TYPE", "The claim exp or nbf is not a number.");
  }
  const status = readStatus(payload);
  if (status === undefined) return refuse("CLAIM_TYPE", "The claim status names no place in a status list.");
  return {
    issuer: String(payload.iss),
    audience: String(payload.aud),
    verificationId: String(payload.sub),
    issuedAtSeconds,
    result: payload.result as unknown as EligibilityResult,
    expiresSeconds,
    notBeforeSeconds,
    status,
  };
}

/** What a member of the `result` claim must be. */
type Rule = (value: JsonValue | undefined) => boolean;

export function isText(value: JsonValue | undefined): boolean {
  return typeof value === "string";
}

export function isFlag(value: JsonValue | undefined): boolean {
  return typeof value === "boolean";
}

export function isWhole(value: JsonValue | undefined): boolean {
  return Number.isSafeInteger(value);
}

export function isTextList(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.every(isText);
}

/** The first member that breaks its rule. */
function findBroken(rules: Readonly<Record<string, Rule>>, value: JsonObject): string | undefined {
  return Object.keys(rules).find((member) => rules[member]?.(value[member]) !== true);
}

export function oneOf(words: readonly string[]): Rule {
  return (value) => typeof value === "string" && words.includes(value);
}

/** A member that a later version of the service leaves out reads like null. */
export function orNull(rule: Rule): Rule {
  return (value) => value === null || value === undefined || rule(value);
}

export function shape(rules: Record<string, Rule>): Rule {
  return (value) => isJsonObject(value) && findBroken(rules, value) === undefined;
}

const resultRules: Record<string, Rule> = {
  found: isFlag,
  source: orNull(oneOf(sources)),
  status: oneOf(licenseStatuses),
  eligible: isFlag,
  reasons: isTextList,
  teacher: orNull(
    shape({ name: isText, tId: orNull(isWhole), state: orNull(isText), category: orNull(isText) }),
  ),
  license: orNull(
    shape({
      status: oneOf(licenseStatuses),
      issueDate: orNull(isText),
      expiryDate: orNull(isText),
      daysRemaining: orNull(isWhole),
    }),
  ),
  certificate: orNull(
    shape({ status: oneOf(certificateStatuses), regNo: orNull(isText), issueDate: orNull(isText) }),
  ),
  profile: orNull(isJsonObject),
};

/** Contract C10: "when false, the other fields are null". */
const nullWhenNotFound = ["source", "teacher", "license", "certificate", "profile"];

/** `found` and `eligible` must agree with `status`, or a reader of one member is misled. */
function findContradiction(result: JsonObject): string | null {
  if (result.found === false) {
    const isEmpty = nullWhenNotFound.every((member) => (result[member] ?? null) === null);
    if (!isEmpty) return "Nobody was found, yet the signed result describes somebody.";
    if (result.status !== "NOT_FOUND") return "Nobody was found, yet the signed status is not NOT_FOUND.";
  }
  const isEntitled = result.found === true && result.status === "VALID";
  return result.eligible === true && !isEntitled
    ? "The signed result is eligible without a VALID licence."
    : null;
}

/**
 * What is wrong with a signed result.
 *
 * @param value the `result` claim
 * @returns one sentence, or null when it is a well-formed EligibilityResult (unknown members are ignored)
 */
export function findResultProblem(value: JsonValue | undefined): string | null {
  if (!isJsonObject(value)) return "The signed result is not an object.";
  const broken = findBroken(resultRules, value);
  if (broken !== undefined) return `The signed result's member ${broken} is missing or malformed.`;
  return findContradiction(value);
}
