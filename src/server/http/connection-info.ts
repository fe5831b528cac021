import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { type PresentedCertificate, readCertificate } from "../../domain/certificates.ts";

/**
 * What the socket says about a request. `listen` hands it to the handler as its second argument, which is where
 * `app.fetch` takes its bindings: `new Hono<{ Bindings: ConnectionInfo }>()` reads `c.env.remoteAddress`.
 */
export interface ConnectionInfo {
  /** The peer of the socket as the runtime writes it: a proxy's address, if one stands in front. */
  readonly remoteAddress: string;
  /** Whether the request came over the TLS listener. */
  readonly tls: boolean;
  /** The certificate whose private key the client proved to hold; whether it counts is not decided here. */
  readonly clientCertificate: PresentedCertificate | null;
}

/** One answer for a connection's whole life: the address is gone from a socket whose peer has left. */
const known = new WeakMap<object, ConnectionInfo>();

/** The facts about a connection, read once. */
export function connectionInfo(socket: Socket | TLSSocket): ConnectionInfo {
  const seen = known.get(socket);
  if (seen !== undefined) return seen;
  const tls = "encrypted" in socket && socket.encrypted === true;
  const info: ConnectionInfo = {
    remoteAddress: socket.remoteAddress ?? "",
    tls,
    clientCertificate: tls ? peerCertificate(socket as TLSSocket) : null,
  };
  known.set(socket, info);
  return info;
}

/**
 * A resumed session (TLS ticket) gives the certificate of the handshake it continues, on Bun and on Deno alike:
 * only who held the private key then can hold the session's secret now.
 */
function peerCertificate(socket: TLSSocket): PresentedCertificate | null {
  // An empty object stands for "no certificate", null for a socket that is gone.
  const peer = socket.getPeerCertificate?.() as { raw?: Uint8Array } | null | undefined;
  return peer?.raw === undefined ? null : readCertificate(peer.raw);
}
