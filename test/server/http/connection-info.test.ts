import { describe, expect, test } from "bun:test";
import { readCertificate } from "../../../src/domain/certificates.ts";
import { parseClientCertHeader } from "../../../src/server/http/connection-info.ts";
import { makeCertificate } from "../../harness/certificates.ts";

const notBefore = new Date("2024-02-29T12:00:00Z");
const notAfter = new Date("2055-06-30T23:59:59Z");
const authority = await makeCertificate({ commonName: "authority" });
const certificate = await makeCertificate({ commonName: "agency", notBefore, notAfter, issuer: authority });
const base64 = Buffer.from(certificate.der).toString("base64");
const expected = { fingerprint256: certificate.fingerprint256, validFrom: notBefore, validTo: notAfter };

/** The `Client-Cert` value of RFC 9440, figure 1 of its appendix A. */
const RFC_9440_EXAMPLE = `:${[
  "MIIBqDCCAU6gAwIBAgIBBzAKBggqhkjOPQQDAjA6MRswGQYDVQQKDBJMZXQncyBBdXRoZW50aWNhdGUxGzAZBgNVBAMMEkxBIEludGVy",
  "bWVkaWF0ZSBDQTAeFw0yMDAxMTQyMjU1MzNaFw0yMTAxMjMyMjU1MzNaMA0xCzAJBgNVBAMMAkJDMFkwEwYHKoZIzj0CAQYIKoZIzj0D",
  "AQcDQgAE8YnXXfaUgmnMtOXU/IncWalRhebrXmckC8vdgJ1p5Be5F/3YC8OthxM4+k1M6aEAEFcGzkJiNy6J84y7uzo9M6NyMHAwCQYD",
  "VR0TBAIwADAfBgNVHSMEGDAWgBRm3WjLa38lbEYCuiCPct0ZaSED2DAOBgNVHQ8BAf8EBAMCBsAwEwYDVR0lBAwwCgYIKwYBBQUHAwIw",
  "HQYDVR0RAQH/BBMwEYEPYmRjQGV4YW1wbGUuY29tMAoGCCqGSM49BAMCA0gAMEUCIBHda/r1vaL6G3VliL4/Di6YK0Q6bMjeSkC3dFCO",
  "OB8TAiEAx/kHSB4urmiZ0NX5r5XarmPk0wmuydBVoU4hBVZ1yhk=",
].join("")}:`;

describe("Client-Cert header", () => {
  test("gives fingerprint and validity", () => {
    expect(parseClientCertHeader(`:${base64}:`)).toEqual(expected);
    expect(parseClientCertHeader(` :${base64}: `)).toEqual(expected);
  });

  test("reads the example of RFC 9440", () => {
    const example = parseClientCertHeader(RFC_9440_EXAMPLE);
    expect(example?.validFrom.toISOString()).toBe("2020-01-14T22:55:33.000Z");
    expect(example?.validTo.toISOString()).toBe("2021-01-23T22:55:33.000Z");
    expect(example?.fingerprint256).toHaveLength(64);
  });

  test("takes nothing that is malformed", () => {
    const trailing = Buffer.concat([certificate.der, Buffer.from("tail")]).toString("base64");
    const cut = Buffer.from(certificate.der.slice(0, -1)).toString("base64");
    const malformed = [
      undefined,
      null,
      "",
      ":",
      "::",
      ": :",
      base64,
      `:${base64}`,
      `${base64}:`,
      `:${base64}:;q=1`,
      `:${base64}:, :${base64}:`,
      `:${base64.slice(0, 40)} ${base64.slice(40)}:`,
      `:${base64}=:`,
      `:${base64.replaceAll("=", "")}A:`,
      `:${Buffer.from(certificate.der).toString("base64url")}_-:`,
      `:${trailing}:`,
      `:${cut}:`,
      `:${Buffer.from(certificate.certPem).toString("base64")}:`,
      `:${Buffer.from("not a certificate").toString("base64")}:`,
      `:${"A".repeat(100_000)}:`,
      certificate.certPem,
      encodeURIComponent(certificate.certPem),
    ];
    for (const value of malformed) expect(parseClientCertHeader(value)).toBeNull();
  });

  test("takes base64 in its canonical form only", async () => {
    let { der } = certificate;
    // Only a length that is no multiple of three leaves bits of the last character unused.
    while (der.length % 3 === 0) der = (await makeCertificate({ commonName: "agency" })).der;
    const [, digits = "", padding = ""] = /^(.+?)(=+)$/.exec(Buffer.from(der).toString("base64")) ?? [];
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const next = alphabet[alphabet.indexOf(digits.slice(-1)) + 1] ?? "";
    const same = `${digits.slice(0, -1)}${next}${padding}`;
    expect(Buffer.from(same, "base64").equals(der)).toBe(true);
    expect(parseClientCertHeader(`:${digits}${padding}:`)).not.toBeNull();
    for (const other of [same, digits]) expect(parseClientCertHeader(`:${other}:`)).toBeNull();
  });
});

describe("readCertificate", () => {
  test("reads DER and nothing else", () => {
    expect(readCertificate(certificate.der)).toEqual(expected);
    const wrong = [
      [],
      [0x30],
      [0x30, 0x00],
      [0x30, 0x80],
      [0x30, 0x84, 0, 0, 0, 1],
      [0x30, 0x82, 0xff, 0xff],
      [0x31, 0x03, 1, 1, 1],
      [0x30, 0x03, 1, 1, 1],
    ];
    for (const bytes of wrong) expect(readCertificate(Uint8Array.from(bytes))).toBeNull();
  });

  test("does not take a length that is not in its shortest form", () => {
    const longer = new Uint8Array(certificate.der.length + 1);
    longer.set([0x30, 0x83, 0x00, ...certificate.der.slice(2)]);
    expect(readCertificate(longer)).toBeNull();
  });

  test("never throws on damaged bytes", () => {
    for (let index = 0; index < certificate.der.length; index += 1) {
      const damaged = Uint8Array.from(certificate.der);
      damaged[index] = (damaged[index] ?? 0) ^ 0xff;
      const read = readCertificate(damaged);
      expect(read?.fingerprint256).not.toBe(certificate.fingerprint256);
    }
  });
});
