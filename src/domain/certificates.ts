/** Reads X.509 client certificates. The fingerprint alone identifies a partner (contract C17); no chain is verified. */
import { Buffer } from "node:buffer";
import { createHash, X509Certificate } from "node:crypto";
import { isoTime } from "./clock.ts";
import { TvsError } from "./errors.ts";
import type { ClientCertificate } from "./partners.ts";

/** A client certificate of a request. Times are milliseconds since the epoch. */
export type PresentedCertificate = Pick<ClientCertificate, "fingerprint" | "validFrom" | "validTo">;

/** A larger certificate is not parsed, which bounds the work for a request header. Certificates in use are smaller. */
export const maxCertificateBytes = 16 * 1024;

/** Parses a DER certificate. Never throws. @returns null if the bytes are not exactly one certificate */
export function parseCertificate(der: Uint8Array): PresentedCertificate | null {
  if (!isWholeSequence(der)) return null;
  try {
    const certificate = new X509Certificate(der);
    const [validFrom, validTo] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
    if (Number.isNaN(validFrom) || Number.isNaN(validTo)) return null;
    return { fingerprint: createHash("sha256").update(der).digest("hex"), validFrom, validTo };
  } catch {
    return null;
  }
}

/** True if the outer DER SEQUENCE spans all bytes. Trailing bytes would give a certificate many fingerprints. */
function isWholeSequence(der: Uint8Array): boolean {
  if (der[0] !== 0x30 || der.length > maxCertificateBytes) return false;
  const first = der[1] ?? 0;
  if (first < 0x80) return der.length === 2 + first;
  const lengthBytes = first & 0x7f;
  if (lengthBytes < 1 || lengthBytes > 2) return false;
  const length = lengthBytes === 1 ? (der[2] ?? 0) : (der[2] ?? 0) * 256 + (der[3] ?? 0);
  // DER allows only the shortest form of a length. A longer form would give the certificate a second fingerprint.
  return length >= (lengthBytes === 1 ? 0x80 : 0x100) && der.length === 2 + lengthBytes + length;
}

/**
 * Reads the only certificate of a file, PEM or DER. A file with several certificates is refused: if the issuing
 * authority's certificate were read by mistake, its holder could authenticate as the partner.
 * @throws TvsError INPUT_UNREADABLE if the file has no certificate, REFUSED if it has several or an expired one
 */
export function readCertificateFile(file: Uint8Array, partnerId: string, options: { now: number }) {
  const der = soleCertificate(file);
  const presented = parseCertificate(der);
  if (presented === null)
    throw new TvsError("INPUT_UNREADABLE", "the file contains no readable X.509 certificate");
  const { validTo } = presented;
  const expired = `the certificate expired at ${isoTime(validTo)}; ask the partner for its new one`;
  if (validTo < options.now) throw new TvsError("REFUSED", expired);
  return {
    ...presented,
    partnerId,
    subject: new X509Certificate(der).subject.split("\n").join(", "),
    addedAt: options.now,
  };
}

function soleCertificate(file: Uint8Array): Uint8Array {
  if (file[0] === 0x30) return file;
  const text = Buffer.from(file).toString("latin1");
  // Damaged certificates count too: after an uncounted one, the next certificate of a chain would seem the only one.
  const count = Math.ceil((text.match(/CERTIFICATE-----/g)?.length ?? 0) / 2);
  if (count > 1) {
    const message = `the file holds ${count} certificates; give the partner's own alone, without its chain`;
    throw new TvsError("REFUSED", message);
  }
  const [, base64 = ""] =
    /-----BEGIN CERTIFICATE-----([\sA-Za-z0-9+/=]+)-----END CERTIFICATE-----/.exec(text) ?? [];
  return Buffer.from(base64, "base64");
}

/** Reads a SHA-256 fingerprint. @returns the fingerprint in lower case, without colons. @throws TvsError USAGE */
export function parseFingerprint(text: string): string {
  const digits = text.replace(/^sha-?256 fingerprint=/i, "").replace(/[:\s]/g, "");
  if (/^[0-9a-fA-F]{64}$/.test(digits)) return digits.toLowerCase();
  const wanted = "64 hexadecimal digits, with or without colons";
  throw new TvsError("USAGE", `the fingerprint must be a SHA-256: ${wanted}`);
}
