/** The service's sockets: plain HTTP, HTTPS with client certificates, limits on both, and an orderly end. */
import { lookup } from "node:dns/promises";
import type { AddressInfo, Server } from "node:net";
import type { DirectListener } from "./fast-path.ts";
import { closeEndpoint, createPlainEndpoint, createTlsEndpoint, type Endpoint } from "./http-server.ts";
import { formatAddress, hostUnavailable, toListenError } from "./listen-error.ts";
import { DEFAULT_LIMITS, type ListenLimits, sweepIntervalMs } from "./listen-limits.ts";
import type { TlsCredentials } from "./listen-tls.ts";
import { createRequestListener, type Fetch } from "./request-listener.ts";

export interface ListenOptions {
  /** An address of this machine or a name that resolves to one. */
  host: string;
  /** 0 picks a free one. */
  port: number;
  /** A second listener that speaks TLS, on the same host; port 0 picks a free one. */
  tls?: TlsCredentials & { port: number };
  limits?: Partial<ListenLimits>;
  /** Takes the requests it knows before `fetch` sees them. */
  direct?: DirectListener;
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

/**
 * Opens the service's sockets.
 *
 * @param fetch answers each request; its second argument is a {@link ConnectionInfo} (Hono: the bindings, `c.env`)
 * @throws ListenError `PORT_IN_USE`, `PORT_FORBIDDEN`, `HOST_UNAVAILABLE`, `TLS_INVALID`, `LISTEN_FAILED`
 */
export async function listen(fetch: Fetch, options: ListenOptions): Promise<Listener> {
  const { host, port, tls } = options;
  const limits: ListenLimits = { ...DEFAULT_LIMITS, ...options.limits };
  const onError = options.onError ?? (() => {});
  const listener = createRequestListener(fetch, { onError, direct: options.direct });
  const address = await resolveHost({ host, port });
  const endpoints = [createPlainEndpoint(listener, limits)];
  if (tls !== undefined) endpoints.push(createTlsEndpoint(listener, limits, tls));
  const ports = await openAll(endpoints, { host, address, ports: [port, tls?.port ?? 0] });
  for (const { server } of endpoints) server.on("error", onError);
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

function sweepAll(endpoints: readonly Endpoint[]): void {
  const nowMs = performance.now();
  for (const { connections } of endpoints) connections.sweep(nowMs);
}

/**
 * Bun reports a name without an address as a busy port, so names are resolved first; to IPv4 where there is a
 * choice, as `localhost` is commonly understood.
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
