/**
 * The partner operations (contract C14): what comes before each of them, and then each from its call's parts to the
 * question asked of the domain.
 */

import type { AttestedOperation } from "../domain/attestations.ts";
import type { PresentedCertificate } from "../domain/certificates.ts";
import {
  type Authenticated,
  authenticate,
  type Presented,
  refusalOf,
  refusedCredentials,
} from "../domain/credentials.ts";
import { TvsError } from "../domain/errors.ts";
import { operationOfScope, type Partner } from "../domain/partners.ts";
import { QuotaExceeded } from "../domain/quota.ts";
import { canonicalRegNo } from "../domain/teachers.ts";
import type {
  Answer,
  Caller,
  IdempotentBody,
  Identifier,
  Question,
  Verification,
} from "../domain/verification.ts";
import { type Handler, type HttpCall, type Reply, setRateLimitHeaders } from "./http/http-call.ts";
import type { PeerTest } from "./http/peer.ts";
import { parseClientCertHeader } from "./http/peer.ts";
import { problemReply } from "./problem.ts";
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
import type { PartnerRoute } from "./routes.ts";
import type { Service } from "./service.ts";

/** A partner's authenticated call: who calls what, and what answers. */
export type PartnerCall = {
  readonly caller: Caller;
  /** What the evidence log calls it. */
  readonly operation: AttestedOperation;
  readonly verification: Verification;
};

/** A partner operation's own work: what is in the body, purpose, idempotency and day quota. */
export type PartnerHandler = (call: HttpCall, asked: PartnerCall) => Promise<Answer>;

/**
 * A partner operation with all that comes before its own work, in the order that is decided: credential (401), scope
 * (403), minute quota (429); the work begins with the body (413, 400). Nobody's body is read before we know who
 * it is.
 * @param forwardsCertificates whether the peer's `Client-Cert` is believed
 */
export function forPartners(
  { scope, handler }: Pick<PartnerRoute, "scope" | "handler">,
  { service, forwardsCertificates }: { service: Service; forwardsCertificates: PeerTest },
): Handler {
  const { quota, verification } = service;
  const operation = operationOfScope[scope];
  return async (call) => {
    const authenticated = authenticateCall(service, call, forwardsCertificates);
    const { partner } = authenticated;
    call.trace.partnerId = partner.partnerId;
    call.trace.keyId = authenticated.credential;
    let state = () => quota.state(partner);

    async function withinQuota(): Promise<Reply> {
      if (!partner.scopes.includes(scope))
        throw new TvsError("SCOPE_MISSING", `this credential lacks the scope ${scope}`);
      const opened = quota.open(partner);
      state = opened.state;
      try {
        const caller = { ...authenticated, requestId: call.trace.requestId, quota: opened };
        const answer = await handler(call, { caller, operation, verification });
        call.trace.replayed = answer.replayed;
        return replyOf(answer);
      } finally {
        await opened.settle();
      }
    }

    const reply = await withinQuota().catch((error) => {
      if (error instanceof QuotaExceeded) state = () => error.refusal;
      return problemReply(error, call);
    });
    setRateLimitHeaders(reply.headers, state());
    reply.headers["Cache-Control"] ??= "no-store";
    return reply;
  };
}

function replyOf({ headers, body, replayed }: Answer): Reply {
  const all: Record<string, string> = { ...headers, "Content-Type": "application/json" };
  if (replayed) all["Idempotent-Replayed"] = "true";
  return { status: 200, headers: all, body };
}

/** @throws TvsError CREDENTIAL_REQUIRED, STORE_UNAVAILABLE */
function authenticateCall(
  { live, secrets, keyKind: kind, clock }: Service,
  call: HttpCall,
  forwardsCertificates: PeerTest,
): Authenticated {
  if (live.isStale()) {
    throw new TvsError("STORE_UNAVAILABLE", "what the operator has changed cannot be read; see the log");
  }
  const presented = presentedCredentials(call, forwardsCertificates);
  const caller = authenticate(presented, live.current().credentials, { kind, secrets, now: clock.now() });
  if (caller === null) {
    throw new TvsError("CREDENTIAL_REQUIRED", refusedCredentials[refusalOf(presented, kind)]);
  }
  return caller;
}

/**
 * The client certificate counts from the TLS layer, or from a peer that is named for having checked it and for letting
 * no caller's own `Client-Cert` through: a certificate is no secret.
 */
function presentedCredentials(call: HttpCall, forwardsCertificates: PeerTest): Presented {
  const forwarded = forwardsCertificates(call) ? parseClientCertHeader(call.header("client-cert")) : null;
  const authorization = call.header("authorization");
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1] ?? null;
  return {
    certificate: identityOf(call.connection.clientCertificate),
    forwardedCertificate: identityOf(forwarded),
    bearer,
    otherAuthorization: authorization !== undefined && bearer === null,
    headerKey: call.header("x-agency-api-key")?.trim() || null,
  };
}

function identityOf(certificate: PresentedCertificate | null): Presented["certificate"] {
  if (certificate === null) return null;
  const { fingerprint256: fingerprint, validFrom, validTo } = certificate;
  return { fingerprint, validFrom: validFrom.getTime(), validTo: validTo.getTime() };
}

/** A lookup states no purpose; it is judged by this one. */
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
