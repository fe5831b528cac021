/** The HTTP exchange of an attempt: a POST to an address that was checked (decision D10.3). */

import type { ClientRequest, IncomingMessage } from "node:http";
import * as http from "node:http";
import * as https from "node:https";
import { isIP, type Socket } from "node:net";
import written from "../../data/delivery-failures.json" with { type: "json" };
import { type Clock, systemClock } from "../domain/clock.ts";
import { classifyAddress, hostOf } from "./address-guard.ts";

/** Every reason for which an attempt fails, with one sentence each for the operator. The codes are stable. */
export const deliveryErrors = written.errors;

export type DeliveryError = keyof typeof deliveryErrors;

export type AttemptResult = {
  /** The HTTP status, as soon as there was one, even when the attempt failed later. */
  readonly status: number | null;
  /** Null when acknowledged. */
  readonly error: DeliveryError | null;
  /** What a failed answer's `Retry-After` asks for, or null. */
  readonly retryAfterSeconds: number | null;
  readonly durationMs: number;
};

/** A sentence for an endpoint's last error, `BAD_STATUS 503` for example. */
export function explainError(lastError: string): string {
  const [code = ""] = lastError.split(" ");
  return Object.hasOwn(deliveryErrors, code) ? deliveryErrors[code as keyof typeof deliveryErrors] : "";
}

type WebhookResponse = {
  readonly status: number | null;
  /** Null when the endpoint acknowledged. */
  readonly error: DeliveryError | null;
  readonly retryAfter: string | undefined;
  /** True when a kept connection turned out to be closed, before a byte of a response. */
  readonly isStale: boolean;
};

type Phase = "connect" | "tls" | "response" | "body";
type Settle = (error: DeliveryError | null, from?: IncomingMessage) => void;

/** A server sends one or two interim responses (1xx); an endless row of them is no response. */
const maxInterimResponses = 16;
/** The longest `Retry-After`, more than any schedule waits; keeps an absurd number out of arithmetic and storage. */
const maxRetryAfterSeconds = 366 * 24 * 3600;

/**
 * Reads the response to a request that was just made.
 *
 * Any 2xx acknowledges once its body is whole or `maxBytes` have been read. A response that is not 2xx needs
 * no body. A connection is given back for reuse only after a whole 2xx body; in every other case it is closed.
 * @param maxBytes for status line, headers and body together
 * @returns the promise, and what settles it with an error and closes the connection
 */
function readResponse(request: ClientRequest, maxBytes: number) {
  const { promise, resolve } = Promise.withResolvers<WebhookResponse>();
  let phase: Phase = "connect";
  let status: number | null = null;
  let isOver = false;

  const settle: Settle = (error, from) => {
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
  // This listener outlives the response: a late error must find somebody, or it would end the process.
  request.on("error", (error) => settle(errorIn(phase, error)));
  request.on("close", () => settle(errorIn(phase)));
  request.on("upgrade", () => fail("RESPONSE_MALFORMED"));
  limitInterimResponses(request, () => fail("RESPONSE_MALFORMED"));
  request.on("response", (response) => {
    status = response.statusCode ?? null;
    phase = "body";
    const refusal = judgeStatus(status);
    response.on("error", (error) => settle(errorIn(phase, error)));
    if (refusal !== null) return fail(refusal, response);
    readBody(response, maxBytes - headerBytes(response), settle);
  });
  return { promise, abort: (error: "TIMEOUT" | "ABORTED") => fail(error) };

  function readBody(response: IncomingMessage, budgetBytes: number, done: Settle): void {
    let leftBytes = budgetBytes;
    response.on("data", (chunk: Uint8Array) => {
      leftBytes -= chunk.length;
      if (leftBytes > 0) return;
      done(null, response);
      request.destroy();
    });
    response.on("end", () => done(response.complete ? null : "RESPONSE_INCOMPLETE", response));
    response.on("close", () => done("RESPONSE_INCOMPLETE"));
  }
}

/** Errors look different on each runtime and TLS library; how far the connection had come does not. */
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

function limitInterimResponses(request: ClientRequest, onTooMany: () => void): void {
  let count = 0;
  request.on("information", () => {
    count += 1;
    if (count > maxInterimResponses) onTooMany();
  });
}

function judgeStatus(status: number | null): DeliveryError | null {
  if (status === null || status < 200) return "RESPONSE_MALFORMED";
  if (status < 300) return null;
  return status < 400 ? "REDIRECT" : "BAD_STATUS";
}

function headerBytes(response: IncomingMessage): number {
  // Each pair of name and value comes with a colon, a space and a line end.
  return response.rawHeaders.reduce((total, text) => total + text.length + 2, 0);
}

/** The three forms of a date in HTTP (RFC 9110, 5.6.7); only the last has no zone, and is in UTC all the same. */
const httpDate = /^[A-Z][a-z]{2,8},? [\w -]{6,11} \d\d:\d\d:\d\d( GMT| \d{4})$/;

/**
 * Reads `Retry-After` (RFC 9110, 10.2.3): seconds, or a date.
 * @param nowMs the time a date is relative to, in milliseconds since the Unix epoch
 * @returns whole seconds from now, 0 for a date in the past, null when absent or unreadable
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
  /** From `resolveEndpoint`, as is `address`. */
  readonly url: URL;
  /** The IP address to connect to; the URL's host only fills `Host` and the TLS server name. */
  readonly address: string;
  /** All but `Host`, `Content-Length` and `Connection`, which are set here. */
  readonly headers: Readonly<Record<string, string>>;
  /** The exact bytes; text is sent as UTF-8. */
  readonly body: string | Uint8Array;
  readonly allowPrivate: boolean;
  /** For connect, TLS, headers and body together; 15 s when left out. */
  readonly deadlineMs?: number;
  /** Headers and body together; 16 KiB when left out. */
  readonly maxResponseBytes?: number;
  /** Ends the attempt with `ABORTED`, when the service has to stop. */
  readonly signal?: AbortSignal;
};

export type ExchangeOptions = {
  /** What a `Retry-After` date is relative to. */
  readonly clock?: Clock;
  /** Connections kept open per endpoint address; 32 when left out. */
  readonly maxIdlePerEndpoint?: number;
  /** How long an unused one is kept; 4 s when left out, below the 5 s after which many servers close theirs. */
  readonly idleTimeoutMs?: number;
  /** Certificates to trust instead of the runtime's roots, PEM. */
  readonly ca?: string;
};

export type Exchange = ReturnType<typeof createExchange>;

type Agents = { readonly http: http.Agent; readonly https: https.Agent };
type PendingRequest = { readonly request: DeliverRequest; abort: (error: "TIMEOUT" | "ABORTED") => void };

const defaultDeadlineMs = 15_000;
const defaultMaxResponseBytes = 16 * 1024;

/**
 * Makes the sender's HTTP side. Its connections are kept per checked address, port and server name, so an
 * endpoint whose name has moved never gets a connection to its old address. The proxy variables of the
 * environment have no effect: an agent that is made here does not read them.
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

  /** Whatever the endpoint does is a result; rejects only for a header that HTTP does not allow. */
  async function deliver(request: DeliverRequest): Promise<AttemptResult> {
    if (isRefused(request))
      return { status: null, error: "ADDRESS_REFUSED", retryAfterSeconds: null, durationMs: 0 };
    const startedMs = performance.now();
    const { error, status, retryAfter } = await post(request, [kept, single]);
    const retryAfterSeconds = error === null ? null : parseRetryAfter(retryAfter, clock.now());
    const durationMs = Math.round(performance.now() - startedMs);
    return { status, error, retryAfterSeconds, durationMs };
  }

  /** Closes the idle connections. Attempts under way are not ended by it. */
  function close(): void {
    for (const agents of [kept, single]) for (const agent of [agents.http, agents.https]) agent.destroy();
  }

  return { deliver, close };
}

/** The address guard's rule once more, for a caller that forgot to ask it. A name would be resolved again. */
function isRefused({ url, address, allowPrivate }: DeliverRequest): boolean {
  if (isIP(address) === 0) return true;
  return !allowPrivate && (url.protocol !== "https:" || !classifyAddress(address).public);
}

/**
 * A kept connection that the server closed just as the request was sent says nothing about the endpoint, so
 * the request is sent once more on a new one, within the same deadline. At worst it arrives twice, which
 * at-least-once delivery allows and the delivery id shows.
 */
async function post(request: DeliverRequest, [kept, single]: [Agents, Agents]): Promise<WebhookResponse> {
  const pending: PendingRequest = { request, abort: () => {} };
  const timer = setTimeout(() => pending.abort("TIMEOUT"), request.deadlineMs ?? defaultDeadlineMs);
  const onAbort = () => pending.abort("ABORTED");
  request.signal?.addEventListener("abort", onAbort);
  try {
    const first = await postOnce(pending, kept);
    return first.isStale ? await postOnce(pending, single) : first;
  } finally {
    clearTimeout(timer);
    request.signal?.removeEventListener("abort", onAbort);
  }
}

function postOnce(pending: PendingRequest, agents: Agents): Promise<WebhookResponse> {
  const { request } = pending;
  const { promise, abort } = readResponse(
    send(request, agents),
    request.maxResponseBytes ?? defaultMaxResponseBytes,
  );
  pending.abort = abort;
  if (request.signal?.aborted) abort("ABORTED");
  return promise;
}

function send({ url, address, headers, body, maxResponseBytes }: DeliverRequest, agents: Agents) {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const host = hostOf(url);
  const isSecure = url.protocol === "https:";
  const options: https.RequestOptions = {
    host: address,
    port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
    method: "POST",
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, Host: url.host, "Content-Length": bytes.length },
    maxHeaderSize: maxResponseBytes ?? defaultMaxResponseBytes,
    // A server name is never an address (RFC 6066, 3); the certificate is then checked against `host`.
    ...(isIP(host) === 0 ? { servername: host } : {}),
  };
  const request = isSecure
    ? https.request({ ...options, agent: agents.https })
    : http.request({ ...options, agent: agents.http });
  request.end(bytes);
  return request;
}
