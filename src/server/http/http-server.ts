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
import { sendRefusal, strictTransport } from "./refusal.ts";
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
  const { begin } = connections;
  const server = createServer(httpOptions(limits), tracked(listener, begin));
  server.on("connection", connections.open);
  return prepare({ server, http: server, connections, limits, begin, destroyHandshakes: () => {} });
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
  const begin: Begin = (incoming, outgoing) => {
    outgoing.setHeader(strictTransport.name, strictTransport.value);
    connections.begin(incoming, outgoing);
  };
  const created = createTlsListener({
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

function prepare(parts: Endpoint & { http: HttpServer; limits: ListenLimits; begin: Begin }): Endpoint {
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
