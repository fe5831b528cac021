/** One listening server with its connections: its limits, how it is made and how it ends. */
import {
  createServer,
  type IncomingMessage,
  type Server as NodeHttpServer,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import type { Server, Socket } from "node:net";
import { type Connections, createConnections } from "./connections.ts";
import { sendRefusal, strictTransport } from "./refusal.ts";
import type { RequestListener } from "./request-listener.ts";
import { createTlsServers, type TlsCredentials } from "./tls.ts";

/** Limits on what one client may cost. Every queue and every wait of the listener has a bound here. */
export type ListenLimits = {
  /** A request's head, from its first byte (or from the connection's start) to the empty line. */
  readonly headersTimeoutMs: number;
  /** A whole request, head and body. */
  readonly requestTimeoutMs: number;
  /** What was written of an answer may wait this long for the client to take it. */
  readonly responseTimeoutMs: number;
  /** A connection without a request. Longer than the 60 s after which common load balancers let go. */
  readonly keepAliveTimeoutMs: number;
  /** A TLS handshake. */
  readonly handshakeTimeoutMs: number;
  /** The head of one request; more is 431. */
  readonly maxHeaderBytes: number;
  /** Connections on each listener of each thread; more are closed at once. */
  readonly maxConnections: number;
  /** How long `close` waits for what is in flight. */
  readonly drainTimeoutMs: number;
};

export const defaultLimits: ListenLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  responseTimeoutMs: 60_000,
  keepAliveTimeoutMs: 65_000,
  handshakeTimeoutMs: 10_000,
  maxHeaderBytes: 16 * 1024,
  maxConnections: 10_000,
  drainTimeoutMs: 9_000,
};

/** How often deadlines are looked at: often enough for the shortest of them, never more than once a second. */
export function sweepIntervalMs(limits: ListenLimits): number {
  const shortestMs = Math.min(
    limits.headersTimeoutMs,
    limits.requestTimeoutMs,
    limits.responseTimeoutMs,
    limits.keepAliveTimeoutMs,
  );
  return Math.max(10, Math.min(1000, Math.floor(shortestMs / 4)));
}

export type HttpServer = {
  readonly server: Server;
  readonly connections: Connections;
  /** Ends what carries no request yet. */
  readonly destroyHandshakes: () => void;
};

const onBun = "Bun" in globalThis;

/** A server for plain HTTP. */
export function createPlainServer(listener: RequestListener, limits: ListenLimits): HttpServer {
  // Bun reads plain HTTP natively, at twice the speed of its node:net sockets, and does not count a socket's bytes:
  // there its own notion of "idle", which is exact, has to serve.
  const connections = createConnections({
    limits,
    enforceDeadlines: false,
    ...(onBun ? { closeIdle: () => server.closeIdleConnections() } : {}),
  });
  const { begin } = connections;
  const server = createServer(httpOptions(limits), tracked(listener, begin));
  server.on("connection", connections.open);
  return prepare({ server, http: server, connections, limits, begin, destroyHandshakes: () => {} });
}

/**
 * A server for HTTPS that asks for a client certificate.
 *
 * @throws ListenError (`TLS_INVALID`)
 */
export function createSecureServer(
  listener: RequestListener,
  limits: ListenLimits,
  credentials: TlsCredentials,
): HttpServer {
  const connections = createConnections({ limits, enforceDeadlines: onBun });
  const begin: Begin = (incoming, outgoing) => {
    outgoing.setHeader(strictTransport.name, strictTransport.value);
    connections.begin(incoming, outgoing);
  };
  const created = createTlsServers({
    credentials: { cert: credentials.cert, key: credentials.key },
    http: httpOptions(limits),
    handshakeTimeoutMs: limits.handshakeTimeoutMs,
    listener: tracked(listener, begin),
    onConnection: connections.open,
  });
  return prepare({ ...created, connections, limits, begin });
}

function httpOptions(limits: ListenLimits): ServerOptions {
  return {
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: sweepIntervalMs(limits),
    maxHeaderSize: limits.maxHeaderBytes,
    // The request listener looks at it, so that the refusal has this service's body.
    requireHostHeader: false,
  };
}

/** What happens to each request before anything answers it. */
type Begin = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

function tracked(listener: RequestListener, begin: Begin): RequestListener {
  return (incoming, outgoing) => {
    begin(incoming, outgoing);
    return listener(incoming, outgoing);
  };
}

function prepare(
  parts: HttpServer & { http: NodeHttpServer; limits: ListenLimits; begin: Begin },
): HttpServer {
  const { server, http, connections, limits, begin } = parts;
  server.maxConnections = limits.maxConnections;
  http.on("clientError", (error: Error & { code?: string }, socket) => {
    refuseBrokenRequest(error.code ?? "", socket as Socket, connections);
  });
  http.on("checkExpectation", (incoming: IncomingMessage, outgoing: ServerResponse) => {
    begin(incoming, outgoing);
    sendRefusal(outgoing, 417);
  });
  // Deno's own sweep at the start of a drain ends a connection on which a request has begun to arrive.
  if (!onBun) http.closeIdleConnections = () => {};
  return parts;
}

/** Refuses what the HTTP parser could not read, and what Deno's and Bun's own deadlines cut off. */
function refuseBrokenRequest(code: string, socket: Socket, connections: Connections): void {
  if (code === "ECONNRESET") socket.destroy();
  else if (code === "HPE_HEADER_OVERFLOW") connections.refuse(socket, 431);
  else if (code === "ERR_HTTP_REQUEST_TIMEOUT") connections.refuse(socket, 408);
  else connections.refuse(socket, 400);
}

/** Drains; what is left after `drainTimeoutMs` is cut off. */
export async function closeServer(
  { server, connections, destroyHandshakes }: HttpServer,
  drainTimeoutMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  destroyHandshakes();
  connections.drain();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, drainTimeoutMs);
  });
  await Promise.race([closed, timeUp]);
  clearTimeout(timer);
  connections.destroy();
}
