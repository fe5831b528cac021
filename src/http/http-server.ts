/** One listening server with its connections: its limits, how it is made and how it ends. */
import { createServer, type Server as NodeHttpServer } from "node:http";
import type { Server, Socket } from "node:net";
import { endsIn } from "../domain/deadline.ts";
import type { Backlog } from "./backlog.ts";
import { type BoundedListener, type BoundedServerOptions, boundedMessages } from "./bounded-messages.ts";
import { type Connections, createConnections } from "./connections.ts";
import { type ListenLimits, sweepIntervalMs } from "./limits.ts";
import { createPlaces } from "./places.ts";
import { sendRefusal, strictTransport } from "./refusal.ts";
import type { RequestListener } from "./request-listener.ts";
import { createTlsServers, type TlsCredentials } from "./tls.ts";

export type HttpServer = {
  readonly server: Server;
  readonly connections: Connections;
  /** Ends what carries no request yet. */
  readonly destroyHandshakes: () => void;
};

const onBun = "Bun" in globalThis;

/** What the listeners of a thread have in common. */
type ServerParts = {
  readonly listener: RequestListener;
  readonly limits: ListenLimits;
  readonly backlog: Backlog;
  /** Whether an address is a proxy's, through which many come. */
  readonly isTrusted: (remoteAddress: string) => boolean;
};

/** A server for plain HTTP. */
export function createPlainServer(parts: ServerParts): HttpServer {
  const { limits } = parts;
  // Bun reads plain HTTP natively, at twice the speed of its node:net sockets, and does not count a socket's bytes:
  // there its own notion of "idle", which is exact, has to serve.
  const connections = createConnections({
    ...shared(parts),
    enforceDeadlines: false,
    ...(onBun ? { closeIdle: () => server.closeIdleConnections() } : {}),
  });
  const { begin } = connections;
  const server = createServer(httpOptions(limits), tracked(parts.listener, begin));
  server.on("connection", connections.open);
  return prepare({ server, http: server, connections, begin, destroyHandshakes: () => {} });
}

function shared({ limits, backlog, isTrusted }: ServerParts) {
  return { limits, backlog, places: createPlaces({ limits, isTrusted, backlog }) };
}

/**
 * A server for HTTPS that asks for a client certificate.
 *
 * @throws TvsError REFUSED
 */
export function createSecureServer(parts: ServerParts, credentials: TlsCredentials): HttpServer {
  const { limits } = parts;
  const connections = createConnections({ ...shared(parts), enforceDeadlines: onBun });
  const begin: Connections["begin"] = (incoming, outgoing, answer) => {
    outgoing.setHeader(strictTransport.name, strictTransport.value);
    connections.begin(incoming, outgoing, answer);
  };
  const created = createTlsServers({
    credentials: { cert: credentials.cert, key: credentials.key },
    http: httpOptions(limits),
    handshakeTimeoutMs: limits.handshakeTimeoutMs,
    listener: tracked(parts.listener, begin),
    onConnection: connections.open,
    onSecured: connections.secure,
  });
  return prepare({ ...created, connections, begin });
}

function httpOptions(limits: ListenLimits): BoundedServerOptions {
  return {
    ...boundedMessages,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: sweepIntervalMs(limits),
    maxHeaderSize: limits.maxHeaderBytes,
    // The request listener looks at it, so that the refusal has this service's body.
    requireHostHeader: false,
  };
}

function tracked(listener: RequestListener, begin: Connections["begin"]): BoundedListener {
  return (incoming, outgoing) => begin(incoming, outgoing, listener);
}

function prepare(parts: HttpServer & { http: NodeHttpServer; begin: Connections["begin"] }): HttpServer {
  const { http, connections, begin } = parts;
  http.on("clientError", (error: Error & { code?: string }, socket) => {
    refuseBrokenRequest(error.code ?? "", socket as Socket, connections);
  });
  const refuse = tracked((_incoming, outgoing) => sendRefusal(outgoing, 417), begin);
  http.on("checkExpectation", refuse);
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
  await endsIn(drainTimeoutMs, closed);
  connections.destroy();
}
