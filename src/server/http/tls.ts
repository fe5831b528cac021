/**
 * The TLS listener: it asks every client for a certificate and requires none, and no authority has to have signed
 * it (contract C17: a certificate counts by its fingerprint).
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import {
  createServer as createHttpServer,
  type Server as NodeHttpServer,
  type ServerOptions,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Server, Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { ListenError } from "./listen-error.ts";
import type { RequestListener } from "./request-listener.ts";

export type TlsCredentials = {
  /** The certificate chain, PEM. */
  readonly cert: string;
  /** Its private key, PEM. */
  readonly key: string;
};

type TlsServerOptions = {
  readonly credentials: TlsCredentials;
  readonly http: ServerOptions;
  readonly handshakeTimeoutMs: number;
  readonly listener: RequestListener;
  /** A connection whose handshake is done. */
  readonly onConnection: (socket: Socket) => void;
};

type TlsServers = {
  /** The server that listens. */
  readonly server: Server;
  /** The server that reads HTTP; the same one, but for Bun. */
  readonly http: NodeHttpServer;
  /** Ends the connections whose handshake is under way. */
  destroyHandshakes(): void;
};

/**
 * The servers for HTTPS. Bun's node:https does not give the client's certificate to the request, its node:tls does.
 * There the TLS server hands each socket to an HTTP server that does not listen, which also means that no time limit
 * of that HTTP server applies: they are enforced in connections.ts.
 *
 * @throws ListenError (`TLS_INVALID`)
 */
export function createTlsServers(options: TlsServerOptions): TlsServers {
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
  const destroyHandshakes = trackHandshakes(server);
  server.on("secureConnection", (socket: Socket) => {
    options.onConnection(socket);
    if (split) http.emit("connection", socket);
  });
  return { server, http, destroyHandshakes };
}

/** Checks the pair: a runtime may say what is wrong with it at the first handshake only, or in words of its own. */
function assertCredentials({ cert, key }: TlsCredentials): void {
  let fits = false;
  try {
    fits = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch (error) {
    const text =
      "the TLS certificate or its key cannot be read: both must be PEM files, the key without a passphrase";
    throw new ListenError("TLS_INVALID", text, error);
  }
  if (!fits) {
    throw new ListenError(
      "TLS_INVALID",
      "the TLS key does not belong to the TLS certificate: give the pair's own key",
    );
  }
}

/** Ends failed and timed-out handshakes, of which Bun leaves the latter open. @returns ends those under way */
function trackHandshakes(server: Server): () => void {
  const pending = new Map<string, Socket>();
  server.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    pending.set(peer, socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      if (pending.get(peer) === socket) pending.delete(peer);
    });
  });
  // The socket of this event is another object than that of the event above on Deno, the same one on Bun.
  server.on("secureConnection", (socket: Socket) => pending.delete(peerOf(socket)));
  server.on("tlsClientError", (_error: Error, socket: Socket) => socket.destroy());
  return () => {
    for (const socket of pending.values()) socket.destroy();
  };
}

function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}
