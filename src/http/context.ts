/** The variables and functions that this service adds to Hono's context of a request. */
import type { Context } from "hono";
import { v7 as uuidv7 } from "uuid";
import type { CallObserver, LoggedCall } from "../domain/calls.ts";
import type { PresentedCertificate } from "../domain/certificates.ts";
import { TvsError } from "../domain/errors.ts";
import type { LimitState } from "../domain/quota.ts";

/** Facts about a request's connection, which `serve` passes to the app as Hono's bindings. */
export type ConnectionInfo = {
  /** The IP address of the connection's other end, as the runtime writes it; behind a proxy, the proxy's address. */
  readonly remoteAddress: string;
  /** True if the request came over the TLS port. */
  readonly tls: boolean;
  /** The client certificate of the TLS handshake, or null. `domain/credentials.ts` finds the certificate's partner. */
  readonly clientCertificate: PresentedCertificate | null;
};

export type HonoEnv = { Bindings: ConnectionInfo };

declare module "hono" {
  interface ContextVariableMap {
    trace: CallTrace;
    /** The service's own URL, from which the links to the manual are made. */
    issuer: string;
    /** The request's body; undefined until a handler reads it. */
    body: Promise<Uint8Array> | undefined;
  }
}

export type PageHandler = (c: Context<HonoEnv>) => Response | Promise<Response>;

/** The parts of a Hono context that show where a request comes from. */
export type RequestSource = {
  readonly env: Pick<ConnectionInfo, "remoteAddress">;
  readonly req: { header(name: string): string | undefined };
};

/**
 * Reads and decodes a variable part of the path.
 * @throws TvsError REQUEST_INVALID if the path is not percent-encoded UTF-8: Hono leaves such a path undecoded, and the
 *   service would attest that no teacher has the undecoded number
 */
export function readPathParameter(c: Context, name: string): string {
  try {
    decodeURIComponent(c.req.url.replace(/[?#].*/s, ""));
  } catch {
    throw new TvsError("REQUEST_INVALID", `${name} must be percent-encoded UTF-8`);
  }
  return c.req.param(name) ?? "";
}

/** Sets the headers of a quota: the contract's headers (C15), and the standard RateLimit fields for minute and day. */
export function setRateLimitHeaders(headers: Headers, state: LimitState): void {
  const policy = state.windows.map(({ name, limit, lasts }) => `"${name}";q=${limit};w=${lasts}`);
  const left = state.windows.map((window) => `"${window.name}";r=${window.left};t=${window.endsIn}`);
  headers.set("RateLimit-Policy", policy.join(", "));
  headers.set("RateLimit", left.join(", "));
  headers.set("X-RateLimit-Limit", String(state.limit));
  headers.set("X-RateLimit-Remaining", String(state.remaining));
  headers.set("X-RateLimit-Reset", String(state.resetAt));
}

/** The facts of a call that handlers collect for the metrics and the access log. */
export type CallTrace = { -readonly [Member in keyof LoggedCall]: LoggedCall[Member] };

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]);

/**
 * Begins the trace of a call.
 * @param route the pattern that the path matched, never the path itself, which may contain a person's number
 */
export function beginCallTrace(method: string, route: string): CallTrace {
  return {
    requestId: uuidv7(),
    route,
    // A client can send any word as its method, even a person's number, which must not reach the log.
    method: methods.has(method) ? method : "other",
    status: 0,
    partnerId: null,
    keyId: null,
    // The time at which the call began. `endCallTrace` replaces the time by the duration.
    ms: performance.now(),
    error: null,
    replayed: false,
  };
}

/** Completes the trace of an answered call, and passes it to the observer. */
export function endCallTrace(trace: CallTrace, status: number, observe: CallObserver | undefined): void {
  trace.ms = performance.now() - trace.ms;
  trace.status = status;
  observe?.(trace);
}
