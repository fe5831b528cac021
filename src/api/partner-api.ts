/** The routes that answer partners with envelopes (contract C14). A route reads a call for `service.verification`. */

import { Hono } from "hono";
import { TvsError } from "../domain/errors.ts";
import { operationOfScope, type Partner, type Scope } from "../domain/partners.ts";
import type { Identifier } from "../domain/teachers/identifier.ts";
import { canonicalizeRegNo } from "../domain/teachers/teachers.ts";
import type { IdempotencyInput, TeacherQuestion, VerificationRequest } from "../domain/verification.ts";
import { type HonoEnv, readPathParameter } from "../http/context.ts";
import { readJsonBody, validateBySchema } from "../http/request-body.ts";
import type { Purpose } from "../partner/contract.ts";
import { type AuthorizedCall, createPartnerHandler } from "./partner-caller.ts";
import type { ApiHandler, HonoContext } from "./public-api.ts";
import {
  batchCheckSchema,
  type EligibilityCheck,
  eligibilityCheckSchema,
  ninLookupSchema,
  regNoSchema,
  rosterSchema,
  tIdSchema,
} from "./requests.ts";

type ParsedCall = VerificationRequest & { readonly purposes: readonly Purpose[] };

type CallReader = (c: HonoContext) => Promise<ParsedCall>;

/** Makes the handler of the operation that a scope permits. The body is read after the caller is authenticated. */
function createScopeHandler(scope: Scope, read: CallReader): ApiHandler {
  return createPartnerHandler(scope, (attempt) => answer(attempt, scope, read));
}

/**
 * Runs an attempt in this order: body (413, 400), purpose (403), idempotency (422, 409), day quota (429), work.
 * @returns null if the configuration has changed since the snapshot; the caller retries
 */
async function answer({ c, quota, snapshot, authenticated }: AuthorizedCall, scope: Scope, read: CallReader) {
  const { purposes, ...asked } = await read(c);
  requirePurposes(authenticated.partner, purposes);
  const operation = operationOfScope[scope];
  const trace = c.get("trace");
  const how = { snapshot, authenticated, operation, requestId: trace.requestId, quota };
  const answer = await c.get("parts").service.verification.answer({ ...how, ...asked });
  if (answer === null) return null;
  trace.replayed = answer.replayed;
  const headers = { ...answer.headers, "Content-Type": "application/json" };
  return new Response(answer.body, {
    headers: answer.replayed ? { ...headers, "Idempotent-Replayed": "true" } : headers,
  });
}

const lookupPurpose = "GENERAL_PUBLIC_VERIFICATION";

const readCheck: CallReader = async (c) => {
  const { value, raw } = await readJsonBody(c, eligibilityCheckSchema);
  return callOf([value], idempotencyOf(c, raw));
};

const readRegNoLookup: CallReader = async (c) => {
  const regNo = validateBySchema(regNoSchema, readPathParameter(c, "regNo"), "regNo");
  return lookupCallOf({ regNo: canonicalizeRegNo(regNo) ?? regNo });
};

const readTIdLookup: CallReader = async (c) => {
  const text = readPathParameter(c, "tId");
  const tId = validateBySchema(tIdSchema, /^\d+$/.test(text) ? Number(text) : Number.NaN, "tId");
  return lookupCallOf({ tId });
};

const readNinLookup: CallReader = async (c) => {
  const { value } = await readJsonBody(c, ninLookupSchema);
  return lookupCallOf(value);
};

const readBatch: CallReader = async (c) => {
  const { value, raw } = await readJsonBody(c, batchCheckSchema);
  return callOf(value.items, idempotencyOf(c, raw));
};

const readRoster: CallReader = async (c) => {
  const { value, raw } = await readJsonBody(c, rosterSchema);
  const { purpose, list, teachers } = value;
  const listed = teachers.map(({ name = null, ...identifier }) => {
    return { identifier: identifierOf(identifier), name };
  });
  return {
    questions: [],
    list: { purpose, list: { name: list.name, reference: list.reference ?? null }, teachers: listed },
    purposes: [purpose],
    idempotency: idempotencyOf(c, raw),
  };
};

function lookupCallOf(identifier: Identifier): ParsedCall {
  return { questions: [{ identifier, purpose: lookupPurpose }], purposes: [] };
}

function callOf(checks: readonly EligibilityCheck[], idempotency: IdempotencyInput | undefined): ParsedCall {
  return { questions: checks.map(questionOf), purposes: checks.map(({ purpose }) => purpose), idempotency };
}

function questionOf({ identifier, purpose, context }: EligibilityCheck): TeacherQuestion {
  return { identifier: identifierOf(identifier), purpose, context };
}

function identifierOf({ regNo, tId, nin }: EligibilityCheck["identifier"]): Identifier {
  if (regNo !== undefined) return { regNo: canonicalizeRegNo(regNo) ?? regNo };
  if (tId !== undefined) return { tId };
  return { nin: nin ?? "" };
}

/** Refuses the whole call if one of its purposes is not allowed. @throws TvsError PURPOSE_NOT_ALLOWED */
function requirePurposes({ purposes }: Partner, stated: readonly Purpose[]): void {
  const refused = stated.find((purpose) => !purposes.includes(purpose));
  if (refused !== undefined)
    throw new TvsError("PURPOSE_NOT_ALLOWED", `the purpose ${refused} is not allowed for this partner`);
}

function idempotencyOf(c: HonoContext, body: unknown): IdempotencyInput | undefined {
  const key = c.req.header("Idempotency-Key");
  return key === undefined ? undefined : { key, body };
}

export const partnerApi = new Hono<HonoEnv>()
  .post("/eligibility-check", createScopeHandler("eligibility", readCheck))
  .get("/lookup/by-reg-no/:regNo{.+}", createScopeHandler("lookup_by_reg_no", readRegNoLookup))
  .get("/lookup/by-tid/:tId", createScopeHandler("lookup_by_tid", readTIdLookup))
  .post("/lookup/by-nin", createScopeHandler("lookup_by_nin", readNinLookup))
  .post("/batch", createScopeHandler("batch", readBatch))
  .post("/rosters", createScopeHandler("roster", readRoster));
