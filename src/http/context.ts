/** The parts of Hono's context that this service adds to a request. */
import type { Context } from "hono";
import { v7 as uuidv7 } from "uuid";
import type { Call, CallObserver } from "../domain/calls.ts";
import type { PresentedCertificate } from "../domain/certificates.ts";
import { TvsError } from "../domain/errors.ts";
import type { QuotaState } from "../domain/quota.ts";
import type { ApiErrorCode } from "../partner/error-codes.ts";

/** Facts about a request's connection; `serve` passes them to the app as Hono's bindings. */
export type ConnectionInfo = {
  /** The peer's address as the runtime writes it: a proxy's address, if one is in front. */
  readonly remoteAddress: string;
  /** Whether the request came over the TLS port. */
  readonly tls: boolean;
  /** The certificate whose private key the client proved to hold. `domain/credentials.ts` decides whether it counts. */
  readonly clientCertificate: PresentedCertificate | null;
};

export type AppEnv = { Bindings: ConnectionInfo };

declare module "hono" {
  interface ContextVariableMap {
    trace: CallTrace;
    /** The service's own address, from which the links to the manual are made. */
    issuer: string;
    /** The request's body, once a handler has read it. */
    body: Promise<Uint8Array> | undefined;
  }
}

export type PageHandler = (c: Context<AppEnv>) => Response | Promise<Response>;

/** The parts of a request that show its origin; a Hono context has them. */
export type Caller = {
  readonly env: Pick<ConnectionInfo, "remoteAddress">;
  readonly req: { header(name: string): string | undefined };
};

/**
 * Reads a variable part of the path, decoded.
 * @throws TvsError REQUEST_INVALID if the address is not percent-encoded UTF-8: Hono does not decode it, and the service
 *   would attest that no teacher has that number
 */
export function pathPart(c: Context, name: string): string {
  try {
    decodeURIComponent(c.req.url.replace(/[?#].*/s, ""));
  } catch {
    throw new TvsError("REQUEST_INVALID", `${name} must be percent-encoded UTF-8`);
  }
  return c.req.param(name) ?? "";
}

/** Sets the quota's headers: the contract's (C15), and the standard RateLimit fields, which describe each window. */
export function setRateLimitHeaders(headers: Headers, state: QuotaState): void {
  let policy = "";
  let left = "";
  for (const window of state.windows) {
    const comma = policy === "" ? "" : ", ";
    policy += `${comma}"${window.name}";q=${window.limit};w=${window.lasts}`;
    left += `${comma}"${window.name}";r=${window.left};t=${window.endsIn}`;
  }
  headers.set("RateLimit-Policy", policy);
  headers.set("RateLimit", left);
  headers.set("X-RateLimit-Limit", String(state.limit));
  headers.set("X-RateLimit-Remaining", String(state.remaining));
  headers.set("X-RateLimit-Reset", String(state.resetAt));
}

/** The trace of a call: facts that handlers collect for the metrics and the access log. */
export type CallTrace = { -readonly [Member in keyof Call]: Call[Member] };

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]);

/**
 * Begins the trace of a call.
 * @param route the pattern that the request's path matched, never the path
 */
export function beginTrace(method: string, route: string): CallTrace {
  return {
    requestId: uuidv7(),
    route,
    // A client may send any word as a method, even a person's number.
    method: methods.has(method) ? method : "other",
    status: 0,
    partnerId: null,
    keyId: null,
    // The start of the call until `endTrace` makes it the duration.
    ms: performance.now(),
    error: null,
    replayed: false,
  };
}

/** Completes a trace when its call is answered, and hands it to the observer of calls. */
export function endTrace(trace: CallTrace, status: number, observe: CallObserver | undefined): void {
  trace.ms = performance.now() - trace.ms;
  trace.status = status;
  // A page that states a failure in its own words throws no error with a code.
  trace.error ??= usualCode(status);
  observe?.(trace);
}

/** The code of a failure that a page states in its own words; null unless exactly one code has the status. */
function usualCode(status: number): ApiErrorCode | null {
  if (status === 413) return "BODY_TOO_LARGE";
  if (status === 429) return "ADDRESS_QUOTA";
  if (status === 503) return "SERVICE_UNAVAILABLE";
  return status === 400 || status === 415 ? "REQUEST_INVALID" : null;
}
