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
import { isTvsError, TvsError } from "../domain/errors.ts";
import { type Live, type Snapshot, untilStored } from "../domain/live.ts";
import { operationOfScope, type Partner } from "../domain/partners.ts";
import { QuotaExceeded, type QuotaState } from "../domain/quota.ts";
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
import { isRefusal, isStoreFailure, problemReply } from "./problem.ts";
import {
  batchCheckSchema,
  check,
  type EligibilityCheck,
  eligibilityCheckSchema,
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
  const { live, quota, verification, clock } = service;
  const operation = operationOfScope[scope];
  return async (call) => {
    const cameAt = clock.now();
    const presented = presentedCredentials(call, forwardsCertificates);
    const identify = createAuthentication(service, call, presented);
    const { partner } = await identifyFirst(identify, service, presented);
    let state = (): QuotaState => quota.state(partner);
    let resetAt: number | undefined;

    function judge(snapshot: Snapshot): Authenticated {
      const authenticated = identify(snapshot);
      if (!authenticated.partner.scopes.includes(scope))
        throw new TvsError("SCOPE_MISSING", `this credential lacks the scope ${scope}`);
      return authenticated;
    }

    async function answer(): Promise<Reply> {
      const opened = quota.open(judge(live.current()).partner, cameAt);
      state = opened.state;
      const caller = { judge, requestId: call.trace.requestId, quota: opened };
      try {
        const answered = await handler(call, { caller, operation, verification });
        call.trace.replayed = answered.replayed;
        return replyOf(answered);
      } catch (error) {
        // Every call past its scope costs the minute, one that failed where that can be said: a database that did not take
        // its evidence would only keep it waiting once more.
        if (isRefusal(error)) await payMinute(live, caller);
        else if (!isStoreFailure(error)) await payMinute(live, caller).catch(() => {});
        throw error;
      } finally {
        opened.end();
      }
    }

    const reply = await answer().catch((error) => {
      if (isTvsError(error, "CREDENTIAL_REQUIRED")) throw error;
      if (error instanceof QuotaExceeded) ({ resetAt } = error.refusal);
      return problemReply(error, call);
    });
    const told = state();
    setRateLimitHeaders(reply.headers, { ...told, resetAt: resetAt ?? told.resetAt });
    reply.headers["Cache-Control"] ??= "no-store";
    return reply;
  };
}

/** Pays for a call that leaves nothing else behind. @throws QuotaExceeded, and what {@link Caller.judge} throws */
function payMinute(live: Live, { judge, quota }: Caller): Promise<true> {
  return untilStored(live, async (snapshot) =>
    (await quota.pay(judge(snapshot).partner, snapshot.revision)) ? true : null,
  );
}

function replyOf({ headers, body, replayed }: Answer): Reply {
  const all: Record<string, string> = { ...headers, "Content-Type": "application/json" };
  if (replayed) all["Idempotent-Replayed"] = "true";
  return { status: 200, headers: all, body };
}

/**
 * Finds who calls, once for each snapshot that the call is judged by. A call stays its partner's: when a credential of
 * another one counts meanwhile, because the first has ended or a stronger one was added, the caller has to ask again.
 * @throws TvsError CREDENTIAL_REQUIRED, STORE_BUSY, STORE_UNAVAILABLE, CLOCK_WRONG
 */
function createAuthentication(
  { live, secrets, keyKind: kind, clock, isClockWrong }: Service,
  call: HttpCall,
  presented: Presented,
): Caller["judge"] {
  let last: { readonly snapshot: Snapshot; readonly authenticated: Authenticated } | undefined;

  return (snapshot) => {
    if (snapshot === last?.snapshot) return last.authenticated;
    if (live.isStale())
      throw new TvsError("STORE_UNAVAILABLE", "what the operator has changed cannot be read; see the log");
    if (isClockWrong()) throw new TvsError("CLOCK_WRONG", "this machine's clock is wrong; see the log");
    const found = authenticate(presented, snapshot.credentials, { kind, secrets, now: clock.now() });
    if (found === null)
      throw new TvsError("CREDENTIAL_REQUIRED", refusedCredentials[refusalOf(presented, kind)]);
    if (last !== undefined && found.partner.partnerId !== last.authenticated.partner.partnerId)
      throw new TvsError("STORE_BUSY", "whose credential counts was changed meanwhile; try again");
    last = { snapshot, authenticated: found };
    call.trace.partnerId = found.partner.partnerId;
    call.trace.keyId = found.credential;
    return found;
  };
}

/**
 * Finds who calls. A credential that memory does not know is looked for once more, because a command may have made it a
 * moment ago; one whose own text says that it is none costs no look.
 * @throws TvsError CREDENTIAL_REQUIRED, STORE_*
 */
async function identifyFirst(
  identify: Caller["judge"],
  { live, keyKind }: Service,
  presented: Presented,
): Promise<Authenticated> {
  const { revision } = live.current();
  try {
    return identify(live.current());
  } catch (error) {
    const mayBeNew = isTvsError(error, "CREDENTIAL_REQUIRED") && refusalOf(presented, keyKind) === "unknown";
    if (!mayBeNew || (await live.refresh()).revision === revision) throw error;
    return identify(live.current());
  }
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
  const asked = { question, idempotency: idempotencyOf(call, raw) };
  return verification.answer(withinPurposes(caller, [question]), operation, asked);
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
  const asked = { questions, idempotency: idempotencyOf(call, raw) };
  return verification.answerBatch(withinPurposes(caller, questions), asked);
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

/** A caller who may ask only for purposes that its partner has, whenever it is judged. */
function withinPurposes(caller: Caller, questions: readonly Question[]): Caller {
  function judge(snapshot: Snapshot): Authenticated {
    const authenticated = caller.judge(snapshot);
    requirePurposes(authenticated.partner, questions);
    return authenticated;
  }
  return { ...caller, judge };
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
  return key === undefined ? undefined : { key, body };
}
