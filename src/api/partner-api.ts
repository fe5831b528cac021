/** The partner operations (contract C14): each from its call's parts to the question that is asked of the domain. */

import { TvsError } from "../domain/errors.ts";
import { operationOfScope, type Partner, type Scope } from "../domain/partners.ts";
import type { Identifier } from "../domain/teachers/identifier.ts";
import { canonicalRegNo } from "../domain/teachers/teachers.ts";
import type { Answer, Asked, IdempotentBody, Question } from "../domain/verification.ts";
import type { Handler, HttpCall, Reply } from "../http/http-call.ts";
import { check, readBody } from "../http/request-body.ts";
import type { Purpose } from "../partner/contract.ts";
import { type Attempt, type CallerParts, forCallers } from "./partner-caller.ts";
import {
  batchCheckSchema,
  type EligibilityCheck,
  eligibilityCheckSchema,
  ninLookupSchema,
  regNoSchema,
  rosterSchema,
  tIdSchema,
} from "./requests.ts";

/** What a partner's call asks, and the purposes that it states, which must be the partner's. */
type PartnerAsked = Asked & { readonly purposes: readonly Purpose[] };

/** Reads what a partner's call asks: from its path, or from its body, which is checked whole. */
type PartnerHandler = (call: HttpCall) => Promise<PartnerAsked>;

/** A call for partners: its scope says who may make it, and what the evidence log calls it. */
export type PartnerCall = { readonly scope: Scope; readonly handler: PartnerHandler };

/**
 * A partner operation with all that is decided before its own work. Nobody's body is read before we know who it is, and
 * nobody's twice.
 */
export function forPartners({ scope, handler }: PartnerCall, parts: CallerParts): Handler {
  return forCallers(scope, parts, (call) => {
    let asked: Promise<PartnerAsked> | undefined;
    return (attempt) => {
      const ask = () => {
        asked ??= handler(call);
        return asked;
      };
      return answer(attempt, { scope, service: parts.service, ask });
    };
  });
}

/**
 * The work of an attempt: body (413, 400), purpose (403), and then idempotency (422, 409) and day (429).
 * @returns null when what it was judged by has changed meanwhile
 */
async function answer(
  { call, quota, snapshot, authenticated }: Attempt,
  { scope, service, ask }: { scope: Scope; ask: () => Promise<PartnerAsked> } & Pick<CallerParts, "service">,
): Promise<Reply | null> {
  const { purposes, ...asked } = await ask();
  requirePurposes(authenticated.partner, purposes);
  const operation = operationOfScope[scope];
  const { requestId } = call.trace;
  const how = { snapshot, authenticated, operation, requestId, quota };
  const answer = await service.verification.answer({ ...how, ...asked });
  if (answer === null) return null;
  call.trace.replayed = answer.replayed;
  return replyOf(answer);
}

function replyOf({ headers, body, replayed }: Answer): Reply {
  const all: Record<string, string> = { ...headers, "Content-Type": "application/json" };
  if (replayed) all["Idempotent-Replayed"] = "true";
  return { status: 200, headers: all, body };
}

const lookupPurpose = "GENERAL_PUBLIC_VERIFICATION";

export const checkEligibility: PartnerHandler = async (call) => {
  const { value, raw } = await readBody(call, eligibilityCheckSchema);
  return askedIn([value], idempotencyOf(call, raw));
};

export const lookUpByRegNo: PartnerHandler = async (call) => {
  const regNo = check(regNoSchema, call.pathPart("regNo"), "regNo");
  return lookUp({ regNo: canonicalRegNo(regNo) ?? regNo });
};

export const lookUpByTId: PartnerHandler = async (call) => {
  const text = call.pathPart("tId");
  const tId = check(tIdSchema, /^\d+$/.test(text) ? Number(text) : Number.NaN, "tId");
  return lookUp({ tId });
};

export const lookUpByNin: PartnerHandler = async (call) => {
  const { value } = await readBody(call, ninLookupSchema);
  return lookUp(value);
};

export const checkBatch: PartnerHandler = async (call) => {
  const { value, raw } = await readBody(call, batchCheckSchema);
  return askedIn(value.items, idempotencyOf(call, raw));
};

export const stateRoster: PartnerHandler = async (call) => {
  const { value, raw } = await readBody(call, rosterSchema);
  const { purpose, list, teachers } = value;
  const listed = teachers.map(({ name = null, ...identifier }) => {
    return { identifier: identifierOf(identifier), name };
  });
  return {
    questions: [],
    list: { purpose, list: { name: list.name, reference: list.reference ?? null }, teachers: listed },
    purposes: [purpose],
    idempotency: idempotencyOf(call, raw),
  };
};

function lookUp(identifier: Identifier): PartnerAsked {
  return { questions: [{ identifier, purpose: lookupPurpose }], purposes: [] };
}

function askedIn(checks: readonly EligibilityCheck[], idempotency: IdempotentBody | undefined): PartnerAsked {
  return { questions: checks.map(questionOf), purposes: checks.map(({ purpose }) => purpose), idempotency };
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
function requirePurposes({ purposes }: Partner, stated: readonly Purpose[]): void {
  const refused = stated.find((purpose) => !purposes.includes(purpose));
  if (refused !== undefined)
    throw new TvsError("PURPOSE_NOT_ALLOWED", `the purpose ${refused} is not allowed for this partner`);
}

function idempotencyOf(call: HttpCall, body: unknown): IdempotentBody | undefined {
  const key = call.header("idempotency-key");
  return key === undefined ? undefined : { key, body };
}
