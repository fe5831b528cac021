/**
 * The partner operations (contract C14), each from its call's parts to the question asked of the
 * domain.
 */
import { TvsError } from "../domain/errors.ts";
import type { Partner } from "../domain/partners.ts";
import { canonicalRegNo } from "../domain/teachers.ts";
import type { Answer, IdempotentBody, Identifier, Question } from "../domain/verification.ts";
import type { HttpCall } from "./http/http-call.ts";
import type { PartnerCall, PartnerHandler } from "./partner-call.ts";
import {
  batchCheckSchema,
  check,
  type EligibilityCheck,
  eligibilityCheckSchema,
  idempotencyKeySchema,
  ninLookupSchema,
  readBody,
  regNoSchema,
  tIdSchema,
} from "./requests.ts";

/** A look-up states no purpose; it is judged by this one. */
const lookupPurpose = "GENERAL_PUBLIC_VERIFICATION";

export const checkEligibility: PartnerHandler = async (call, { caller, operation, verification }) => {
  const { value, raw } = await readBody(call, eligibilityCheckSchema);
  const question = questionOf(value);
  requirePurposes(caller.partner, [question]);
  return verification.answer(caller, operation, { question, idempotency: idempotencyOf(call, raw) });
};

export const lookUpByRegNo: PartnerHandler = async (call, asked) => {
  const regNo = check(regNoSchema, call.pathPart("regNo"), "regNo");
  return lookUp(asked, { regNo: canonicalRegNo(regNo) ?? regNo });
};

export const lookUpByTId: PartnerHandler = async (call, asked) => {
  const text = call.pathPart("tId");
  const tId = check(tIdSchema, /^\d+$/.test(text) ? Number(text) : Number.NaN, "tId");
  return lookUp(asked, { tId });
};

export const lookUpByNin: PartnerHandler = async (call, asked) => {
  const { value } = await readBody(call, ninLookupSchema);
  return lookUp(asked, value);
};

export const checkBatch: PartnerHandler = async (call, { caller, verification }) => {
  const { value, raw } = await readBody(call, batchCheckSchema);
  const questions = value.items.map(questionOf);
  requirePurposes(caller.partner, questions);
  return verification.answerBatch(caller, { questions, idempotency: idempotencyOf(call, raw) });
};

function lookUp({ caller, operation, verification }: PartnerCall, identifier: Identifier): Promise<Answer> {
  return verification.answer(caller, operation, { question: { identifier, purpose: lookupPurpose } });
}

function questionOf({ identifier, purpose, context }: EligibilityCheck): Question {
  return { identifier: identifierOf(identifier), purpose, context };
}

function identifierOf({ regNo, tId, nin }: EligibilityCheck["identifier"]): Identifier {
  if (regNo !== undefined) return { regNo: canonicalRegNo(regNo) ?? regNo };
  if (tId !== undefined) return { tId };
  return { nin: nin ?? "" };
}

/** @throws TvsError PURPOSE_NOT_ALLOWED; one item of a batch refuses it whole */
function requirePurposes({ purposes }: Partner, questions: readonly Question[]): void {
  const refused = questions.find(({ purpose }) => !purposes.includes(purpose));
  if (refused !== undefined) {
    throw new TvsError(
      "PURPOSE_NOT_ALLOWED",
      `the purpose ${refused.purpose} is not allowed for this partner`,
    );
  }
}

function idempotencyOf(call: HttpCall, body: unknown): IdempotentBody | undefined {
  const key = call.header("idempotency-key");
  if (key === undefined) return undefined;
  return { key: check(idempotencyKeySchema, key, "Idempotency-Key"), body };
}
