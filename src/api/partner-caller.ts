/**
 * Authenticates every partner call, checks the partner's scopes, charges the call to the minute quota and reports the
 * quota in the headers of the response.
 */

import { retryOnConflict, type Snapshot } from "../domain/configuration.ts";
import type { AuthenticatedCaller, PresentedCredentials } from "../domain/credentials.ts";
import { authenticate, credentialFaultOf, refusedCredentialError } from "../domain/credentials.ts";
import { TvsError } from "../domain/errors.ts";
import type { Scope } from "../domain/partners.ts";
import { type CallQuota, type LimitState, QuotaExceededError } from "../domain/quota.ts";
import type { AuthenticatedCall } from "../domain/verification.ts";
import { setRateLimitHeaders } from "../http/context.ts";
import { parseClientCertHeader } from "../http/peer.ts";
import { createProblemResponse, is4xxError, is401Error, isStoreFailure } from "../http/problem.ts";
import type { Service } from "../service.ts";
import type { ApiHandler, HonoContext } from "./public-api.ts";

type PartnerRequest = {
  readonly c: HonoContext;
  readonly service: Service;
  /** The scope that the partner needs; null if the call needs none. */
  readonly scope: Scope | null;
  readonly presented: PresentedCredentials;
  readonly quota: CallQuota;
};

/** An authorised attempt at a call. A commit of the attempt is refused if the configuration changed after authorisation. */
export type AuthorizedCall = AuthenticatedCall & {
  readonly c: HonoContext;
  readonly quota: CallQuota;
  /**
   * Charges the call to the minute quota. A call is charged once, even if several attempts call this function.
   * @returns false if the configuration has changed since the snapshot: nothing was charged, retry the call
   */
  charge(): Promise<boolean>;
};

/**
 * Makes the handler of a partner route. It authenticates the caller and runs `work`.
 * @param work one attempt; if it returns null because the configuration changed, the whole call is authenticated and run again
 */
export function createPartnerHandler(
  scope: Scope | null,
  work: (attempt: AuthorizedCall) => Promise<Response | null>,
): ApiHandler {
  return async (c) => {
    const { service } = c.get("parts");
    const request = { c, service, scope, presented: presentedCredentials(c), quota: service.quota.open() };
    try {
      const charged = { by: "" };
      const response = await retryOnConflict(service.configuration, (snapshot) =>
        runAttempt(request, snapshot, charged, work),
      );
      return addQuotaHeaders(response, request.quota.state());
    } catch (error) {
      return respondToError(error, request);
    } finally {
      request.quota.end();
    }
  };
}

/**
 * Runs one attempt in the order of decision D2.1: credential (401), scope (403), minute quota (429), work. All attempts of a
 * call are charged as one call, unless a later attempt finds that the credential belongs to another partner.
 */
async function runAttempt(
  request: PartnerRequest,
  known: Snapshot,
  charged: { by: string },
  work: (attempt: AuthorizedCall) => Promise<Response | null>,
): Promise<Response | null> {
  const { c, quota } = request;
  const admitted = await authorize(request, known);
  const { partner } = admitted.authenticated;
  const { revision } = admitted.snapshot;
  const isCharged = () => charged.by === partner.partnerId;
  if (!isCharged()) quota.reserve(partner);
  const charge = async () => {
    if (!isCharged() && (await quota.charge(revision))) charged.by = partner.partnerId;
    return isCharged();
  };
  try {
    return await work({ ...admitted, c, quota, charge });
  } catch (error) {
    // A call that is refused after its scope check is charged too. If the database failed, a charge would fail as well.
    if (is4xxError(error)) {
      if (!(await charge())) return null;
    } else if (!isStoreFailure(error)) await charge().catch(() => {});
    throw error;
  }
}

/**
 * Authenticates the caller and checks the scope. If the known snapshot refuses the caller, the check is repeated with a fresh
 * snapshot, because a command may have just added the credential. A malformed credential is refused without a fresh snapshot.
 * @throws TvsError CREDENTIAL_*, SCOPE_MISSING, STORE_*, CLOCK_WRONG
 */
async function authorize(request: PartnerRequest, known: Snapshot): Promise<AuthenticatedCall> {
  const { service, scope, presented, quota } = request;
  const may = ({ partner }: AuthenticatedCaller) => scope === null || partner.scopes.includes(scope);
  const first = findCaller(request, known);
  if (first !== null && may(first)) return { snapshot: known, authenticated: first };
  const fault = credentialFaultOf(presented, service.keyKind);
  const mayBeNew = first !== null || fault === "unknown";
  const snapshot = mayBeNew ? await service.configuration.refresh() : known;
  const authenticated = mayBeNew ? findCaller(request, snapshot) : null;
  if (authenticated === null) throw refusedCredentialError(fault);
  if (may(authenticated)) return { snapshot, authenticated };
  await quota.read(authenticated.partner);
  throw new TvsError("SCOPE_MISSING", `this credential lacks the scope ${scope}`);
}

/** Finds the caller in a snapshot. @returns null if no credential is valid @throws TvsError STORE_UNAVAILABLE, CLOCK_WRONG */
function findCaller({ c, service, presented }: PartnerRequest, { credentials }: Snapshot) {
  const { configuration, secrets, keyKind: kind, clock, isClockWrong } = service;
  if (configuration.isStale())
    throw new TvsError("STORE_UNAVAILABLE", "what the operator has changed cannot be read; see the log");
  if (isClockWrong()) throw new TvsError("CLOCK_WRONG", "this machine's clock is wrong; see the log");
  const found = authenticate(presented, credentials, { kind, secrets, now: clock.now() });
  if (found !== null) {
    const trace = c.get("trace");
    trace.partnerId = found.partner.partnerId;
    trace.keyId = found.credential;
  }
  return found;
}

/** Answers a refusal or failure with the quota headers. A failed authentication is thrown again, because no partner is known. */
function respondToError(error: unknown, { c, quota }: PartnerRequest): Response {
  if (is401Error(error)) throw error;
  const refusal = error instanceof QuotaExceededError ? error.refusal : undefined;
  // If the database failed, it is unknown whether the call was charged, so the response has no quota headers.
  const state = isStoreFailure(error) ? undefined : (quota.state() ?? refusal);
  return addQuotaHeaders(
    createProblemResponse(error, c),
    state && { ...state, resetAt: refusal?.resetAt ?? state.resetAt },
  );
}

function addQuotaHeaders(response: Response, state: LimitState | undefined): Response {
  const { headers } = response;
  if (state !== undefined) setRateLimitHeaders(headers, state);
  if (!headers.has("Cache-Control")) headers.set("Cache-Control", "no-store");
  return response;
}

/**
 * Reads the API keys and certificates of the request. Anybody can copy a certificate into `Client-Cert`, so the header is
 * accepted only from a proxy that the operator named. Such a proxy verifies certificates and replaces the header.
 */
function presentedCredentials(c: HonoContext): PresentedCredentials {
  const { service, forwardsCertificates } = c.get("parts");
  const { remoteAddress, clientCertificate } = c.env;
  const header = forwardsCertificates(remoteAddress) ? c.req.header("Client-Cert")?.trim() : undefined;
  const forwarded = parseClientCertHeader(header);
  if (header && forwarded === null) service.onUnreadableCertificate?.(remoteAddress);
  const authorization = c.req.header("Authorization");
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1] ?? null;
  const headerKey = c.req.header("X-Agency-Api-Key")?.trim() || null;
  return {
    certificates: [clientCertificate, forwarded].filter((one) => one !== null),
    keys: [bearer, headerKey].filter((key) => key !== null),
    hasOtherAuthorization: authorization !== undefined && bearer === null,
  };
}
