/**
 * The TLS port: ends TLS and passes each connection on to an inner listener on loopback. It asks every client for a
 * certificate and requires none; no authority has to have signed it (contract C17: a certificate counts by its
 * fingerprint).
 *
 * `Bun.serve` and Bun's node:https give a handler no client certificate; node:tls does, on Bun and on Deno.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { type AddressInfo, connect, type Socket } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import { readCertificate } from "../domain/certificates.ts";
import { resolvesWithin } from "../domain/deadline.ts";
import { TvsError } from "../domain/errors.ts";
import type { ConnectionInfo } from "./context.ts";
import { rateLimitKeys } from "./peer.ts";
import { createWarning } from "./warning.ts";

export type TlsCredentials = {
  /** The certificate chain, PEM. */
  readonly cert: string;
  /** Its private key, PEM. */
  readonly key: string;
};

/** Limits for the clients of the TLS port. */
export type TlsLimits = {
  /** Longest handshake. */
  readonly handshakeTimeoutMs: number;
  /** Longest time without data on a connection, for example because the client does not read its answer. */
  readonly idleTimeoutMs: number;
  /** Connections, handshakes included; more are closed. */
  readonly maxConnections: number;
  /** Connections of one address (IPv6: /64), unless it is a trusted proxy; more are closed. */
  readonly maxConnectionsPerAddress: number;
};

type TerminatorOptions = {
  readonly credentials: TlsCredentials;
  readonly limits: TlsLimits;
  /** The port of the inner listener. */
  readonly innerPort: number;
  readonly isTrusted: (remoteAddress: string) => boolean;
};

/** The cipher suites of TLS 1.2 with forward secrecy and authenticated encryption (RFC 9325, 4.2). TLS 1.3 has no others. */
const ciphers = ["ECDSA", "RSA"]
  .flatMap((kind) =>
    ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"].map((suite) => `ECDHE-${kind}-${suite}`),
  )
  .join(":");

export type Peer = { readonly address: string; readonly port: number };

/** The address of the inner listener, and of the connections to it. */
export const innerHost = "127.0.0.1";

export type TlsTerminator = Awaited<ReturnType<typeof openTerminator>>;

/**
 * Opens the TLS port.
 * @throws TvsError REFUSED for a wrong pair, or the error of the server's `error` event, such as EADDRINUSE
 */
export async function openTerminator(
  { credentials, limits, innerPort, isTrusted }: TerminatorOptions,
  at: { readonly host: string; readonly port: number },
) {
  assertCredentials(credentials);
  const connections = createConnections(limits, isTrusted);
  /** The peer of each connection to the inner listener, by the connection's local port. */
  const peers = new Map<number, ConnectionInfo>();
  let isClosing = false;

  function pass(outer: TLSSocket): void {
    connections.secure(outer);
    const peer = {
      remoteAddress: outer.remoteAddress ?? "",
      tls: true,
      clientCertificate: certificateOf(outer),
    };
    const inner = connect({ host: innerHost, port: innerPort }, () => {
      const port = inner.localPort as number;
      peers.set(port, peer);
      inner.once("close", () => {
        // The port may be another connection's already.
        if (peers.get(port) === peer) peers.delete(port);
      });
      outer.pipe(inner).pipe(outer);
      for (const socket of [outer, inner]) socket.on("data", refresh);
    });
    inner.setNoDelay(true);
    // A socket's own time-out does not count while the client takes nothing.
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
      // Reads the rest of a refused body: a client that still sends would lose the answer.
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
  // Bun leaves a handshake that failed or took too long open.
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(at, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    /**
     * The peer of a request to the inner listener; null for the connection of another program on this machine, which may
     * have the same local port at another loopback address.
     */
    peerOf: ({ address, port }: Peer): ConnectionInfo | null =>
      address === innerHost ? (peers.get(port) ?? null) : null,
    /** Stops listening; resolves when every connection has ended, or after `withinMs`. */
    async close(withinMs: number): Promise<void> {
      isClosing = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.destroyHandshakes();
      await resolvesWithin(withinMs, closed);
      connections.destroy();
    },
  };
}

/**
 * The client's certificate. A resumed session (TLS ticket) has the certificate of its first handshake: only the client
 * that held the private key then can hold the session's secret now.
 */
function certificateOf(socket: TLSSocket): ConnectionInfo["clientCertificate"] {
  // An empty object means "no certificate", null a closed socket.
  const peer = socket.getPeerCertificate() as { raw?: Uint8Array } | null;
  return peer?.raw === undefined ? null : readCertificate(peer.raw);
}

/** Checks the pair: a runtime may report a wrong pair at the first handshake only. */
function assertCredentials({ cert, key }: TlsCredentials): void {
  let fits = false;
  try {
    fits = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch (error) {
    const text =
      "the TLS certificate or its key cannot be read: both must be PEM files, the key without a passphrase";
    throw new TvsError("REFUSED", text, { cause: error });
  }
  if (!fits) {
    throw new TvsError(
      "REFUSED",
      "the TLS key does not belong to the TLS certificate: give the pair's own key",
    );
  }
}

/** Counts the connections of the TLS port, from the TCP handshake on: in all, and for each address. */
function createConnections(limits: TlsLimits, isTrusted: (remoteAddress: string) => boolean) {
  type Connection = { readonly block: string; socket: Socket; isSecure: boolean };
  // By the peer's address and port: on Deno the TLS socket is another object than the TCP socket.
  const open = new Map<string, Connection>();
  const perBlock = new Map<string, number>();
  const warn = createWarning(
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
      const block = rateLimitKeys(remoteAddress)[0] ?? "";
      const count = perBlock.get(block) ?? 0;
      const isCrowded = count >= limits.maxConnectionsPerAddress && !isTrusted(remoteAddress);
      if (isCrowded || open.size >= limits.maxConnections) {
        warn({ connections: open.size });
        socket.destroy();
        return;
      }
      const name = nameOf(socket);
      leave(name);
      open.set(name, { block, socket, isSecure: false });
      perBlock.set(block, count + 1);
      socket.once("close", () => {
        if (open.get(name)?.socket === socket) leave(name);
      });
    },
    /** The handshake of a connection is done. */
    secure(socket: TLSSocket): void {
      socket.on("error", () => socket.destroy());
      const name = nameOf(socket);
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

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
