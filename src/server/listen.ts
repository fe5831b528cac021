/** The service's sockets: plain HTTP, HTTPS with client certificates, limits on both, and an orderly end. */
import { lookup } from "node:dns/promises";
import type { ServerResponse } from "node:http";
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerOptions } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { type Connections, createConnections } from "./connections.ts";
import { formatAddress, hostUnavailable, toListenError } from "./listen-error.ts";
import { DEFAULT_LIMITS, type ListenLimits, sweepIntervalMs } from "./listen-limits.ts";
import { createTlsListener, type TlsCredentials } from "./listen-tls.ts";
import { refusal } from "./refusal.ts";
import { createRequestListener, type Fetch, type RequestListener } from "./request-listener.ts";

export interface ListenOptions {
  /** An address of this machine or a name that resolves to one. */
  host: string;
  /** 0 picks a free one. */
  port: number;
  /** A second listener that speaks TLS, on the same host; port 0 picks a free one. */
  tls?: TlsCredentials & { port: number };
  limits?: Partial<ListenLimits>;
  /** Told of what the handler throws, for the log. */
  onError?: (error: unknown) => void;
}

export interface Listener {
  /** Address of the plain listener, `http://HOST:PORT`. */
  readonly url: string;
  readonly port: number;
  readonly tlsPort: number | null;
  /**
   * Refuses new connections, answers every request whose first byte was read (with `Connection: close`), closes
   * idle connections at once, and resolves when no connection is left or `drainTimeoutMs` cut the rest off.
   */
  close(): Promise<void>;
}

/** One listening server. */
interface Endpoint {
  readonly server: Server;
  readonly connections: Connections;
  /** Ends what carries no request yet. */
  readonly destroyHandshakes: () => void;
}

const ON_BUN = "Bun" in globalThis;

/**
 * Opens the service's sockets.
 *
 * @param fetch answers each request; its second argument is a {@link ConnectionInfo} (Hono: the bindings, `c.env`)
 * @throws ListenError `PORT_IN_USE`, `PORT_FORBIDDEN`, `HOST_UNAVAILABLE`, `TLS_INVALID`, `LISTEN_FAILED`
 */
export async function listen(fetch: Fetch, options: ListenOptions): Promise<Listener> {
  const { host, port, tls } = options;
  const limits: ListenLimits = { ...DEFAULT_LIMITS, ...options.limits };
  const listener = createRequestListener(fetch, options.onError ?? (() => {}));
  const address = await resolveHost({ host, port });
  const endpoints = [createPlainEndpoint(listener, limits)];
  if (tls !== undefined) endpoints.push(createTlsEndpoint(listener, limits, tls));
  const ports = await openAll(endpoints, { host, address, ports: [port, tls?.port ?? 0] });
  const sweeper = setInterval(() => sweepAll(endpoints), sweepIntervalMs(limits));
  sweeper.unref?.();
  return {
    url: `http://${formatAddress({ host, port: ports[0] ?? port })}`,
    port: ports[0] ?? port,
    tlsPort: ports[1] ?? null,
    async close() {
      await Promise.all(endpoints.map((endpoint) => closeEndpoint(endpoint, limits.drainTimeoutMs)));
      clearInterval(sweeper);
    },
  };
}

function createPlainEndpoint(listener: RequestListener, limits: ListenLimits): Endpoint {
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

function createTlsEndpoint(
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
  http.on("checkExpectation", (_incoming: IncomingMessage, outgoing: ServerResponse) => {
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

/** Bun reports a name without an address as a busy port, so names are resolved first. */
async function resolveHost(at: { host: string; port: number }): Promise<string> {
  try {
    return (await lookup(at.host)).address;
  } catch (error) {
    throw hostUnavailable(at, error);
  }
}

async function openAll(
  endpoints: readonly Endpoint[],
  at: { host: string; address: string; ports: readonly number[] },
): Promise<number[]> {
  const opened: number[] = [];
  for (const [index, { server }] of endpoints.entries()) {
    const port = at.ports[index] ?? 0;
    try {
      opened.push(await open(server, port, at.address));
    } catch (error) {
      for (const earlier of endpoints.slice(0, index)) earlier.server.close();
      throw toListenError(error, { host: at.host, port });
    }
  }
  return opened;
}

function open(server: Server, port: number, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function sweepAll(endpoints: readonly Endpoint[]): void {
  const nowMs = performance.now();
  for (const { connections } of endpoints) connections.sweep(nowMs);
}

async function closeEndpoint(endpoint: Endpoint, drainTimeoutMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => endpoint.server.close(() => resolve()));
  endpoint.destroyHandshakes();
  endpoint.connections.drain();
  const cutOff = setTimeout(() => {
    endpoint.destroyHandshakes();
    endpoint.connections.destroy();
  }, drainTimeoutMs);
  await closed;
  clearTimeout(cutOff);
}
