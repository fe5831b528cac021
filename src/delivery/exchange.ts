/** Sends the POST of an attempt to an IP address that was checked (decision D10.3). */

import type { ClientRequest, IncomingMessage } from "node:http";
import * as http from "node:http";
import * as https from "node:https";
import { isIP, type Socket } from "node:net";
import { type Clock, systemClock } from "../domain/clock.ts";
import type { DeliveryErrorCode } from "../domain/deliveries.ts";
import { findNonPublicRange, hostOfUrl } from "./address-guard.ts";

export type AttemptResult = {
  /** The HTTP status, even if the attempt failed later; null if the receiver sent none. */
  readonly status: number | null;
  /** The failure's code; null if the receiver acknowledged the delivery. */
  readonly error: DeliveryErrorCode | null;
  /** The `Retry-After` of a response that does not acknowledge the delivery; null without the header. */
  readonly retryAfterSeconds: number | null;
  readonly durationMs: number;
};

type WebhookResponse = Pick<AttemptResult, "status" | "error"> & {
  readonly retryAfter: string | undefined;
  /** True if a kept connection was closed before the first byte of the response. */
  readonly isStale: boolean;
};

type Phase = "connect" | "tls" | "response" | "body";

/** The most interim responses (1xx) to one request; servers send one or two. */
const maxInterimResponses = 16;

/**
 * Reads the response to a request. A 2xx acknowledges the delivery once its body is whole, or once 16 KiB of head and
 * body are read. The body of any other status is not read. A connection is reused only after a whole 2xx body.
 * @returns the promise, and a function that settles it with an error and closes the connection
 */
function readResponse(request: ClientRequest) {
  const { promise, resolve } = Promise.withResolvers<WebhookResponse>();
  let phase: Phase = "connect";
  let status: number | null = null;
  let isOver = false;

  const settle = (error: DeliveryErrorCode | null, from?: IncomingMessage) => {
    if (isOver) return;
    isOver = true;
    const isStale = error === "CONNECTION_LOST" && request.reusedSocket;
    resolve({ status, error, retryAfter: from?.headers["retry-after"], isStale });
  };
  const fail = (error: DeliveryErrorCode, from?: IncomingMessage) => {
    settle(error, from);
    request.destroy();
  };

  followPhases(request, (reached) => {
    phase = reached;
  });
  // This listener stays after the response: a late error without a listener would end the process.
  request.on("error", (error) => settle(errorOfPhase(phase, error)));
  request.on("close", () => settle(errorOfPhase(phase)));
  request.on("upgrade", () => fail("RESPONSE_MALFORMED"));
  let interim = 0;
  request.on("information", () => {
    if (++interim > maxInterimResponses) fail("RESPONSE_MALFORMED");
  });
  request.on("response", (response) => {
    status = response.statusCode ?? null;
    phase = "body";
    const refusal = errorOfStatus(status);
    response.on("error", (error) => settle(errorOfPhase(phase, error)));
    if (refusal !== null) return fail(refusal, response);
    // Two bytes follow each name (colon and space) and each value (line end).
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

/** Reports the phases of a connection. Runtimes and TLS libraries have different errors, and the same phases. */
function followPhases(request: ClientRequest, reach: (phase: Phase) => void): void {
  request.on("socket", (socket: Socket & { encrypted?: boolean }) => {
    if (!socket.connecting) return reach("response");
    socket.once("connect", () => reach(socket.encrypted === true ? "tls" : "response"));
    socket.once("secureConnect", () => reach("response"));
  });
}

function errorOfPhase(phase: Phase, error?: Error & { code?: string }): DeliveryErrorCode {
  if (phase === "connect") return "CONNECT_FAILED";
  if (phase === "tls") return "TLS_FAILED";
  // In every runtime the codes of the HTTP parser's errors begin with HPE_.
  if (error?.code?.startsWith("HPE_")) return "RESPONSE_MALFORMED";
  return phase === "body" ? "RESPONSE_INCOMPLETE" : "CONNECTION_LOST";
}

function errorOfStatus(status: number | null): DeliveryErrorCode | null {
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
  if (/^\d+$/.test(text)) return Number(text);
  const zone = httpDate.exec(text)?.[1];
  const dateMs = zone === undefined ? Number.NaN : Date.parse(zone === " GMT" ? text : `${text} GMT`);
  return Number.isNaN(dateMs) ? null : Math.max(Math.ceil((dateMs - nowMs) / 1000), 0);
}

export type WebhookRequest = {
  /** The endpoint's URL. Its host is used only for `Host` and the TLS server name. */
  readonly url: URL;
  /** The IP address to connect to, which `resolveEndpoint` has checked. */
  readonly address: string;
  /** All headers except `Host`, `Content-Length` and `Connection`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly allowPrivate: boolean;
  /** The time limit of connect, TLS, headers and body together. */
  readonly deadlineMs: number;
  /** Aborts the attempt, whose error is then `ABORTED`. */
  readonly signal: AbortSignal;
};

export type WebhookHttpClientOptions = {
  readonly clock?: Clock;
  /** How long an idle connection is kept; 4 s by default, because many servers close theirs after 5 s. */
  readonly idleTimeoutMs?: number;
  /** Certificates to trust instead of the runtime's roots, PEM. */
  readonly ca?: string;
};

export type WebhookHttpClient = ReturnType<typeof createWebhookHttpClient>;

type Agents = { readonly http: http.Agent; readonly https: https.Agent };

/** The most bytes that are read of a response's headers and body together. */
const maxResponseBytes = 16 * 1024;

/**
 * Makes the sender's HTTP client. Connections are kept per checked IP address, port and server name, so an endpoint
 * whose DNS has changed gets no connection to its old address. The environment's proxy variables are not read.
 */
export function createWebhookHttpClient(options: WebhookHttpClientOptions = {}) {
  const { clock = systemClock, idleTimeoutMs = 4000, ca } = options;
  const trust = {
    rejectUnauthorized: true,
    minVersion: "TLSv1.2",
    ...(ca === undefined ? {} : { ca }),
  } as const;
  const keep = { keepAlive: true, timeout: idleTimeoutMs };
  const kept: Agents = { http: new http.Agent(keep), https: new https.Agent({ ...keep, ...trust }) };
  const single: Agents = { http: new http.Agent(), https: new https.Agent(trust) };

  /** Sends one delivery. Rejects only for a header that HTTP does not allow; each failure of an endpoint is a result. */
  async function deliver(request: WebhookRequest): Promise<AttemptResult> {
    if (isAddressRefused(request))
      return { status: null, error: "ADDRESS_REFUSED", retryAfterSeconds: null, durationMs: 0 };
    const startedMs = performance.now();
    const { error, status, retryAfter } = await post(request, [kept, single]);
    const retryAfterSeconds = error === null ? null : parseRetryAfter(retryAfter, clock.now());
    const durationMs = Math.round(performance.now() - startedMs);
    return { status, error, retryAfterSeconds, durationMs };
  }

  /** Closes all connections, which cuts off attempts under way. To be called after the sender has closed. */
  function close(): void {
    for (const agents of [kept, single]) for (const agent of [agents.http, agents.https]) agent.destroy();
  }

  return { deliver, close };
}

/** Repeats the address guard's check, for callers without the guard. A host name is refused: it would be resolved again. */
function isAddressRefused({ url, address, allowPrivate }: WebhookRequest): boolean {
  if (isIP(address) === 0) return true;
  return !allowPrivate && (url.protocol !== "https:" || findNonPublicRange(address) !== null);
}

/**
 * Sends the request. If the receiver closes a kept connection before it answers, the endpoint has not failed: the
 * request is sent once more on a new connection, with the same deadline. The request may arrive twice.
 */
async function post(request: WebhookRequest, [kept, single]: [Agents, Agents]): Promise<WebhookResponse> {
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

function send({ url, address, headers, body }: WebhookRequest, agents: Agents) {
  const bytes = Buffer.from(body);
  const host = hostOfUrl(url);
  const isSecure = url.protocol === "https:";
  const options: https.RequestOptions = {
    host: address,
    port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
    method: "POST",
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, Host: url.host, "Content-Length": bytes.length },
    maxHeaderSize: maxResponseBytes,
    // TLS allows no IP address as server name (RFC 6066, 3). Without a name, the certificate is checked against `host`.
    ...(isIP(host) === 0 ? { servername: host } : {}),
  };
  const request = isSecure
    ? https.request({ ...options, agent: agents.https })
    : http.request({ ...options, agent: agents.http });
  request.end(bytes);
  return request;
}
