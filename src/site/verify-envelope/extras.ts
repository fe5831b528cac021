/**
 * The second script of the page: what few need, loaded when somebody does. Attestations to print, with their codes, and
 * statements over lists.
 */

import type { LogProof } from "../../partner/log-proof.ts";
import { Refusal } from "../../partner/reasons.ts";
import type { JsonValue } from "../../partner/strict-json.ts";
import type { StatementVerification } from "../../partner/verification.ts";
import type { VerifyOptions } from "../../partner/verify-envelope.ts";
import { verifyStatement } from "../../partner/verify-statement.ts";

export { certificateOf } from "./certificate.ts";
export { sheetOf, statementBox, statementPart, statementTone } from "./statement.ts";

/** A refusal is told by its class, and the first script has one of its own. */
function ownProof(proof: LogProof): LogProof {
  const { refusal } = proof;
  return refusal === null ? proof : { refusal: new Refusal(refusal.reason, refusal.detail) };
}

/** Verifies a statement by what the first script has opened. */
export function judgeStatement(
  value: JsonValue,
  { proof, ...options }: VerifyOptions,
): Promise<StatementVerification> {
  return verifyStatement(value, proof === undefined ? options : { ...options, proof: ownProof(proof) });
}
