/**
 * Opens the TLS port: it decrypts each connection and forwards it to an inner listener on loopback. Every client is asked
 * for a certificate, and none is required. Any issuer is accepted, because a partner's certificate is recognised by its
 * fingerprint (contract C17).
 *
 * node:tls is used because `Bun.serve` and Bun's node:https do not show a handler the client's certificate.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import { parseCertificate } from "../domain/certificates.ts";
import { resolvesWithin } from "../domain/deadline.ts";
import { TvsError } from "../domain/errors.ts";
import type { ConnectionInfo } from "./context.ts";
import { deriveRateLimitKeys } from "./peer.ts";
import { createThrottledWarning } from "./warning.ts";

export type TlsCredentials = {
  /** The certificate chain, PEM. */
  readonly cert: string;
  /** The certificate's private key, PEM. */
  readonly key: string;
};

export type TlsLimits = {
  /** The longest time of a handshake. */
  readonly handshakeTimeoutMs: number;
  /** The longest time without data on a connection, for example because the client does not read its answer. */
  readonly idleTimeoutMs: number;
  /** The most connections, including those in the handshake; further connections are closed. */
  readonly maxConnections: number;
  /** The most connections of one IP address (IPv6: /64); further connections are closed. Trusted proxies have no limit. */
  readonly maxConnectionsPerAddress: number;
};

export type TlsTerminatorOptions = {
  readonly credentials: TlsCredentials;
  readonly limits: TlsLimits;
  readonly innerPort: number;
  readonly clients: TlsClientsByPort;
  readonly isTrusted: (remoteAddress: string) => boolean;
};

/** The TLS 1.2 cipher suites with forward secrecy and authenticated encryption (RFC 9325, 4.2). TLS 1.3 suites all have both. */
const ciphers = ["ECDSA", "RSA"]
  .flatMap((kind) =>
    ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"].map((suite) => `ECDHE-${kind}-${suite}`),
  )
  .join(":");

/** The clients of the connections to the inner listener, by the local port of each connection. */
export type TlsClientsByPort = Map<number, ConnectionInfo>;

/** The IP address of the inner listener. The terminator also connects from this address. */
export const loopbackHost = "127.0.0.1";

/**
 * Opens the TLS port.
 * @throws TvsError REFUSED if the key does not fit the certificate; or the runtime's error, such as EADDRINUSE
 */
export async function openTlsTerminator(
  { credentials, limits, innerPort, clients, isTrusted }: TlsTerminatorOptions,
  at: { readonly host: string; readonly port: number },
) {
  assertCredentials(credentials);
  const connections = createConnectionCounter(limits, isTrusted);
  let isClosing = false;

  function pass(outer: TLSSocket): void {
    connections.secure(outer);
    const client = {
      remoteAddress: outer.remoteAddress ?? "",
      tls: true,
      clientCertificate: certificateOf(outer),
    };
    const inner = connect({ host: loopbackHost, port: innerPort }, () => {
      const port = inner.localPort as number;
      clients.set(port, client);
      inner.once("close", () => {
        // A later connection may already have the same port, and keeps its entry.
        if (clients.get(port) === client) clients.delete(port);
      });
      outer.pipe(inner).pipe(outer);
      for (const socket of [outer, inner]) socket.on("data", refresh);
    });
    inner.setNoDelay(true);
    // A socket's own time-out does not run while unsent data waits for the client, so this timer replaces it.
    const idle = setTimeout(() => outer.destroy(), limits.idleTimeoutMs);
    const refresh = () => {
      if (!inner.destroyed) idle.refresh();
    };
    outer.once("close", () => {
      clearTimeout(idle);
      inner.destroy();
    });
    inner.on("error", () => {});
    inner.once("close", () => {
      if (isClosing) return outer.destroySoon();
      // Reads the rest of a refused body, because a client that is still sending can miss the answer.
      outer.end();
      outer.resume();
    });
  }

  const server = createServer(
    {
      cert: credentials.cert,
      key: credentials.key,
      requestCert: true,
      rejectUnauthorized: false,
      minVersion: "TLSv1.2",
      ciphers,
      handshakeTimeout: limits.handshakeTimeoutMs,
      ALPNProtocols: ["http/1.1"],
    },
    pass,
  );
  server.on("connection", connections.open);
  // Bun does not close the connection of a handshake that failed or took too long.
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  return listenOnPort(server, at, connections.destroy, () => {
    isClosing = true;
    connections.destroyHandshakes();
  });
}

/**
 * Opens a port.
 * @param destroy destroys the connections that are left after the time limit of `close`
 * @param onClose called when the server has stopped listening
 * @throws Error of the runtime, such as EADDRINUSE
 */
export async function listenOnPort(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
  destroy: () => void,
  onClose = () => {},
) {
  await once(server.listen({ host, port }), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    /** Stops listening, and resolves when all connections have ended; destroys them after `withinMs`. */
    async close(withinMs: number): Promise<void> {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      onClose();
      await resolvesWithin(withinMs, closed);
      destroy();
    },
  };
}

/**
 * Reads the client's certificate. A resumed session (TLS ticket) has the certificate of its first handshake. That is
 * safe, because only a client that has the private key can complete that handshake and learn the session's secret.
 */
function certificateOf(socket: TLSSocket): ConnectionInfo["clientCertificate"] {
  // Without a certificate the result is an empty object, and on a closed socket null.
  const peer = socket.getPeerCertificate() as { raw?: Uint8Array } | null;
  return peer?.raw === undefined ? null : parseCertificate(peer.raw);
}

/** Checks that the key fits the certificate, because some runtimes report a wrong key only at the first handshake. */
function assertCredentials({ cert, key }: TlsCredentials): void {
  const refused = (text: string, cause?: unknown) => new TvsError("REFUSED", text, { cause });
  let fits = false;
  try {
    fits = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch (error) {
    const text =
      "the TLS certificate or its key cannot be read: both must be PEM files, the key without a passphrase";
    throw refused(text, error);
  }
  if (!fits) throw refused("the TLS key does not belong to the TLS certificate: give the pair's own key");
}

/** Counts the TLS port's connections, in total and by IP address. Each counts from its start, before the TLS handshake. */
function createConnectionCounter(limits: TlsLimits, isTrusted: (remoteAddress: string) => boolean) {
  type Connection = { readonly block: string; socket: Socket; isSecure: boolean };
  // The keys are the client's address and port, because on Deno the TLS socket is another object than the TCP socket.
  const open = new Map<string, Connection>();
  const perBlock = new Map<string, number>();
  const warn = createThrottledWarning(
    "the TLS port has closed connections beyond its limit; a proxy is named by --trusted-proxy",
  );

  function leave(name: string): void {
    const connection = open.get(name);
    if (connection === undefined) return;
    open.delete(name);
    const left = (perBlock.get(connection.block) ?? 1) - 1;
    if (left === 0) perBlock.delete(connection.block);
    else perBlock.set(connection.block, left);
  }

  return {
    open(socket: Socket): void {
      socket.on("error", () => socket.destroy());
      const { remoteAddress = "" } = socket;
      const block = deriveRateLimitKeys(remoteAddress)[0] ?? "";
      const count = perBlock.get(block) ?? 0;
      const isCrowded = count >= limits.maxConnectionsPerAddress && !isTrusted(remoteAddress);
      if (isCrowded || open.size >= limits.maxConnections) {
        warn({ connections: open.size });
        socket.destroy();
        return;
      }
      const name = connectionNameOf(socket);
      leave(name);
      open.set(name, { block, socket, isSecure: false });
      perBlock.set(block, count + 1);
      socket.once("close", () => {
        if (open.get(name)?.socket === socket) leave(name);
      });
    },
    /** Records that a connection's TLS handshake is done. */
    secure(socket: TLSSocket): void {
      socket.on("error", () => socket.destroy());
      const name = connectionNameOf(socket);
      const connection = open.get(name);
      if (connection === undefined) return;
      connection.socket = socket;
      connection.isSecure = true;
      socket.once("close", () => {
        if (open.get(name) === connection) leave(name);
      });
    },
    destroyHandshakes(): void {
      for (const { socket, isSecure } of open.values()) if (!isSecure) socket.destroy();
    },
    destroy(): void {
      for (const { socket } of open.values()) socket.destroy();
    },
  };
}

function connectionNameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
