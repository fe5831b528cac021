import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { PresentedCertificate } from "../../domain/certificates.ts";
import { authenticate, type Presented } from "../../domain/credentials.ts";
import { TvsError } from "../../domain/errors.ts";
import type { Scope } from "../../domain/partners.ts";
import type { QuotaState } from "../../domain/quota.ts";
import { QuotaExceeded } from "../../domain/verification.ts";
import { parseClientCertHeader } from "../client-certificate.ts";
import type { AppEnv } from "../context.ts";
import type { Service } from "../service.ts";

type SourceOf = (c: Context<AppEnv>) => { viaTrustedProxy: boolean };

const maxBodyBytes = 256 * 1024;

type Chain = readonly [Step, Step, Step, Step];
type Step = MiddlewareHandler<AppEnv>;

/**
 * What every partner endpoint does before its own work, in the order that is decided: credential (401),
 * scope (403), minute quota (429), size of the body (413). What is in the body, purpose, idempotency and day
 * quota are the handler's and the domain's. Nobody's body is read before we know who it is.
 */
export function partnerCall(service: Service, sourceOf: SourceOf, scope: Scope): Chain {
  const sizeLimit = bodyLimit({ maxSize: maxBodyBytes, onError: refuseBody });
  return [authenticated(service, sourceOf), inScope(scope), withinMinuteQuota(service), sizeLimit];
}

function refuseBody(): never {
  throw new TvsError("BODY_TOO_LARGE", `the body must be at most ${maxBodyBytes} bytes`);
}

function authenticated(service: Service, sourceOf: SourceOf): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { live, secrets, keyKind: kind, clock, quota } = service;
    if (live.isStale()) {
      throw new TvsError("STORE_UNAVAILABLE", "what the operator has changed cannot be read; see the log");
    }
    const presented = presentedCredentials(c, sourceOf(c).viaTrustedProxy);
    const caller = authenticate(presented, live.current().credentials, { kind, secrets, now: clock.now() });
    if (caller === null) {
      const message = "a valid client certificate, Bearer key or x-agency-api-key is required";
      throw new TvsError("CREDENTIAL_REQUIRED", message);
    }
    c.set("caller", caller);
    await next();
    const state = c.error instanceof QuotaExceeded ? c.error.refusal : quota.state(caller.partner);
    setRateLimitHeaders(c, state);
    if (!c.res.headers.has("Cache-Control")) c.header("Cache-Control", "no-store");
  };
}

function inScope(scope: Scope): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    if (!c.get("caller").partner.scopes.includes(scope)) {
      throw new TvsError("SCOPE_MISSING", `this credential lacks the scope ${scope}`);
    }
    await next();
  };
}

/**
 * Takes the minute token, and sees to it that nothing is answered before what it cost is durable: work
 * commits its own charges, all else (a refused body, a replay) is charged here.
 */
function withinMinuteQuota(service: Service): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const call = service.quota.open(c.get("caller").partner);
    if ("retryAfterSeconds" in call) throw new QuotaExceeded(call);
    c.set("quotaCall", call);
    await next();
    await service.quotaStore.charge(call.takeCharges());
  };
}

/** The client certificate counts from the TLS layer, or from a proxy that is trusted to have checked it. */
function presentedCredentials(c: Context<AppEnv>, viaTrustedProxy: boolean): Presented {
  const forwarded = viaTrustedProxy ? parseClientCertHeader(c.req.header("Client-Cert")) : null;
  return {
    certificate: identityOf(c.env.clientCertificate),
    forwardedCertificate: identityOf(forwarded),
    bearer: /^Bearer +(\S+) *$/i.exec(c.req.header("Authorization") ?? "")?.[1] ?? null,
    headerKey: c.req.header("x-agency-api-key")?.trim() ?? null,
  };
}

function identityOf(certificate: PresentedCertificate | null): Presented["certificate"] {
  if (certificate === null) return null;
  const { fingerprint256: fingerprint, validFrom, validTo } = certificate;
  return { fingerprint, validFrom: validFrom.getTime(), validTo: validTo.getTime() };
}

export function setRateLimitHeaders(c: Context, state: QuotaState): void {
  c.header("X-RateLimit-Limit", String(state.limit));
  c.header("X-RateLimit-Remaining", String(state.remaining));
  c.header("X-RateLimit-Reset", String(state.resetAt));
}
