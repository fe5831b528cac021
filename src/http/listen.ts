/**
 * The service's sockets: plain HTTP, HTTPS with client certificates, limits on both, and an orderly end.
 *
 * This and its neighbours (http-server, tls, connections, refusal) are our own because Bun and Deno differ in what
 * their node:http servers leave undone: Bun gives no client certificate over node:https, applies no deadline to a
 * socket that was handed over, and keeps connections open after a drain; Deno's drain cuts off a request that has
 * begun to arrive. Libraries for an orderly end, such as stoppable and http-terminator, rely on Node's own events and
 * know nothing of deadlines, handshakes or slow readers.
 */
import { lookup } from "node:dns/promises";
import type { AddressInfo } from "node:net";
import { type Backlog, createBacklog } from "./backlog.ts";
import { closeServer, createPlainServer, createSecureServer, type HttpServer } from "./http-server.ts";
import { type ListenLimits, shareOfThread, sweepIntervalMs } from "./limits.ts";
import { formatAddress, hostUnavailable, toListenError } from "./listen-error.ts";
import { createAddressTest } from "./peer.ts";
import { type App, createRequestListener } from "./request-listener.ts";
import { listenOn, type Sharing } from "./shared-port.ts";
import type { TlsCredentials } from "./tls.ts";

export type ListenOptions = {
  /** An address of this machine or a name that resolves to one. */
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** A second listener that speaks TLS, on the same host; port 0 picks a free one. */
  readonly tls?: TlsCredentials & { readonly port: number };
  readonly limits?: Partial<ListenLimits>;
  /** Addresses and CIDR blocks of proxies, each of which may have any number of the connections. */
  readonly trustedProxies?: readonly string[];
  /** Whether other threads listen on the same ports; `alone` unless it is said. */
  readonly sharing?: Sharing;
  /** How many threads share what is promised of the process. */
  readonly threads?: number;
  /** Told of what the app throws, for the log. */
  readonly onError?: (error: unknown) => void;
};

export type Listener = {
  /** Address of the plain listener, `http://HOST:PORT`. */
  readonly url: string;
  readonly port: number;
  readonly tlsPort: number | null;
  /** Has every connection end with its next answer, so that its client comes anew, perhaps to another thread. */
  shed(): void;
  /** The share that is taken of the places, of one address's places or of the memory, whichever is most; 1 for all. */
  usedShare(): number;
  /**
   * Refuses new connections, answers every request whose first byte was read (with `Connection: close`), closes
   * idle connections at once, and resolves when no connection is left or `drainTimeoutMs` cut the rest off.
   */
  close(): Promise<void>;
};

/**
 * Opens the service's sockets.
 *
 * @param app answers each request; those that come while it is only promised wait for it
 * @throws TvsError REFUSED, with what to do, where a socket cannot be opened or the TLS pair is wrong
 */
export async function listen(app: App | Promise<App>, options: ListenOptions): Promise<Listener> {
  const { host, port, tls, sharing = "alone" } = options;
  const limits: ListenLimits = { ...shareOfThread(options.threads ?? 1), ...options.limits };
  const onError = options.onError ?? (() => {});
  const listener = createRequestListener(app, onError);
  const address = await resolveHost({ host, port });
  const isTrusted = createAddressTest(options.trustedProxies ?? []);
  const backlog = createBacklog(limits);
  const parts = { listener, limits, isTrusted, backlog };
  const servers = [createPlainServer(parts)];
  if (tls !== undefined) servers.push(createSecureServer(parts, tls));
  const ports = await openAll(servers, { host, address, ports: [port, tls?.port ?? 0], sharing });
  for (const { server } of servers) server.on("error", onError);
  const sweeper = setInterval(() => sweepAll(servers, backlog), sweepIntervalMs(limits));
  sweeper.unref?.();
  return {
    url: `http://${formatAddress({ host, port: ports[0] ?? port })}`,
    port: ports[0] ?? port,
    tlsPort: ports[1] ?? null,
    shed() {
      for (const { connections } of servers) connections.shed();
    },
    usedShare: () =>
      Math.max(backlog.usedShare(), ...servers.map(({ connections }) => connections.usedShare())),
    async close() {
      await Promise.all(servers.map((server) => closeServer(server, limits.drainTimeoutMs)));
      clearInterval(sweeper);
    },
  };
}

function sweepAll(servers: readonly HttpServer[], backlog: Backlog): void {
  const nowMs = performance.now();
  backlog.sweep();
  for (const { connections } of servers) connections.sweep(nowMs);
}

/**
 * The address of a host. Bun reports a name without an address as a busy port, so names are resolved first; to IPv4
 * where there is a choice, as `localhost` is commonly understood.
 */
async function resolveHost(at: { host: string; port: number }): Promise<string> {
  try {
    const addresses = await lookup(at.host, { all: true });
    const chosen = addresses.find(({ family }) => family === 4) ?? addresses[0];
    return chosen?.address ?? at.host;
  } catch (error) {
    throw hostUnavailable(at, error);
  }
}

async function openAll(
  servers: readonly HttpServer[],
  at: { host: string; address: string; ports: readonly number[]; sharing: Sharing },
): Promise<number[]> {
  const opened: number[] = [];
  for (const [index, { server }] of servers.entries()) {
    const port = at.ports[index] ?? 0;
    try {
      await listenOn(server, { host: at.address, port }, at.sharing);
      opened.push((server.address() as AddressInfo).port);
    } catch (error) {
      for (const earlier of servers.slice(0, index)) earlier.server.close();
      throw toListenError(error, { host: at.host, port });
    }
  }
  return opened;
}
