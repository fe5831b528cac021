/** Reads what an endpoint answers: bounded, never stored, and never thrown, whatever it sends. */
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { DeliveryError } from "./outcome.ts";

export type Answer = {
  readonly status: number | null;
  /** Null when the endpoint acknowledged. */
  readonly error: DeliveryError | null;
  readonly retryAfter: string | undefined;
  /** True when a kept connection turned out to be closed, before a byte of an answer. */
  readonly isStale: boolean;
};

export type Reading = {
  readonly promise: Promise<Answer>;
  /** Settles the promise with this error and closes the connection. */
  readonly abort: (error: "TIMEOUT" | "ABORTED") => void;
};

type Phase = "connect" | "tls" | "answer" | "body";
type Settle = (error: DeliveryError | null, from?: IncomingMessage) => void;

/** A server sends one or two interim answers (1xx); an endless row of them is no answer. */
const maxInterimAnswers = 16;

/**
 * Reads the answer to a request that was just made.
 *
 * Any 2xx acknowledges once its body is whole or `maxBytes` have been read. An answer that is not 2xx needs
 * no body. A connection is given back for reuse only after a whole 2xx body; in every other case it is closed.
 *
 * @param maxBytes for status line, headers and body together
 */
export function readAnswer(request: ClientRequest, maxBytes: number): Reading {
  const { promise, resolve } = Promise.withResolvers<Answer>();
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
  // This listener outlives the answer: a late error must find somebody, or it would end the process.
  request.on("error", (error) => settle(errorIn(phase, error)));
  request.on("close", () => settle(errorIn(phase)));
  request.on("upgrade", () => fail("RESPONSE_MALFORMED"));
  limitInterimAnswers(request, () => fail("RESPONSE_MALFORMED"));
  request.on("response", (response) => {
    status = response.statusCode ?? null;
    phase = "body";
    const refusal = judgeStatus(status);
    response.on("error", (error) => settle(errorIn(phase, error)));
    if (refusal !== null) return fail(refusal, response);
    readBody(response, maxBytes - headerBytes(response), settle);
  });
  return { promise, abort: (error) => fail(error) };

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
    if (!socket.connecting) return reach("answer");
    socket.once("connect", () => reach(socket.encrypted === true ? "tls" : "answer"));
    socket.once("secureConnect", () => reach("answer"));
  });
}

function errorIn(phase: Phase, error?: Error & { code?: string }): DeliveryError {
  if (phase === "connect") return "CONNECT_FAILED";
  if (phase === "tls") return "TLS_FAILED";
  // The HTTP parser of all three runtimes names its errors so.
  if (error?.code?.startsWith("HPE_")) return "RESPONSE_MALFORMED";
  return phase === "body" ? "RESPONSE_INCOMPLETE" : "CONNECTION_LOST";
}

function limitInterimAnswers(request: ClientRequest, onTooMany: () => void): void {
  let count = 0;
  request.on("information", () => {
    count += 1;
    if (count > maxInterimAnswers) onTooMany();
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
