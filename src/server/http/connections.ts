/**
 * The connections of one listener: which of them wait for an answer, which are idle, which took too long.
 *
 * The runtimes' HTTP servers know this too, but none says it, and each leaves a gap: Bun applies no deadline to a
 * socket handed to it with `emit("connection")` and keeps a connection open after the last answer of a drain;
 * Deno's drain cuts off a second request that has begun to arrive.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ListenLimits } from "./http-server.ts";
import { type RefusalStatus, refuseSocket } from "./refusal.ts";

/** A request whose head has come and whose answer is not yet done. */
type OpenRequest = {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Since when the answer has been seen waiting for the client to take what was written. */
  blockedSinceMs: number | null;
};

type Connection = {
  readonly socket: Socket;
  /** In order of arrival: a client may send the next request before it has the answer. */
  readonly openRequests: Set<OpenRequest>;
  /** `socket.bytesRead` when nothing of a next request had arrived. */
  consumedBytes: number;
  /** When the request that is arriving began; `null` while none is. */
  requestSinceMs: number | null;
  /** When the last answer was done. */
  idleSinceMs: number;
};

export type Connections = {
  /** A connection that may carry requests. */
  open(socket: Socket): void;
  /** A request whose head is complete. */
  begin(incoming: IncomingMessage, outgoing: ServerResponse): void;
  /** What arrives on the socket cannot be read, or is too late: refuses it, and closes the connection. */
  refuse(socket: Socket, statusCode: RefusalStatus): void;
  /** From now on every connection is closed after its last answer; idle ones at once. */
  drain(): void;
  /** Ends the connections whose time is up. */
  sweep(nowMs: number): void;
  /** Ends every connection. */
  destroy(): void;
};

type ConnectionsOptions = {
  readonly limits: ListenLimits;
  /** Whether deadlines for requests are enforced here; otherwise the runtime does it. */
  readonly enforceDeadlines: boolean;
  /** The runtime's own way to close idle connections, where the bytes of a socket cannot be counted. */
  readonly closeIdle?: () => void;
};

export function createConnections(options: ConnectionsOptions): Connections {
  const bySocket = new Map<Socket, Connection>();
  let draining = false;

  function open(socket: Socket): Connection {
    const nowMs = performance.now();
    const connection: Connection = {
      socket,
      openRequests: new Set(),
      consumedBytes: 0,
      requestSinceMs: nowMs,
      idleSinceMs: nowMs,
    };
    bySocket.set(socket, connection);
    // A peer that resets the connection is no event of ours; "close" follows in any case.
    socket.on("error", ignore);
    socket.once("close", () => bySocket.delete(socket));
    return connection;
  }

  function begin(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const connection = bySocket.get(incoming.socket) ?? open(incoming.socket);
    const openRequest: OpenRequest = { incoming, outgoing, blockedSinceMs: null };
    connection.requestSinceMs ??= performance.now();
    connection.openRequests.add(openRequest);
    outgoing.on("close", () => finish(connection, openRequest));
    if (draining) announceClose(connection);
  }

  function finish(connection: Connection, openRequest: OpenRequest): void {
    connection.openRequests.delete(openRequest);
    if (connection.openRequests.size > 0) return;
    connection.consumedBytes = connection.socket.bytesRead;
    connection.requestSinceMs = null;
    connection.idleSinceMs = performance.now();
    if (draining) closeIdle();
  }

  function closeIdle(): void {
    if (options.closeIdle === undefined) {
      for (const connection of bySocket.values()) {
        if (isIdle(connection)) connection.socket.destroySoon();
      }
    } else {
      options.closeIdle();
    }
  }

  return {
    open,
    begin,
    refuse(socket, statusCode) {
      const connection = bySocket.get(socket);
      if (connection === undefined) refuseSocket(socket, statusCode);
      else refuseConnection(connection, statusCode);
    },
    drain() {
      draining = true;
      for (const connection of bySocket.values()) announceClose(connection);
      closeIdle();
    },
    sweep(nowMs) {
      for (const connection of bySocket.values()) {
        endSlowReader(connection, nowMs, options.limits);
        if (options.enforceDeadlines) enforceDeadlines(connection, nowMs, options.limits);
      }
    },
    destroy() {
      for (const { socket } of bySocket.values()) socket.destroy();
    },
  };
}

function ignore(): void {}

function isIdle(connection: Connection): boolean {
  return connection.openRequests.size === 0 && connection.socket.bytesRead === connection.consumedBytes;
}

/**
 * Says in the last answer that the connection ends: an earlier one with `Connection: close` would cut off the requests
 * behind it.
 */
function announceClose(connection: Connection): void {
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
function refuseConnection(connection: Connection, statusCode: RefusalStatus): void {
  const openRequests = [...connection.openRequests];
  const last = openRequests.at(-1);
  if (last?.incoming.complete) announceClose(connection);
  else if (openRequests.length > 1 || last?.outgoing.headersSent) connection.socket.destroy();
  else refuseSocket(connection.socket, statusCode);
}

/** Ends who takes no answer: it would hold its bytes and its place among the connections for ever. */
function endSlowReader(connection: Connection, nowMs: number, limits: ListenLimits): void {
  for (const openRequest of connection.openRequests) {
    const { writableEnded, writableNeedDrain } = openRequest.outgoing;
    openRequest.blockedSinceMs =
      writableEnded || writableNeedDrain ? (openRequest.blockedSinceMs ?? nowMs) : null;
    if (openRequest.blockedSinceMs === null) continue;
    if (nowMs - openRequest.blockedSinceMs > limits.responseTimeoutMs) connection.socket.destroy();
  }
}

/** Enforces the request's deadlines, absolute from its first byte: a client that drips bytes gains nothing. */
function enforceDeadlines(connection: Connection, nowMs: number, limits: ListenLimits): void {
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
