import type { AttestedOperation as AttestedEndpoint } from "../domain/attestations.ts";
import { TvsError } from "../domain/errors.ts";
import type { Partner, Scope } from "../domain/partners.ts";
import { canonicalRegNo } from "../domain/teachers.ts";
import type { Answer, Caller, IdempotentBody, Identifier, Question } from "../domain/verification.ts";
import { check, readBody } from "./body.ts";
import type { Handler, HttpCall, Reply } from "./http/http-call.ts";
import type { PeerTest } from "./http/source-address.ts";
import { partnerEndpoint } from "./partner-call.ts";
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

export type PartnerApi = Readonly<
  Record<"eligibilityCheck" | "lookupByRegNo" | "lookupByTid" | "lookupByNin" | "batch", Handler>
>;

/**
 * The authenticated partner endpoints (contract, Partner endpoints); where they stand is said in app.ts.
 * @param forwardsCertificates whether the peer's `Client-Cert` is believed
 */
export function partnerApi(service: Service, forwardsCertificates: PeerTest): PartnerApi {
  const { verification } = service;
  const partner = (scope: Scope, work: (call: HttpCall, caller: Caller) => Promise<Answer>) =>
    partnerEndpoint(service, {
      forwardsCertificates,
      scope,
      work: async (call, caller) => {
        const answer = await work(call, caller);
        call.trace.replayed = answer.replayed;
        return replyOf(answer);
      },
    });

  function lookUp(caller: Caller, endpoint: AttestedEndpoint, identifier: Identifier): Promise<Answer> {
    return verification.answer(caller, endpoint, { question: { identifier, purpose: lookupPurpose } });
  }

  return {
    eligibilityCheck: partner("eligibility", async (call, caller) => {
      const { value, raw } = await readBody(call, eligibilityCheckSchema);
      const question = questionOf(value);
      requirePurposes(caller.partner, [question]);
      const asked = { question, idempotency: idempotencyOf(call, raw) };
      return verification.answer(caller, "eligibility-check", asked);
    }),
    lookupByRegNo: partner("lookup_by_reg_no", async (call, caller) => {
      const regNo = check(regNoSchema, call.pathPart("regNo"), "regNo");
      return lookUp(caller, "lookup-by-reg-no", { regNo: canonicalRegNo(regNo) ?? regNo });
    }),
    lookupByTid: partner("lookup_by_tid", async (call, caller) => {
      const text = call.pathPart("tId");
      const tId = check(tIdSchema, /^\d+$/.test(text) ? Number(text) : Number.NaN, "tId");
      return lookUp(caller, "lookup-by-tid", { tId });
    }),
    lookupByNin: partner("lookup_by_nin", async (call, caller) => {
      const { value } = await readBody(call, ninLookupSchema);
      return lookUp(caller, "lookup-by-nin", value);
    }),
    batch: partner("batch", async (call, caller) => {
      const { value, raw } = await readBody(call, batchCheckSchema);
      const questions = value.items.map(questionOf);
      requirePurposes(caller.partner, questions);
      return verification.answerBatch(caller, { questions, idempotency: idempotencyOf(call, raw) });
    }),
  };
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

function replyOf({ headers, body, replayed }: Answer): Reply {
  const all: Record<string, string> = { ...headers, "Content-Type": "application/json" };
  if (replayed) all["Idempotent-Replayed"] = "true";
  return { status: 200, headers: all, body };
}
