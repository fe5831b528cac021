/**
 * Client certificates, from the TLS layer and from the `Client-Cert` header of a trusted proxy.
 *
 * A certificate is only ever an identity by its fingerprint (contract, Authentication): no chain is built and no
 * name is read, so nothing here says that a certificate is *trusted*.
 */
import { createHash, X509Certificate } from "node:crypto";

/** What the service needs to know of a client certificate. */
export interface PresentedCertificate {
  /** SHA-256 of the DER, lower-case hexadecimal without colons (64 characters). */
  readonly fingerprint256: string;
  /** First moment of validity. */
  readonly validFrom: Date;
  /** Last moment of validity. */
  readonly validTo: Date;
}

/** Larger than any certificate in use; bounds the work that one header can cause. */
const MAX_DER_BYTES = 16 * 1024;

/** A structured-field byte sequence (RFC 8941, 3.3.5) without parameters, as RFC 9440, 2.1 prescribes. */
const BYTE_SEQUENCE = /^:([A-Za-z0-9+/]+={0,2}):$/;

/**
 * Reads the value of a `Client-Cert` header (RFC 9440): one base64 byte sequence between colons that holds exactly
 * one DER certificate. Several values joined by a comma, parameters, white space inside, base64 that is not
 * canonical and bytes after the certificate are all malformed.
 *
 * @param value the header as received, or nothing
 * @returns the certificate, or `null` when absent or malformed; it never throws
 */
export function parseClientCertHeader(value: string | null | undefined): PresentedCertificate | null {
  const base64 = BYTE_SEQUENCE.exec(value?.trim() ?? "")?.[1];
  if (base64 === undefined || base64.length > (MAX_DER_BYTES / 3) * 4) return null;
  const der = Buffer.from(base64, "base64");
  // Padding bits that are set would let one certificate be written in several ways.
  return der.toString("base64") === base64 ? readCertificate(der) : null;
}

/**
 * Reads a DER certificate.
 *
 * @param der the bytes, one certificate and nothing else
 * @returns the certificate, or `null` when the bytes are anything else; it never throws
 */
export function readCertificate(der: Uint8Array): PresentedCertificate | null {
  if (!isWholeSequence(der)) return null;
  try {
    const certificate = new X509Certificate(der);
    const validFrom = new Date(certificate.validFrom);
    const validTo = new Date(certificate.validTo);
    if (Number.isNaN(validFrom.getTime()) || Number.isNaN(validTo.getTime())) return null;
    return { fingerprint256: createHash("sha256").update(der).digest("hex"), validFrom, validTo };
  } catch {
    return null;
  }
}

/**
 * Whether the outer DER SEQUENCE spans the bytes exactly. The runtimes' parsers ignore what follows it (and Bun's
 * takes PEM text as well), which would give one certificate many fingerprints.
 */
function isWholeSequence(der: Uint8Array): boolean {
  if (der[0] !== 0x30 || der.length > MAX_DER_BYTES) return false;
  const first = der[1] ?? 0;
  if (first < 0x80) return der.length === 2 + first;
  const lengthBytes = first & 0x7f;
  if (lengthBytes < 1 || lengthBytes > 2) return false;
  const length = lengthBytes === 1 ? (der[2] ?? 0) : (der[2] ?? 0) * 256 + (der[3] ?? 0);
  // A length that fits a shorter form is not DER.
  return length >= (lengthBytes === 1 ? 0x80 : 0x100) && der.length === 2 + lengthBytes + length;
}
