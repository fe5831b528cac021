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
import { operationOfScope } from "../domain/partners.ts";
import { QuotaExceeded } from "../domain/quota.ts";
import type { Answer, Caller, Verification } from "../domain/verification.ts";
import { parseClientCertHeader } from "./http/connection-info.ts";
import { type Handler, type HttpCall, type Reply, setRateLimitHeaders } from "./http/http-call.ts";
import type { PeerTest } from "./http/source-address.ts";
import { problemReply } from "./problem.ts";
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
