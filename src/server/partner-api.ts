import { type Context, Hono } from "hono";
import type { Endpoint } from "../domain/attestations.ts";
import { TvsError } from "../domain/errors.ts";
import type { Scope } from "../domain/partners.ts";
import { canonicalRegNo } from "../domain/teachers.ts";
import type { Answer, Caller, IdempotentBody, Identifier, Question } from "../domain/verification.ts";
import { check, readBody } from "./body.ts";
import type { AppEnv } from "./context.ts";
import { partnerCall } from "./middleware/partner-call.ts";
import {
  batchCheckSchema,
  type EligibilityCheck,
  eligibilityCheckSchema,
  idempotencyKeySchema,
  ninLookupSchema,
  regNoSchema,
  tIdSchema,
} from "./schemas.ts";
import type { Service } from "./service.ts";

/** A look-up states no purpose; it is judged by this one. */
const lookupPurpose = "GENERAL_PUBLIC_VERIFICATION";

type SourceOf = Parameters<typeof partnerCall>[1];

/** The authenticated partner endpoints (contract, Partner endpoints). */
export function partnerApi(service: Service, sourceOf: SourceOf): Hono<AppEnv> {
  const { verification } = service;
  const call = (scope: Scope) => partnerCall(service, sourceOf, scope);

  function lookUp(c: Context<AppEnv>, endpoint: Endpoint, identifier: Identifier): Promise<Answer> {
    return verification.answer(callerOf(c), endpoint, { question: { identifier, purpose: lookupPurpose } });
  }

  return new Hono<AppEnv>()
    .post("/eligibility-check", ...call("eligibility"), async (c) => {
      const { value, raw } = await readBody(c, eligibilityCheckSchema);
      const question = questionOf(value);
      requirePurposes(c, [question]);
      return send(
        c,
        await verification.answer(callerOf(c), "eligibility-check", {
          question,
          idempotency: idempotencyOf(c, raw),
        }),
      );
    })
    .get("/lookup/by-reg-no/:regNo{.+}", ...call("lookup_by_reg_no"), async (c) => {
      requireDecodable(c.req.url);
      const regNo = check(regNoSchema, c.req.param("regNo"), "regNo");
      return send(c, await lookUp(c, "lookup-by-reg-no", { regNo: canonicalRegNo(regNo) ?? regNo }));
    })
    .get("/lookup/by-tid/:tId", ...call("lookup_by_tid"), async (c) => {
      const text = c.req.param("tId");
      const tId = check(tIdSchema, /^\d+$/.test(text) ? Number(text) : Number.NaN, "tId");
      return send(c, await lookUp(c, "lookup-by-tid", { tId }));
    })
    .post("/lookup/by-nin", ...call("lookup_by_nin"), async (c) => {
      const { value } = await readBody(c, ninLookupSchema);
      return send(c, await lookUp(c, "lookup-by-nin", value));
    })
    .post("/batch", ...call("batch"), async (c) => {
      const { value, raw } = await readBody(c, batchCheckSchema);
      const questions = value.items.map(questionOf);
      requirePurposes(c, questions);
      return send(
        c,
        await verification.answerBatch(callerOf(c), { questions, idempotency: idempotencyOf(c, raw) }),
      );
    });
}

/**
 * What cannot be decoded reaches the handler as it is, and would be attested as a number that nobody has.
 * @throws TvsError BODY_INVALID
 */
function requireDecodable(url: string): void {
  try {
    decodeURIComponent(new URL(url).pathname);
  } catch {
    throw new TvsError("BODY_INVALID", "regNo must be percent-encoded UTF-8");
  }
}

function callerOf(c: Context<AppEnv>): Caller {
  return { ...c.get("caller"), requestId: c.get("requestId"), quota: c.get("quotaCall") };
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
function requirePurposes(c: Context<AppEnv>, questions: readonly Question[]): void {
  const { purposes } = c.get("caller").partner;
  const refused = questions.find(({ purpose }) => !purposes.includes(purpose));
  if (refused !== undefined) {
    throw new TvsError(
      "PURPOSE_NOT_ALLOWED",
      `the purpose ${refused.purpose} is not allowed for this partner`,
    );
  }
}

function idempotencyOf(c: Context<AppEnv>, body: unknown): IdempotentBody | undefined {
  const key = c.req.header("Idempotency-Key");
  if (key === undefined) return undefined;
  return { key: check(idempotencyKeySchema, key, "Idempotency-Key"), body };
}

function send(c: Context<AppEnv>, answer: Answer): Response {
  for (const [name, value] of Object.entries(answer.headers)) c.header(name, value);
  if (answer.replayed) c.header("Idempotent-Replayed", "true");
  c.header("Content-Type", "application/json");
  return c.body(answer.body);
}
