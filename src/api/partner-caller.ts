/**
 * What comes before any call of a partner, whatever it asks: who calls and whether it may, how the minute is paid that
 * every such call costs, and what is told of the quota in the end.
 */

import { retryOnConflict, type Snapshot } from "../domain/configuration.ts";
import {
  type Authenticated,
  authenticate,
  credentialRefused,
  type Presented,
  refusalOf,
} from "../domain/credentials.ts";
import { TvsError } from "../domain/errors.ts";
import type { Scope } from "../domain/partners.ts";
import { type QuotaCall, QuotaExceeded, type QuotaState } from "../domain/quota.ts";
import type { Admitted } from "../domain/verification.ts";
import { setRateLimitHeaders } from "../http/context.ts";
import { parseClientCertHeader } from "../http/peer.ts";
import { isRefusal, isStoreFailure, isUnauthenticated, problemResponse } from "../http/problem.ts";
import type { Service } from "../service.ts";
import type { ApiContext, ApiHandler } from "./public-api.ts";

/** One call of a partner, of which nothing is known yet but what it presents. */
type PartnerRequest = {
  readonly c: ApiContext;
  readonly service: Service;
  /** What the call must be allowed; null for one that is open to every partner. */
  readonly scope: Scope | null;
  readonly presented: Presented;
  readonly quota: QuotaCall;
};

/** An attempt at a call that was let in, judged by one snapshot from the caller to the commit. */
export type AuthorizedCall = Admitted & {
  readonly c: ApiContext;
  readonly quota: QuotaCall;
  /**
   * Pays the call's minute, once, however often it is asked, if what the attempt is judged by still holds.
   * @returns false, having paid nothing: the call must be judged anew
   */
  charge(): Promise<boolean>;
};

/**
 * A handler of partners' calls, which is tried until its commit stands.
 * @param work one attempt; null when what it was judged by has changed meanwhile: it is to be judged anew, from the caller
 *   on
 */
export function forCallers(
  scope: Scope | null,
  begin: (c: ApiContext) => (attempt: AuthorizedCall) => Promise<Response | null>,
): ApiHandler {
  return async (c) => {
    const { service } = c.get("parts");
    const request = { c, service, scope, presented: presentedCredentials(c), quota: service.quota.open() };
    const work = begin(c);
    try {
      const charged = { by: "" };
      const response = await retryOnConflict(service.configuration, (snapshot) =>
        attempt(request, snapshot, charged, work),
      );
      return withQuota(response, request.quota.state());
    } catch (error) {
      return refused(error, request);
    } finally {
      request.quota.end();
    }
  };
}

/**
 * One attempt to answer, in the order that is decided (D2.1): credential (401), scope (403), minute (429), and then the
 * work. A call costs its minute once, however often it is judged anew, unless it turns out to be another partner's.
 */
async function attempt(
  request: PartnerRequest,
  known: Snapshot,
  charged: { by: string },
  work: (attempt: AuthorizedCall) => Promise<Response | null>,
): Promise<Response | null> {
  const { c, quota } = request;
  const admitted = await admit(request, known);
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
    // Every call past its scope costs the minute, one that failed where that can be said: a database that did not take
    // its evidence would only keep it waiting once more.
    if (isRefusal(error)) {
      if (!(await charge())) return null;
    } else if (!isStoreFailure(error)) await charge().catch(() => {});
    throw error;
  }
}

/**
 * Finds who calls, and whether it may. Who would be refused by what this thread remembers is looked for once more,
 * because a command may have let it in a moment ago; a credential whose own text says that it is none costs no look.
 * @throws TvsError CREDENTIAL_*, SCOPE_MISSING, STORE_*, CLOCK_WRONG
 */
async function admit(request: PartnerRequest, known: Snapshot): Promise<Admitted> {
  const { service, scope, presented, quota } = request;
  const may = ({ partner }: Authenticated) => scope === null || partner.scopes.includes(scope);
  const first = identify(request, known);
  if (first !== null && may(first)) return { snapshot: known, authenticated: first };
  const fault = refusalOf(presented, service.keyKind);
  const mayBeNew = first !== null || fault === "unknown";
  const snapshot = mayBeNew ? await service.configuration.refresh() : known;
  const authenticated = mayBeNew ? identify(request, snapshot) : null;
  if (authenticated === null) throw credentialRefused(fault);
  if (may(authenticated)) return { snapshot, authenticated };
  await quota.read(authenticated.partner);
  throw new TvsError("SCOPE_MISSING", `this credential lacks the scope ${scope}`);
}

/** Who calls, as a snapshot says. @throws TvsError STORE_UNAVAILABLE, CLOCK_WRONG */
function identify(
  { c, service, presented }: PartnerRequest,
  { credentials }: Snapshot,
): Authenticated | null {
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

/** @throws TvsError CREDENTIAL_*: such an answer has nobody's quota */
function refused(error: unknown, { c, quota }: PartnerRequest): Response {
  if (isUnauthenticated(error)) throw error;
  const refusal = error instanceof QuotaExceeded ? error.refusal : undefined;
  // Whether a database that failed has charged the call is not known.
  const state = isStoreFailure(error) ? undefined : (quota.state() ?? refusal);
  return withQuota(
    problemResponse(error, c),
    state && { ...state, resetAt: refusal?.resetAt ?? state.resetAt },
  );
}

/** A partner's answer, with what is known of its quota. */
function withQuota(response: Response, state: QuotaState | undefined): Response {
  const { headers } = response;
  if (state !== undefined) setRateLimitHeaders(headers, state);
  if (!headers.has("Cache-Control")) headers.set("Cache-Control", "no-store");
  return response;
}

/**
 * The client certificate counts from the TLS layer, or from a peer that is named for having checked it and for letting
 * no caller's own `Client-Cert` through: a certificate is no secret.
 */
function presentedCredentials(c: ApiContext): Presented {
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
