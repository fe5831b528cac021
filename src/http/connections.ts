/**
 * The connections of one listener: which of them wait for an answer, which are idle, which took too long, and which of
 * their requests may be answered already.
 *
 * The runtimes' HTTP servers know this too, but none says it, and each leaves a gap: Bun applies no deadline to a
 * socket handed to it with `emit("connection")` and keeps a connection open after the last answer of a drain;
 * Deno's drain cuts off a second request that has begun to arrive.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Backlog } from "./backlog.ts";
import type { CountedResponse } from "./bounded-messages.ts";
import {
  announceClose,
  type Connection,
  endSlowReader,
  enforceDeadlines,
  isIdle,
  type OpenRequest,
  refuseConnection,
} from "./connection.ts";
import { maxBodyBytes } from "./http-call.ts";
import type { ListenLimits } from "./limits.ts";
import type { Places } from "./places.ts";
import { type RefusalStatus, refuseSocket } from "./refusal.ts";
import type { RequestListener } from "./request-listener.ts";

export type Connections = ReturnType<typeof createConnections>;

type ConnectionsOptions = {
  readonly limits: ListenLimits;
  readonly places: Places;
  readonly backlog: Backlog;
  /** Whether deadlines for requests are enforced here; otherwise the runtime does it. */
  readonly enforceDeadlines: boolean;
  /** The runtime's own way to close idle connections, where the bytes of a socket cannot be counted. */
  readonly closeIdle?: () => void;
};

/** What a request with a usual head takes in memory besides its body and its answer, about. */
const requestBytes = 4 * 1024;

export function createConnections(options: ConnectionsOptions) {
  const { limits, places, backlog } = options;
  let draining = false;

  /** A request whose head is complete: it is answered when not too many before it are open. */
  function begin(incoming: IncomingMessage, outgoing: CountedResponse, answer: RequestListener): void {
    const { socket } = incoming;
    // What one reading has brought is handed out to the end, even when the connection was closed meanwhile.
    if (socket.destroyed) return;
    const connection = places.of(socket) ?? places.take(socket);
    if (connection === null) return;
    const openRequest: OpenRequest = { incoming, outgoing, answer, heldBytes: 0, blockedSinceMs: null };
    connection.requestSinceMs ??= performance.now();
    connection.openRequests.add(openRequest);
    outgoing.on("close", () => finish(connection, openRequest));
    outgoing.onWaiting = (bytes) => hold(connection, openRequest, bytes);
    // The head is only measured where several requests come at once: nobody else can have many large ones.
    const headBytes = connection.openRequests.size > 1 ? lengthOf(incoming.rawHeaders) : 0;
    hold(connection, openRequest, requestBytes + headBytes + bodyBytes(incoming));
    backlog.wait(connection);
    if (draining || connection.isShed) announceClose(connection);
    answerNext(connection);
    const waits = openRequest.answer !== null;
    if (waits && backlog.countWaiting() > limits.maxWaitingRequests) places.close(connection);
  }

  function hold(connection: Connection, openRequest: OpenRequest, bytes: number): void {
    openRequest.heldBytes += bytes;
    // The client has taken something.
    if (bytes < 0) openRequest.blockedSinceMs = null;
    backlog.hold(connection, bytes);
  }

  /** Has the requests answered that may be, in their order; while there are more, the connection is not read. */
  function answerNext(connection: Connection): void {
    const { socket, openRequests } = connection;
    for (const openRequest of openRequests) {
      if (socket.destroyed) return;
      if (connection.answering >= (backlog.isBusy() ? 1 : limits.maxOpenRequests)) break;
      const { answer, incoming, outgoing } = openRequest;
      if (answer === null) continue;
      openRequest.answer = null;
      backlog.start(connection);
      answer(incoming, outgoing);
    }
    const isPaused = connection.waiting > 0 || connection.answering >= limits.maxOpenRequests;
    // Reading a body begins to read its connection again, so that a pause may have to be repeated.
    if (isPaused) socket.pause();
    else if (connection.isPaused) socket.resume();
    connection.isPaused = isPaused;
  }

  function finish(connection: Connection, openRequest: OpenRequest): void {
    if (!connection.openRequests.delete(openRequest)) return;
    backlog.hold(connection, -openRequest.heldBytes);
    backlog.finish(connection, openRequest.answer === null);
    if (connection.openRequests.size > 0 || connection.isPaused) answerNext(connection);
    if (connection.openRequests.size > 0) return;
    connection.consumedBytes = connection.socket.bytesRead;
    connection.requestSinceMs = null;
    connection.idleSinceMs = performance.now();
    if (connection.isBroken) connection.socket.destroySoon();
    if (draining) closeIdle(options);
  }

  return {
    /** A connection has come; it is closed at once where there is no place for it. */
    open: (socket: Socket) => void places.take(socket),
    /** Its TLS handshake is done. On Deno what carries its requests is another object than what has come. */
    secure: places.move,
    begin,
    /** What arrives on the socket cannot be read, or is too late: refuses it, and closes the connection. */
    refuse(socket: Socket, statusCode: RefusalStatus): void {
      const connection = places.of(socket);
      if (connection === undefined) refuseSocket(socket, statusCode);
      else refuseConnection(connection, statusCode);
    },
    /** From now on every connection is closed after its last answer; idle ones at once. */
    drain(): void {
      draining = true;
      shed(places.all());
      closeIdle(options);
    },
    /** Every connection that there is ends with its next answer. */
    shed: () => shed(places.all()),
    usedShare: places.usedShare,
    /** Ends the connections whose time is up. */
    sweep(nowMs: number): void {
      for (const connection of places.all()) {
        endSlowReader(connection, nowMs, limits);
        if (options.enforceDeadlines) enforceDeadlines(connection, nowMs, limits);
      }
    },
    /** Ends every connection. */
    destroy(): void {
      for (const { socket } of places.all()) socket.destroy();
    },
  };
}

function shed(connections: Iterable<Connection>): void {
  for (const connection of connections) {
    connection.isShed = true;
    announceClose(connection);
  }
}

function closeIdle(options: ConnectionsOptions): void {
  if (options.closeIdle === undefined) {
    for (const connection of options.places.all()) if (isIdle(connection)) connection.socket.destroySoon();
  } else options.closeIdle();
}

/** The most that the body of a request may take in memory. */
function bodyBytes({ headers }: IncomingMessage): number {
  if (headers["transfer-encoding"] !== undefined) return maxBodyBytes;
  return Math.min(Number(headers["content-length"] ?? 0) || 0, maxBodyBytes);
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((length, text) => length + text.length, 0);
}
