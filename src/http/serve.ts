/**
 * Opens the service's ports. On Bun, `Bun.serve` limits memory, slow clients and malformed headers; other runtimes use
 * @hono/node-server. The TLS port is a terminator in front of a second plain listener on loopback (tls.ts).
 */
import { lookup } from "node:dns/promises";
import { createServer } from "node:http";
import { v7 as uuidv7 } from "uuid";
import { resolvesWithin } from "../domain/deadline.ts";
import { isTvsError, TvsError } from "../domain/errors.ts";
import type { ConnectionInfo } from "./context.ts";
import { createNetworkMatcher } from "./peer.ts";
import { buildFailureHeaders } from "./problem.ts";
import { maxReadBodyBytes } from "./request-body.ts";
import type { TlsClientsByPort, TlsCredentials, TlsLimits, TlsTerminatorOptions } from "./tls.ts";
import { listenOnPort, loopbackHost, openTlsTerminator } from "./tls.ts";

/** The app that answers requests; a Hono app fits. */
export type HttpApp = {
  readonly fetch: (request: Request, connection: ConnectionInfo) => Response | Promise<Response>;
};

export type ServerLimits = TlsLimits & {
  /** The longest time without data. A load balancer closes idle connections after 60 s, and must close them first. */
  readonly idleTimeoutMs: number;
  /** The longest time that `close` waits for requests in flight. */
  readonly drainTimeoutMs: number;
};

const defaultLimits: ServerLimits = {
  handshakeTimeoutMs: 10_000,
  idleTimeoutMs: 65_000,
  maxConnections: 10_000,
  maxConnectionsPerAddress: 1_000,
  drainTimeoutMs: 9_000,
};

export type ServeOptions = {
  /** An IP address of this machine or a name that resolves to one. */
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** A second port for TLS, on the same host; 0 picks a free port. */
  readonly tls?: TlsCredentials & { readonly port: number };
  readonly limits?: Partial<ServerLimits>;
  /** IP addresses and CIDR blocks of proxies, for which the TLS port has no limit of connections per address. */
  readonly trustedProxies?: readonly string[];
  /** Called with each error that the app throws, for the log. */
  readonly onError?: (error: unknown) => void;
};

export type HttpListener = {
  /** The URL of the plain port, `http://HOST:PORT`. */
  readonly url: string;
  readonly port: number;
  readonly tlsPort: number | null;
  /** Stops listening, closes idle connections, and resolves when all requests in flight are answered or cut off. */
  close(): Promise<void>;
};

type Peer = { readonly address: string; readonly port: number };

type Answer = (request: Request, peer: Peer) => Response | Promise<Response>;

type ServerOptions = {
  readonly answer: Answer;
  readonly host: string;
  readonly port: number;
  readonly idleTimeoutMs: number;
  readonly onError: (error: unknown) => void;
};

type Server = {
  readonly port: number;
  /** Stops listening, waits for requests in flight, and after `withinMs` destroys the connections that are left. */
  close(withinMs: number): Promise<void>;
};

/**
 * Opens the service's ports.
 *
 * @param app answers each request; requests wait until its promise is fulfilled
 * @throws TvsError REFUSED, with a remedy, if a port cannot be opened or the TLS key does not fit its certificate
 */
export async function serve(app: HttpApp | Promise<HttpApp>, options: ServeOptions): Promise<HttpListener> {
  const { host, port, tls, trustedProxies = [], onError = () => {} } = options;
  const limits: ServerLimits = { ...defaultLimits, ...options.limits };
  const opening = Promise.resolve(app);
  opening.catch(() => {});
  let isDraining = false;
  const call: HttpApp["fetch"] = async (request, connection) => {
    const response = await (await opening).fetch(request, connection);
    if (isDraining) response.headers.set("Connection", "close");
    return response;
  };
  const server = { host: await resolveHost({ host, port }), idleTimeoutMs: limits.idleTimeoutMs, onError };
  const answer: Answer = (request, { address }) =>
    call(request, { remoteAddress: address, tls: false, clientCertificate: null });
  const plain = await openServer({ ...server, port, answer }).catch((error) => {
    throw toListenError(error, { host, port });
  });
  let secure: Server | undefined;
  if (tls !== undefined) {
    const terminating = { credentials: tls, limits, isTrusted: createNetworkMatcher(trustedProxies) };
    secure = await openSecureServer(call, { ...server, port: tls.port }, terminating).catch(async (error) => {
      await plain.close(0);
      throw toListenError(error, { host, port: tls.port });
    });
  }
  return {
    url: `http://${formatHostPort({ host, port: plain.port })}`,
    port: plain.port,
    tlsPort: secure?.port ?? null,
    async close() {
      isDraining = true;
      await Promise.all([plain, secure].map((one) => one?.close(limits.drainTimeoutMs)));
    },
  };
}

/** Opens the TLS port and the listener behind it, which refuses every connection that does not come from the terminator. */
async function openSecureServer(
  fetch: HttpApp["fetch"],
  options: Omit<ServerOptions, "answer">,
  terminating: Omit<TlsTerminatorOptions, "innerPort" | "clients">,
): Promise<Server> {
  const clients: TlsClientsByPort = new Map();
  const inner = await openServer({
    ...options,
    host: loopbackHost,
    port: 0,
    answer(request, { address, port }) {
      // Another program on this machine may have the same local port at another loopback address.
      const client = address === loopbackHost ? clients.get(port) : undefined;
      return client === undefined
        ? new Response(null, { status: 403, headers: { Connection: "close" } })
        : fetch(request, client);
    },
  });
  const tls = { ...terminating, innerPort: inner.port, clients };
  const terminator = await openTlsTerminator(tls, options).catch(async (error) => {
    await inner.close(0);
    throw error;
  });
  return {
    port: terminator.port,
    async close(withinMs) {
      await Promise.all([terminator.close(withinMs), inner.close(withinMs)]);
    },
  };
}

async function openServer(options: ServerOptions): Promise<Server> {
  return "Bun" in globalThis ? openBunServer(options) : openNodeServer(options);
}

function openBunServer({ answer, host, port, idleTimeoutMs, onError }: ServerOptions): Server {
  const bun = Bun.serve({
    hostname: host,
    port,
    idleTimeout: Math.ceil(idleTimeoutMs / 1000),
    maxRequestBodySize: maxReadBodyBytes,
    development: false,
    async fetch(request: Request, server) {
      const { url } = request;
      const peer = server.requestIP(request) ?? unknownPeer;
      // An HTTP/1.0 request may lack `Host`; Bun's URL is then the path only.
      const isLocal = url.startsWith("/") && !request.headers.has("Host");
      const whole = isLocal ? new Request(`http://localhost${url}`, request) : request;
      // With an invalid `Host` Bun's URL is invalid, and Hono's router would read a wrong path from it.
      if (!whole.url.startsWith("http://")) return createRefusal(400);
      const response = await answer(whole, peer);
      if (whole.method !== "GET" && !whole.bodyUsed) await discardBody(whole);
      return response;
    },
    error(error) {
      onError(error);
      return createRefusal(500);
    },
  });
  return {
    port: bun.port as number,
    async close(withinMs) {
      await resolvesWithin(withinMs, bun.stop());
      await bun.stop(true);
    },
  };
}

/** Reads a body that no handler has read, because a client that is still sending can miss the answer. */
async function discardBody({ body }: Request): Promise<void> {
  try {
    for await (const _part of body ?? []);
  } catch {
    // The client has closed the connection, or sends more than the server accepts.
  }
}

const unknownPeer: Peer = { address: "", port: 0 };

async function openNodeServer({
  answer,
  host,
  port,
  idleTimeoutMs,
  onError,
}: ServerOptions): Promise<Server> {
  const { getRequestListener, RequestError } = await import("@hono/node-server");
  const listener = getRequestListener(
    (request, { incoming: { socket } }) =>
      answer(request, { address: socket.remoteAddress ?? "", port: socket.remotePort ?? 0 }),
    {
      overrideGlobalObjects: false,
      hostname: "localhost",
      errorHandler(error) {
        if (error instanceof RequestError) return createRefusal(400);
        onError(error);
        return createRefusal(500);
      },
    },
  );
  const times = { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: idleTimeoutMs };
  const server = createServer({ ...times, maxHeaderSize: 16 * 1024 }, listener);
  return listenOnPort(server, { host, port }, () => server.closeAllConnections());
}

const refusals = {
  400: ["REQUEST_MALFORMED", "the request is not valid HTTP"],
  500: ["INTERNAL", "an unexpected error occurred; try again later"],
} as const;

/** Makes the answer, in the contract's shape (C23), if a request cannot reach the app or the app throws an error. */
function createRefusal(status: keyof typeof refusals): Response {
  const [code, message] = refusals[status];
  // The issuer is not known here, so the link to the manual is relative.
  const headers = { ...buildFailureHeaders(code, ""), "Cache-Control": "no-store", "X-Request-Id": uuidv7() };
  return Response.json({ statusCode: status, message }, { status, headers });
}

/**
 * Resolves a host to an IP address, because Bun reports a name that does not resolve as a busy port. It prefers IPv4,
 * because many programs connect to `localhost` by IPv4 only.
 */
async function resolveHost(at: { host: string; port: number }): Promise<string> {
  const addresses = await lookup(at.host, { all: true }).catch((cause) => {
    throw listenError(at, noAddress, cause);
  });
  const chosen = addresses.find(({ family }) => family === 4) ?? addresses[0];
  return chosen?.address ?? at.host;
}

const noAddress = "is no IP address of this machine: use 127.0.0.1, 0.0.0.0 or one of its own addresses";
const forbidden = "may not be opened by this user: choose a port from 1024 up, or grant the right to open it";
/** Explains why a port cannot be opened, by the code of the runtime's error. The codes are the same in all runtimes. */
const portProblems = new Map<unknown, string>([
  [
    "EADDRINUSE",
    "is in use: stop the program that listens there, or choose another port (0 picks a free one)",
  ],
  ["EACCES", forbidden],
  ["EPERM", forbidden],
  ["EADDRNOTAVAIL", noAddress],
  ["EAFNOSUPPORT", noAddress],
  // Deno's code for an IP address that this machine does not have.
  ["EINVAL", noAddress],
]);

/** Makes the error of a port that cannot be opened, with a remedy. */
function toListenError(error: unknown, at: { host: string; port: number }): TvsError {
  if (isTvsError(error)) return error;
  const detail = error instanceof Error ? error.message : String(error);
  const problem = portProblems.get((error as { code?: unknown } | null)?.code);
  return listenError(at, problem ?? `could not be opened: ${detail}`, error);
}

function listenError(at: { host: string; port: number }, problem: string, cause: unknown): TvsError {
  return new TvsError("REFUSED", `${formatHostPort(at)} ${problem}`, { cause });
}

function formatHostPort(at: { host: string; port: number }): string {
  return at.host.includes(":") ? `[${at.host}]:${at.port}` : `${at.host}:${at.port}`;
}
