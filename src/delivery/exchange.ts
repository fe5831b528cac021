/** The HTTP exchange of an attempt: a POST to an address that was checked (decision D10.3). */
import * as http from "node:http";
import * as https from "node:https";
import { isIP } from "node:net";
import { type Clock, systemClock } from "../domain/clock.ts";
import { classifyAddress, hostOf } from "./address-guard.ts";
import type { AttemptResult } from "./outcome.ts";
import { parseRetryAfter, readResponse, type WebhookResponse } from "./webhook-response.ts";

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
