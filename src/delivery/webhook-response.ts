/** An endpoint's HTTP response: read within bounds, never stored, and never thrown, whatever it is. */
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { DeliveryError } from "./outcome.ts";

export type WebhookResponse = {
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
 *
 * @param maxBytes for status line, headers and body together
 * @returns the promise, and what settles it with an error and closes the connection
 */
export function readResponse(request: ClientRequest, maxBytes: number) {
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
 * @param value the header as received, or undefined
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
