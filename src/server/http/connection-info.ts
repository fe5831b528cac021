import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { maxDerBytes, type PresentedCertificate, readCertificate } from "../../domain/certificates.ts";

/**
 * What the socket says about a request. `listen` hands it to the handler as its second argument, which is where
 * `app.fetch` takes its bindings: `new Hono<{ Bindings: ConnectionInfo }>()` reads `c.env.remoteAddress`.
 */
export type ConnectionInfo = {
  /** The peer of the socket as the runtime writes it: a proxy's address, if one stands in front. */
  readonly remoteAddress: string;
  /** Whether the request came over the TLS listener. */
  readonly tls: boolean;
  /** The certificate whose private key the client proved to hold; whether it counts is not decided here. */
  readonly clientCertificate: PresentedCertificate | null;
};

/** The facts of each connection, kept for its life: the address is gone from a socket whose peer has left. */
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
 * The client's certificate. A resumed session (TLS ticket) gives the certificate of the handshake it continues, on
 * Bun and on Deno alike: only who held the private key then can hold the session's secret now.
 */
function peerCertificate(socket: TLSSocket): PresentedCertificate | null {
  // An empty object stands for "no certificate", null for a socket that is gone.
  const peer = socket.getPeerCertificate?.() as { raw?: Uint8Array } | null | undefined;
  return peer?.raw === undefined ? null : readCertificate(peer.raw);
}

/** A structured-field byte sequence (RFC 8941, 3.3.5) without parameters, as RFC 9440, 2.1 prescribes. */
const byteSequence = /^:([A-Za-z0-9+/]+={0,2}):$/;

/**
 * Reads a client certificate that a proxy passes on in the `Client-Cert` header (RFC 9440): one base64 byte sequence
 * between colons that holds exactly one DER certificate. Several values joined by a comma (two such lines arrive so),
 * parameters, white space inside, base64 that is not canonical and bytes after the certificate are all malformed.
 *
 * Nothing here says that a certificate is *trusted*, and `Client-Cert-Chain` is not read: no authority has a say in
 * whose certificate counts.
 *
 * @param value the header as received, or nothing
 * @returns the certificate, or `null` when absent or malformed; it never throws
 */
export function parseClientCertHeader(value: string | null | undefined): PresentedCertificate | null {
  const base64 = byteSequence.exec(value?.trim() ?? "")?.[1];
  if (base64 === undefined || base64.length > (maxDerBytes / 3) * 4) return null;
  const der = Buffer.from(base64, "base64");
  // Padding bits that are set would let one certificate be written in several ways.
  return der.toString("base64") === base64 ? readCertificate(der) : null;
}
