/** The HTTP exchange of an attempt: a POST to an address that was checked (decision D10.3). */

import type { ClientRequest, IncomingMessage } from "node:http";
import * as http from "node:http";
import * as https from "node:https";
import { isIP, type Socket } from "node:net";
import written from "../../data/delivery-failures.json" with { type: "json" };
import { type Clock, systemClock } from "../domain/clock.ts";
import { hostOf, nonPublicRange } from "./address-guard.ts";

/** Every reason for a failed attempt, with a sentence for the operator. The codes are stable. */
export const deliveryErrors = written.errors;

export type DeliveryError = keyof typeof deliveryErrors;

export type AttemptResult = {
  /** The HTTP status, even if the attempt failed after it. */
  readonly status: number | null;
  /** Null when acknowledged. */
  readonly error: DeliveryError | null;
  /** `Retry-After` of a failed answer. */
  readonly retryAfterSeconds: number | null;
  readonly durationMs: number;
};

/** A sentence for an endpoint's last error, such as `BAD_STATUS 503`. */
export function explainError(lastError: string): string {
  const [code = ""] = lastError.split(" ");
  return Object.hasOwn(deliveryErrors, code) ? deliveryErrors[code as keyof typeof deliveryErrors] : "";
}

type WebhookResponse = Pick<AttemptResult, "status" | "error"> & {
  readonly retryAfter: string | undefined;
  /** Whether a kept connection was closed before a byte of a response. */
  readonly isStale: boolean;
};

type Phase = "connect" | "tls" | "response" | "body";

/** A server sends one or two interim responses (1xx). */
const maxInterimResponses = 16;
/** More than any schedule waits; keeps an absurd number out of arithmetic and storage. */
const maxRetryAfterSeconds = 366 * 24 * 3600;

/**
 * Reads the response to a request. Any 2xx acknowledges once its body is whole or 16 KiB of head and body are read;
 * another status needs no body. A connection is reused only after a whole 2xx body, and closed otherwise.
 * @returns the promise, and a function that settles it with an error and closes the connection
 */
function readResponse(request: ClientRequest) {
  const { promise, resolve } = Promise.withResolvers<WebhookResponse>();
  let phase: Phase = "connect";
  let status: number | null = null;
  let isOver = false;

  const settle = (error: DeliveryError | null, from?: IncomingMessage) => {
    if (isOver) return;
    isOver = true;
    const isStale = error === "CONNECTION_LOST" && request.reusedSocket;
    resolve({ status, error, retryAfter: from?.headers["retry-after"], isStale });
  };
  const fail = (error: DeliveryError, from?: IncomingMessage) => {
    settle(error, from);
    request.destroy();
  };

  followPhases(request, (reached) => {
    phase = reached;
  });
  // This listener outlives the response: a late error without one would end the process.
  request.on("error", (error) => settle(errorIn(phase, error)));
  request.on("close", () => settle(errorIn(phase)));
  request.on("upgrade", () => fail("RESPONSE_MALFORMED"));
  let interim = 0;
  request.on("information", () => {
    if (++interim > maxInterimResponses) fail("RESPONSE_MALFORMED");
  });
  request.on("response", (response) => {
    status = response.statusCode ?? null;
    phase = "body";
    const refusal = statusError(status);
    response.on("error", (error) => settle(errorIn(phase, error)));
    if (refusal !== null) return fail(refusal, response);
    // Each pair of name and value has a colon, a space and a line end.
    const headerBytes = response.rawHeaders.reduce((total, text) => total + text.length + 2, 0);
    readBody(response, maxResponseBytes - headerBytes);
  });
  return { promise, abort: (error: "TIMEOUT" | "ABORTED") => fail(error) };

  function readBody(response: IncomingMessage, budgetBytes: number): void {
    let leftBytes = budgetBytes;
    response.on("data", (chunk: Uint8Array) => {
      leftBytes -= chunk.length;
      if (leftBytes > 0) return;
      settle(null, response);
      request.destroy();
    });
    response.on("end", () => settle(response.complete ? null : "RESPONSE_INCOMPLETE", response));
    response.on("close", () => settle("RESPONSE_INCOMPLETE"));
  }
}

/** Errors differ by runtime and TLS library; the phase of the connection does not. */
function followPhases(request: ClientRequest, reach: (phase: Phase) => void): void {
  request.on("socket", (socket: Socket & { encrypted?: boolean }) => {
    if (!socket.connecting) return reach("response");
    socket.once("connect", () => reach(socket.encrypted === true ? "tls" : "response"));
    socket.once("secureConnect", () => reach("response"));
  });
}

function errorIn(phase: Phase, error?: Error & { code?: string }): DeliveryError {
  if (phase === "connect") return "CONNECT_FAILED";
  if (phase === "tls") return "TLS_FAILED";
  // The HTTP parser of all three runtimes names its errors so.
  if (error?.code?.startsWith("HPE_")) return "RESPONSE_MALFORMED";
  return phase === "body" ? "RESPONSE_INCOMPLETE" : "CONNECTION_LOST";
}

function statusError(status: number | null): DeliveryError | null {
  if (status === null || status < 200) return "RESPONSE_MALFORMED";
  if (status < 300) return null;
  return status < 400 ? "REDIRECT" : "BAD_STATUS";
}

/** The three forms of a date in HTTP (RFC 9110, 5.6.7); the last has no zone, and is in UTC too. */
const httpDate = /^[A-Z][a-z]{2,8},? [\w -]{6,11} \d\d:\d\d:\d\d( GMT| \d{4})$/;

/**
 * Reads `Retry-After` (RFC 9110, 10.2.3): seconds, or a date relative to `nowMs` (Unix epoch).
 * @returns whole seconds, 0 for a past date, null when absent or unreadable
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) return Math.min(Number(text), maxRetryAfterSeconds);
  const zone = httpDate.exec(text)?.[1];
  const dateMs = zone === undefined ? Number.NaN : Date.parse(zone === " GMT" ? text : `${text} GMT`);
  if (Number.isNaN(dateMs)) return null;
  return Math.min(Math.max(Math.ceil((dateMs - nowMs) / 1000), 0), maxRetryAfterSeconds);
}

export type DeliverRequest = {
  /** From `resolveEndpoint`, as `address`. */
  readonly url: URL;
  /** The IP address to connect to; the URL's host is only for `Host` and the TLS server name. */
  readonly address: string;
  /** All but `Host`, `Content-Length` and `Connection`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly allowPrivate: boolean;
  /** For connect, TLS, headers and body together. */
  readonly deadlineMs: number;
  /** Ends the attempt with `ABORTED`. */
  readonly signal: AbortSignal;
};

export type ExchangeOptions = {
  readonly clock?: Clock;
  /** Kept connections per endpoint address; 32 by default. */
  readonly maxIdlePerEndpoint?: number;
  /** How long an idle one is kept; 4 s by default, below the 5 s of many servers. */
  readonly idleTimeoutMs?: number;
  /** Certificates to trust instead of the runtime's roots, PEM. */
  readonly ca?: string;
};

export type Exchange = ReturnType<typeof createExchange>;

type Agents = { readonly http: http.Agent; readonly https: https.Agent };

/** Headers and body together. */
const maxResponseBytes = 16 * 1024;

/**
 * Makes the sender's HTTP client. Connections are kept per checked address, port and server name, so an endpoint whose name
 * has moved gets no connection to its old address. These agents do not read the environment's proxy variables.
 */
export function createExchange(options: ExchangeOptions = {}) {
  const { clock = systemClock, maxIdlePerEndpoint = 32, idleTimeoutMs = 4000, ca } = options;
  const trust = {
    rejectUnauthorized: true,
    minVersion: "TLSv1.2",
    ...(ca === undefined ? {} : { ca }),
  } as const;
  const keep = { keepAlive: true, maxFreeSockets: maxIdlePerEndpoint, timeout: idleTimeoutMs };
  const kept: Agents = { http: new http.Agent(keep), https: new https.Agent({ ...keep, ...trust }) };
  const single: Agents = { http: new http.Agent(), https: new https.Agent(trust) };

  /** Rejects only for a header that HTTP does not allow; whatever the endpoint does is a result. */
  async function deliver(request: DeliverRequest): Promise<AttemptResult> {
    if (isRefused(request))
      return { status: null, error: "ADDRESS_REFUSED", retryAfterSeconds: null, durationMs: 0 };
    const startedMs = performance.now();
    const { error, status, retryAfter } = await post(request, [kept, single]);
    const retryAfterSeconds = error === null ? null : parseRetryAfter(retryAfter, clock.now());
    const durationMs = Math.round(performance.now() - startedMs);
    return { status, error, retryAfterSeconds, durationMs };
  }

  /** Closes the idle connections, and ends no attempt. */
  function close(): void {
    for (const agents of [kept, single]) for (const agent of [agents.http, agents.https]) agent.destroy();
  }

  return { deliver, close };
}

/** Repeats the address guard's rule, for a caller that did not ask it. A name would be resolved again. */
function isRefused({ url, address, allowPrivate }: DeliverRequest): boolean {
  if (isIP(address) === 0) return true;
  return !allowPrivate && (url.protocol !== "https:" || nonPublicRange(address) !== null);
}

/**
 * A kept connection may be closed just as the request is sent, which says nothing about the endpoint: the request is sent
 * once more on a new one, within the same deadline. At worst it arrives twice, which at-least-once delivery allows.
 */
async function post(request: DeliverRequest, [kept, single]: [Agents, Agents]): Promise<WebhookResponse> {
  const { deadlineMs, signal } = request;
  let abort = (_error: "TIMEOUT" | "ABORTED") => {};
  const timer = setTimeout(() => abort("TIMEOUT"), deadlineMs);
  const onAbort = () => abort("ABORTED");
  signal.addEventListener("abort", onAbort);
  const postOnce = (agents: Agents) => {
    const reading = readResponse(send(request, agents));
    abort = reading.abort;
    if (signal.aborted) abort("ABORTED");
    return reading.promise;
  };
  try {
    const first = await postOnce(kept);
    return first.isStale ? await postOnce(single) : first;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

function send({ url, address, headers, body }: DeliverRequest, agents: Agents) {
  const bytes = Buffer.from(body);
  const host = hostOf(url);
  const isSecure = url.protocol === "https:";
  const options: https.RequestOptions = {
    host: address,
    port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
    method: "POST",
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, Host: url.host, "Content-Length": bytes.length },
    maxHeaderSize: maxResponseBytes,
    // A server name is never an address (RFC 6066, 3); the certificate is then checked against `host`.
    ...(isIP(host) === 0 ? { servername: host } : {}),
  };
  const request = isSecure
    ? https.request({ ...options, agent: agents.https })
    : http.request({ ...options, agent: agents.http });
  request.end(bytes);
  return request;
}
