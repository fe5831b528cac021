/** One connection with its open requests: how it is refused, and how its time runs out. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ListenLimits } from "./limits.ts";
import { type RefusalStatus, refuseSocket } from "./refusal.ts";
import type { RequestListener } from "./request-listener.ts";

/** A request whose head has come and whose answer is not yet done. */
export type OpenRequest = {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** What is to answer it; null once that has begun. */
  answer: RequestListener | null;
  /** What it takes in memory with its answer, about. */
  heldBytes: number;
  /** Since when the answer has been seen waiting for the client to take what was written. */
  blockedSinceMs: number | null;
};

/** The connections of one address: of an IPv6 address, of its /64, unless it is a trusted proxy's. */
export type Address = { readonly name: string; connections: number };

export type Connection = {
  socket: Socket;
  readonly address: Address;
  /** In order of arrival: a client may send the next request before it has the answer. */
  readonly openRequests: Set<OpenRequest>;
  /** Whether it ends with its next answer. */
  isShed: boolean;
  /** Whether what has come cannot be read, so that it ends behind its answers. */
  isBroken: boolean;
  /** Whether it is not read, because enough of its requests are being answered. */
  isPaused: boolean;
  /** What its requests take in memory, how many of them are being answered and how many wait; kept by the backlog. */
  heldBytes: number;
  answering: number;
  waiting: number;
  /** `socket.bytesRead` when nothing of a next request had arrived. */
  consumedBytes: number;
  /** When the request that is arriving began; `null` while none is. */
  requestSinceMs: number | null;
  /** When the last answer was done. */
  idleSinceMs: number;
};

export function isIdle(connection: Connection): boolean {
  return connection.openRequests.size === 0 && connection.socket.bytesRead === connection.consumedBytes;
}

/**
 * Says in the last answer that the connection ends: an earlier one with `Connection: close` would cut off the requests
 * behind it.
 */
export function announceClose(connection: Connection): void {
  const outgoings = [...connection.openRequests].map(({ outgoing }) => outgoing);
  const last = outgoings.pop();
  for (const outgoing of outgoings) {
    if (!outgoing.headersSent) outgoing.removeHeader("connection");
  }
  if (last !== undefined && !last.headersSent) last.setHeader("connection", "close");
}

/**
 * Refuses what arrives. A refusal is an answer, and answers come in the order of the requests: it may be written only
 * in the place of the first that is open. Requests before the broken one are answered, and then the connection ends
 * without a word.
 */
export function refuseConnection(connection: Connection, statusCode: RefusalStatus): void {
  const openRequests = [...connection.openRequests];
  const last = openRequests.at(-1);
  if (last?.incoming.complete) {
    // An answer that waits for those before it may have said already that the connection stays.
    connection.isBroken = true;
    announceClose(connection);
  } else if (openRequests.length > 1 || last?.outgoing.headersSent) connection.socket.destroy();
  else refuseSocket(connection.socket, statusCode);
}

/** Ends who takes no answer: it would hold its bytes and its place among the connections for ever. */
export function endSlowReader(connection: Connection, nowMs: number, limits: ListenLimits): void {
  for (const openRequest of connection.openRequests) {
    const { writableEnded, writableNeedDrain } = openRequest.outgoing;
    openRequest.blockedSinceMs =
      writableEnded || writableNeedDrain ? (openRequest.blockedSinceMs ?? nowMs) : null;
    if (openRequest.blockedSinceMs === null) continue;
    if (nowMs - openRequest.blockedSinceMs > limits.responseTimeoutMs) connection.socket.destroy();
  }
}

/** Enforces the request's deadlines, absolute from its first byte: a client that drips bytes gains nothing. */
export function enforceDeadlines(connection: Connection, nowMs: number, limits: ListenLimits): void {
  const { socket, openRequests } = connection;
  if (isIdle(connection) && connection.requestSinceMs === null) {
    if (nowMs - connection.idleSinceMs > limits.keepAliveTimeoutMs) socket.destroy();
    return;
  }
  // The first byte of a further request is noticed here, at most one sweep late.
  connection.requestSinceMs ??= nowMs;
  const elapsedMs = nowMs - connection.requestSinceMs;
  if (openRequests.size === 0) {
    if (elapsedMs > limits.headersTimeoutMs) refuseSocket(socket, 408);
    return;
  }
  const arriving = [...openRequests].some(({ incoming }) => !incoming.complete);
  if (arriving && elapsedMs > limits.requestTimeoutMs) refuseConnection(connection, 408);
}
