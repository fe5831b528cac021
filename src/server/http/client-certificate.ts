/**
 * Client certificates that a proxy passes on in the `Client-Cert` header; those of the TLS layer are read from the
 * socket (connection-info.ts). Nothing here says that a certificate is *trusted*, and `Client-Cert-Chain` is not
 * read: no authority has a say in whose certificate counts.
 */
import { maxDerBytes, type PresentedCertificate, readCertificate } from "../../domain/certificates.ts";

/** A structured-field byte sequence (RFC 8941, 3.3.5) without parameters, as RFC 9440, 2.1 prescribes. */
const BYTE_SEQUENCE = /^:([A-Za-z0-9+/]+={0,2}):$/;

/**
 * Reads the value of a `Client-Cert` header (RFC 9440): one base64 byte sequence between colons that holds exactly
 * one DER certificate. Several values joined by a comma (two such lines arrive so), parameters, white space inside,
 * base64 that is not canonical and bytes after the certificate are all malformed.
 *
 * @param value the header as received, or nothing
 * @returns the certificate, or `null` when absent or malformed; it never throws
 */
export function parseClientCertHeader(value: string | null | undefined): PresentedCertificate | null {
  const base64 = BYTE_SEQUENCE.exec(value?.trim() ?? "")?.[1];
  if (base64 === undefined || base64.length > (maxDerBytes / 3) * 4) return null;
  const der = Buffer.from(base64, "base64");
  // Padding bits that are set would let one certificate be written in several ways.
  return der.toString("base64") === base64 ? readCertificate(der) : null;
}
