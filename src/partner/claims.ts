/** Reads the claims of an envelope's JWS (RFC 7519 section 4.1; contract, SignedEnvelope). */

import type { EligibilityResult } from "./contract.ts";
import { formatSeconds } from "./date-time.ts";
import { asEligibilityResult, findResultProblem } from "./eligibility-result.ts";
import { type Refusal, refuse } from "./reasons.ts";
import type { JsonObject, JsonValue } from "./strict-json.ts";

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
function readLimit(value: JsonValue | undefined): number | null | undefined {
  if (value === undefined) return null;
  return typeof value === "number" ? value : undefined;
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
  return {
    issuer: String(payload.iss),
    audience: String(payload.aud),
    verificationId: String(payload.sub),
    issuedAtSeconds,
    result: asEligibilityResult(payload.result),
    expiresSeconds,
    notBeforeSeconds,
  };
}
