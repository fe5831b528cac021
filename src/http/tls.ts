/**
 * The TLS listener: it asks every client for a certificate and requires none, and no authority has to have signed
 * it (contract C17: a certificate counts by its fingerprint).
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Server, Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { TvsError } from "../domain/errors.ts";
import type { BoundedListener, BoundedServerOptions } from "./bounded-messages.ts";

export type TlsCredentials = {
  /** The certificate chain, PEM. */
  readonly cert: string;
  /** Its private key, PEM. */
  readonly key: string;
};

type TlsServerOptions = {
  readonly credentials: TlsCredentials;
  readonly http: BoundedServerOptions;
  readonly handshakeTimeoutMs: number;
  readonly listener: BoundedListener;
  /** A connection that has come; it may be closed at once. */
  readonly onConnection: (socket: Socket) => void;
  /** Its handshake is done. On Deno that is told of another object than what has come. */
  readonly onSecured: (opened: Socket, secured: Socket) => void;
};

/**
 * The servers for HTTPS. Bun's node:https does not give the client's certificate to the request, its node:tls does.
 * There the TLS server hands each socket to an HTTP server that does not listen, which also means that no time limit
 * of that HTTP server applies: they are enforced in connections.ts.
 *
 * @returns the server that listens, the one that reads HTTP, which is the same but for Bun, and what ends the handshakes
 * that are under way
 * @throws TvsError REFUSED
 */
export function createTlsServers(options: TlsServerOptions) {
  assertCredentials(options.credentials);
  const tlsOptions: TlsOptions = {
    ...options.credentials,
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: "TLSv1.2",
    handshakeTimeout: options.handshakeTimeoutMs,
  };
  const split = "Bun" in globalThis;
  const http = split
    ? createHttpServer(options.http, options.listener)
    : createHttpsServer({ ...options.http, ...tlsOptions }, options.listener);
  const server: Server = split ? createTlsServer(tlsOptions) : http;
  const handshakes = trackHandshakes(server, options.onConnection);
  server.on("secureConnection", (socket: Socket) => {
    options.onSecured(handshakes.takeOut(socket), socket);
    if (split) http.emit("connection", socket);
  });
  return { server, http, destroyHandshakes: handshakes.destroy };
}

/** Checks the pair: a runtime may say what is wrong with it at the first handshake only, or in words of its own. */
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

/** Ends failed and timed-out handshakes, of which Bun leaves the latter open. */
function trackHandshakes(server: Server, onConnection: (socket: Socket) => void) {
  const pending = new Map<string, Socket>();
  server.on("connection", (socket: Socket) => {
    onConnection(socket);
    if (socket.destroyed) return;
    const peer = peerOf(socket);
    pending.set(peer, socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      if (pending.get(peer) === socket) pending.delete(peer);
    });
  });
  server.on("tlsClientError", (_error: Error, socket: Socket) => socket.destroy());
  return {
    /** Ends those under way. */
    destroy(): void {
      for (const socket of pending.values()) socket.destroy();
    },
    /** @returns what has come as a connection, for what carries its requests */
    takeOut(secured: Socket): Socket {
      const peer = peerOf(secured);
      const opened = pending.get(peer) ?? secured;
      pending.delete(peer);
      return opened;
    },
  };
}

function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}
