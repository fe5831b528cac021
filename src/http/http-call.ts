import { v7 as uuidv7 } from "uuid";
import type { Call, CallObserver } from "../domain/calls.ts";
import type { PresentedCertificate } from "../domain/certificates.ts";
import { TvsError } from "../domain/errors.ts";
import type { QuotaState } from "../domain/quota.ts";
import type { ApiErrorCode } from "../partner/error-codes.ts";

/** The largest body of a request, in bytes. */
export const maxBodyBytes = 256 * 1024;

/**
 * What the socket says about a request. `listen` hands it to `fetch` as its second argument, which is where Hono takes
 * its bindings: `new Hono<{ Bindings: ConnectionInfo }>()` reads `c.env.remoteAddress`.
 */
export type ConnectionInfo = {
  /** The peer of the socket as the runtime writes it: a proxy's address, if one stands in front. */
  readonly remoteAddress: string;
  /** Whether the request came over the TLS listener. */
  readonly tls: boolean;
  /** The certificate whose private key the client proved to hold; whether it counts is not decided here. */
  readonly clientCertificate: PresentedCertificate | null;
};

/** What a handler of the API needs to know of a request. */
export type HttpCall = {
  /** Its id, its route, and what becomes known of it. */
  readonly trace: CallTrace;
  readonly connection: ConnectionInfo;
  /** The service's own address, which what is told of a failure leads to. */
  readonly issuer: () => string;
  /** @param name in lower case */
  header(name: string): string | undefined;
  /** A member of the query, decoded; the first one where it is repeated. */
  query(name: string): string | undefined;
  /** A variable part of the path, decoded. @throws TvsError REQUEST_INVALID for what is no percent-encoded UTF-8 */
  pathPart(name: string): string;
  /**
   * Reads the body, once.
   * @throws TvsError BODY_TOO_LARGE beyond {@link maxBodyBytes}, REQUEST_INVALID where it breaks off
   */
  body(): Promise<Uint8Array>;
};

/** What answers calls. What it throws becomes the answer of its code (problem.ts). */
export type Handler = (call: HttpCall) => Promise<Reply>;

export function bodyTooLarge(maxBytes = maxBodyBytes): TvsError {
  return new TvsError("BODY_TOO_LARGE", `the body must be at most ${maxBytes} bytes`);
}

export function bodyBrokenOff(): TvsError {
  return new TvsError("REQUEST_INVALID", "the body broke off");
}

/** An answer before it goes out. The headers that every answer has are added where it is sent (`replyTo`). */
export type Reply = {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
};

/**
 * An answer in JSON.
 * @param headers becomes the answer's own
 */
export function jsonReply(status: number, value: unknown, headers: Record<string, string> = {}): Reply {
  headers["Content-Type"] = "application/json";
  return { status, headers, body: JSON.stringify(value) };
}

/** Sets the quota's headers: the contract's (C15), and the standard fields, which tell of each window. */
export function setRateLimitHeaders(headers: Record<string, string>, state: QuotaState): void {
  let policy = "";
  let left = "";
  for (const window of state.windows) {
    const comma = policy === "" ? "" : ", ";
    policy += `${comma}"${window.name}";q=${window.limit};w=${window.lasts}`;
    left += `${comma}"${window.name}";r=${window.left};t=${window.endsIn}`;
  }
  headers["RateLimit-Policy"] = policy;
  headers.RateLimit = left;
  headers["X-RateLimit-Limit"] = String(state.limit);
  headers["X-RateLimit-Remaining"] = String(state.remaining);
  headers["X-RateLimit-Reset"] = String(state.resetAt);
}

/**
 * The trace of a call: what becomes known of it while it is answered, for who counts and keeps calls. One object
 * from the arrival to the access log, because every call pays for each further one.
 */
export type CallTrace = { -readonly [Member in keyof Call]: Call[Member] };

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]);

/**
 * The trace of a call that has just come.
 * @param route the pattern that the request's path matched, never the path
 */
export function beginTrace(method: string, route: string): CallTrace {
  return {
    requestId: uuidv7(),
    route,
    // Any word may stand for a method, a number or an address too.
    method: methods.has(method) ? method : "other",
    status: 0,
    partnerId: null,
    keyId: null,
    // Until the end it is when the call began.
    ms: performance.now(),
    error: null,
    replayed: false,
  };
}

/** Completes a trace when its call is answered, and hands it to who observes calls. */
export function endTrace(trace: CallTrace, status: number, observe: CallObserver | undefined): void {
  trace.ms = performance.now() - trace.ms;
  trace.status = status;
  // What a page says in its own words has no failure behind it that would name the code.
  trace.error ??= usualCode(status);
  observe?.(trace);
}

/** The code of a failure that a page tells in its own words; null where several have the status, or none. */
function usualCode(status: number): ApiErrorCode | null {
  if (status === 413) return "BODY_TOO_LARGE";
  if (status === 429) return "ADDRESS_QUOTA";
  if (status === 503) return "SERVICE_UNAVAILABLE";
  return status === 400 || status === 415 ? "REQUEST_INVALID" : null;
}

/**
 * Whether one of some headers stands there on two lines; of most, node:http shows the first alone or joins them.
 * @param names in lower case, 31 at most
 */
export function hasTwice(rawHeaders: readonly string[], names: readonly string[]): boolean {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    // Every request pays for this: a name is only looked at closely where its length fits.
    const place = names.findIndex((one) => one.length === name.length && one === name.toLowerCase());
    if (place < 0) continue;
    if ((seen & (1 << place)) !== 0) return true;
    seen |= 1 << place;
  }
  return false;
}
