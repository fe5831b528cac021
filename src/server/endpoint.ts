/** One listening server with its connections: how it is made and how it ends. */
import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import type { Server, Socket } from "node:net";
import { type Connections, createConnections } from "./connections.ts";
import { type ListenLimits, sweepIntervalMs } from "./listen-limits.ts";
import { createTlsListener, type TlsCredentials } from "./listen-tls.ts";
import { refusal } from "./refusal.ts";
import type { RequestListener } from "./request-listener.ts";

export interface Endpoint {
  readonly server: Server;
  readonly connections: Connections;
  /** Ends what carries no request yet. */
  readonly destroyHandshakes: () => void;
}

const ON_BUN = "Bun" in globalThis;

/** Plain HTTP. */
export function createPlainEndpoint(listener: RequestListener, limits: ListenLimits): Endpoint {
  // Bun reads plain HTTP natively, at twice the speed of its node:net sockets, and does not count a socket's bytes:
  // there its own notion of "idle", which is exact, has to serve.
  const connections = createConnections({
    limits,
    enforceDeadlines: false,
    ...(ON_BUN ? { closeIdle: () => server.closeIdleConnections() } : {}),
  });
  const server = createServer(httpOptions(limits), tracked(listener, connections));
  server.on("connection", connections.open);
  return prepare({ server, http: server, connections, limits, destroyHandshakes: () => {} });
}

/**
 * HTTPS that asks for a client certificate.
 *
 * @throws ListenError (`TLS_INVALID`)
 */
export function createTlsEndpoint(
  listener: RequestListener,
  limits: ListenLimits,
  credentials: TlsCredentials,
): Endpoint {
  const connections = createConnections({ limits, enforceDeadlines: ON_BUN });
  const created = createTlsListener({
    credentials: { cert: credentials.cert, key: credentials.key },
    http: httpOptions(limits),
    handshakeTimeoutMs: limits.handshakeTimeoutMs,
    listener: tracked(listener, connections),
    onConnection: connections.open,
  });
  return prepare({ ...created, connections, limits });
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

function tracked(listener: RequestListener, connections: Connections): RequestListener {
  return (incoming, outgoing) => {
    connections.begin(incoming, outgoing);
    return listener(incoming, outgoing);
  };
}

function prepare(parts: Endpoint & { http: HttpServer; limits: ListenLimits }): Endpoint {
  const { server, http, connections, limits } = parts;
  server.maxConnections = limits.maxConnections;
  http.on("clientError", (error: Error & { code?: string }, socket) => {
    refuseBrokenRequest(error.code ?? "", socket as Socket, connections);
  });
  http.on("checkExpectation", (incoming: IncomingMessage, outgoing: ServerResponse) => {
    connections.begin(incoming, outgoing);
    void sendRefusal(outgoing);
  });
  // Deno's own sweep at the start of a drain ends a connection on which a request has begun to arrive.
  if (!ON_BUN) http.closeIdleConnections = () => {};
  return parts;
}

/** What the HTTP parser could not read, and what Deno's and Bun's own deadlines cut off. */
function refuseBrokenRequest(code: string, socket: Socket, connections: Connections): void {
  if (code === "ECONNRESET") socket.destroy();
  else if (code === "HPE_HEADER_OVERFLOW") connections.refuse(socket, 431);
  else if (code === "ERR_HTTP_REQUEST_TIMEOUT") connections.refuse(socket, 408);
  else connections.refuse(socket, 400);
}

async function sendRefusal(outgoing: ServerResponse): Promise<void> {
  const response = refusal(417);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(await response.text());
}

/** Drains; what is left after `drainTimeoutMs` is cut off. */
export async function closeEndpoint(endpoint: Endpoint, drainTimeoutMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => endpoint.server.close(() => resolve()));
  endpoint.destroyHandshakes();
  endpoint.connections.drain();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, drainTimeoutMs);
  });
  await Promise.race([closed, timeUp]);
  clearTimeout(timer);
  endpoint.connections.destroy();
}
