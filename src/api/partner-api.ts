/**
 * The partner operations (contract C14): what comes before each of them, and then each from its call's parts to the
 * question asked of the domain.
 */

import { type Snapshot, untilStored } from "../domain/configuration.ts";
import {
  type Authenticated,
  authenticate,
  credentialRefused,
  type Presented,
  refusalOf,
} from "../domain/credentials.ts";
import { TvsError } from "../domain/errors.ts";
import { operationOfScope, type Partner, type Scope } from "../domain/partners.ts";
import { type QuotaCall, QuotaExceeded, type QuotaState } from "../domain/quota.ts";
import type { Identifier } from "../domain/teachers/identifier.ts";
import { canonicalRegNo } from "../domain/teachers/teachers.ts";
import type { Admitted, Answer, Asked, IdempotentBody, Question } from "../domain/verification.ts";
import { type Handler, type HttpCall, type Reply, setRateLimitHeaders } from "../http/http-call.ts";
import type { PeerTest } from "../http/peer.ts";
import { parseClientCertHeader } from "../http/peer.ts";
import { isRefusal, isStoreFailure, isUnauthenticated, problemReply } from "../http/problem.ts";
import { check, readBody } from "../http/request-body.ts";
import type { Purpose } from "../partner/contract.ts";
import type { Service } from "../service.ts";
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

/** One call of a partner's operation, of which nothing is known yet but what it presents. */
type Visit = {
  readonly call: HttpCall;
  readonly service: Service;
  readonly scope: Scope;
  readonly presented: Presented;
  readonly quota: QuotaCall;
  /** What it asks, read at the first time. */
  readonly ask: () => Promise<PartnerAsked>;
};

/**
 * A partner operation with all that is decided before its own work. Nobody's body is read before we know who it is.
 * @param forwardsCertificates whether the peer's `Client-Cert` is believed
 */
export function forPartners(
  { scope, handler }: PartnerCall,
  { service, forwardsCertificates }: { service: Service; forwardsCertificates: PeerTest },
): Handler {
  return async (call) => {
    const presented = presentedCredentials(call, forwardsCertificates);
    const quota = service.quota.open();
    let asked: Promise<PartnerAsked> | undefined;
    const ask = () => {
      asked ??= handler(call);
      return asked;
    };
    const visit = { call, service, scope, presented, quota, ask };
    try {
      const answer = await untilStored(service.configuration, (snapshot) => attempt(visit, snapshot));
      call.trace.replayed = answer.replayed;
      return told(replyOf(answer), quota.state());
    } catch (error) {
      return refused(error, visit);
    } finally {
      quota.end();
    }
  };
}

/**
 * One attempt to answer, judged by one snapshot from the caller to the commit, in the order that is decided (D2.1):
 * credential (401), scope (403), minute (429), body (413, 400), purpose (403), and then the work: idempotency (422, 409),
 * day (429).
 * @returns null when what it was judged by has changed meanwhile, a refusal too: it is to be judged anew, from the caller on
 */
async function attempt(visit: Visit, known: Snapshot): Promise<Answer | null> {
  const { call, service, scope, quota, ask } = visit;
  const admitted = await admit(visit, known);
  const { partner } = admitted.authenticated;
  quota.enter(partner);
  try {
    const { purposes, ...asked } = await ask();
    requirePurposes(partner, purposes);
    const operation = operationOfScope[scope];
    const { requestId } = call.trace;
    return await service.verification.answer({ ...admitted, ...asked, operation, requestId, quota });
  } catch (error) {
    // Every call past its scope costs the minute, one that failed where that can be said: a database that did not take
    // its evidence would only keep it waiting once more.
    const { revision } = admitted.snapshot;
    if (isRefusal(error)) {
      if (!(await quota.pay(revision))) return null;
    } else if (!isStoreFailure(error)) await quota.pay(revision).catch(() => {});
    throw error;
  }
}

/**
 * Finds who calls, and whether it may. Who would be refused by what this thread remembers is looked for once more,
 * because a command may have let it in a moment ago; a credential whose own text says that it is none costs no look.
 * @throws TvsError CREDENTIAL_*, SCOPE_MISSING, STORE_*, CLOCK_WRONG
 */
async function admit(visit: Visit, known: Snapshot): Promise<Admitted> {
  const { service, scope, presented, quota } = visit;
  const first = identify(visit, known);
  if (first?.partner.scopes.includes(scope)) return { snapshot: known, authenticated: first };
  const fault = refusalOf(presented, service.keyKind);
  const mayBeNew = first !== null || fault === "unknown";
  const snapshot = mayBeNew ? await service.configuration.refresh() : known;
  const authenticated = mayBeNew ? identify(visit, snapshot) : null;
  if (authenticated === null) throw credentialRefused(fault);
  if (authenticated.partner.scopes.includes(scope)) return { snapshot, authenticated };
  await quota.look(authenticated.partner);
  throw new TvsError("SCOPE_MISSING", `this credential lacks the scope ${scope}`);
}

/** Who calls, as a snapshot says. @throws TvsError STORE_UNAVAILABLE, CLOCK_WRONG */
function identify({ call, service, presented }: Visit, { credentials }: Snapshot): Authenticated | null {
  const { configuration, secrets, keyKind: kind, clock, isClockWrong } = service;
  if (configuration.isStale())
    throw new TvsError("STORE_UNAVAILABLE", "what the operator has changed cannot be read; see the log");
  if (isClockWrong()) throw new TvsError("CLOCK_WRONG", "this machine's clock is wrong; see the log");
  const found = authenticate(presented, credentials, { kind, secrets, now: clock.now() });
  if (found !== null) {
    call.trace.partnerId = found.partner.partnerId;
    call.trace.keyId = found.credential;
  }
  return found;
}

/** @throws TvsError CREDENTIAL_*: nobody's quota is told of */
function refused(error: unknown, { call, quota }: Visit): Reply {
  if (isUnauthenticated(error)) throw error;
  const refusal = error instanceof QuotaExceeded ? error.refusal : undefined;
  // Whether a database that failed has charged the call is not known.
  const state = isStoreFailure(error) ? undefined : (quota.state() ?? refusal);
  return told(problemReply(error, call), state && { ...state, resetAt: refusal?.resetAt ?? state.resetAt });
}

/** A partner's answer, with what is known of its quota. */
function told(reply: Reply, state: QuotaState | undefined): Reply {
  if (state !== undefined) setRateLimitHeaders(reply.headers, state);
  reply.headers["Cache-Control"] ??= "no-store";
  return reply;
}

function replyOf({ headers, body, replayed }: Answer): Reply {
  const all: Record<string, string> = { ...headers, "Content-Type": "application/json" };
  if (replayed) all["Idempotent-Replayed"] = "true";
  return { status: 200, headers: all, body };
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
    certificate: call.connection.clientCertificate,
    forwardedCertificate: forwarded,
    bearer,
    otherAuthorization: authorization !== undefined && bearer === null,
    headerKey: call.header("x-agency-api-key")?.trim() || null,
  };
}

/** A lookup states no purpose; it is judged by this one. */
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
