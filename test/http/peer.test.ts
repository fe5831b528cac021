import { describe, expect, test } from "bun:test";
import { parseCertificate } from "../../src/domain/certificates.ts";
import {
  createClientAddressFinder,
  createNetworkMatcher,
  deriveRateLimitKeys,
  parseClientCertHeader,
} from "../../src/http/peer.ts";
import { makeCertificate } from "../harness/certificates.ts";
import { catchError } from "../harness/rejection.ts";

const notBefore = new Date("2024-02-29T12:00:00Z");
const notAfter = new Date("2055-06-30T23:59:59Z");
const authority = await makeCertificate({ commonName: "authority" });
const certificate = await makeCertificate({ commonName: "agency", notBefore, notAfter, issuer: authority });
const base64 = Buffer.from(certificate.der).toString("base64");
const expected = {
  fingerprint: certificate.fingerprint256,
  validFrom: notBefore.getTime(),
  validTo: notAfter.getTime(),
};

/** The `Client-Cert` value of RFC 9440, figure 1 of its appendix A. */
const RFC_9440_EXAMPLE = `:${[
  "MIIBqDCCAU6gAwIBAgIBBzAKBggqhkjOPQQDAjA6MRswGQYDVQQKDBJMZXQncyBBdXRoZW50aWNhdGUxGzAZBgNVBAMMEkxBIEludGVy",
  "bWVkaWF0ZSBDQTAeFw0yMDAxMTQyMjU1MzNaFw0yMTAxMjMyMjU1MzNaMA0xCzAJBgNVBAMMAkJDMFkwEwYHKoZIzj0CAQYIKoZIzj0D",
  "AQcDQgAE8YnXXfaUgmnMtOXU/IncWalRhebrXmckC8vdgJ1p5Be5F/3YC8OthxM4+k1M6aEAEFcGzkJiNy6J84y7uzo9M6NyMHAwCQYD",
  "VR0TBAIwADAfBgNVHSMEGDAWgBRm3WjLa38lbEYCuiCPct0ZaSED2DAOBgNVHQ8BAf8EBAMCBsAwEwYDVR0lBAwwCgYIKwYBBQUHAwIw",
  "HQYDVR0RAQH/BBMwEYEPYmRjQGV4YW1wbGUuY29tMAoGCCqGSM49BAMCA0gAMEUCIBHda/r1vaL6G3VliL4/Di6YK0Q6bMjeSkC3dFCO",
  "OB8TAiEAx/kHSB4urmiZ0NX5r5XarmPk0wmuydBVoU4hBVZ1yhk=",
].join("")}:`;

test("a Client-Cert header gives the fingerprint and validity period of its certificate", () => {
  expect(parseClientCertHeader(`:${base64}:`)).toEqual(expected);
  expect(parseClientCertHeader(` :${base64}: `)).toEqual(expected);
});

test("the example Client-Cert header of RFC 9440 is read", () => {
  const example = parseClientCertHeader(RFC_9440_EXAMPLE);
  expect(example?.validFrom).toBe(Date.parse("2020-01-14T22:55:33Z"));
  expect(example?.validTo).toBe(Date.parse("2021-01-23T22:55:33Z"));
  expect(example?.fingerprint).toHaveLength(64);
});

test("a malformed Client-Cert header gives no certificate", () => {
  const trailing = Buffer.concat([certificate.der, Buffer.from("tail")]).toString("base64");
  const cut = Buffer.from(certificate.der.slice(0, -1)).toString("base64");
  // biome-ignore format: a table reads better in rows
  const malformed = [
      undefined, null, "", ":", "::", ": :", base64, `:${base64}`, `${base64}:`, `:${base64}:;q=1`,
      `:${base64}:, :${base64}:`, `:${base64.slice(0, 40)} ${base64.slice(40)}:`, `:${base64}=:`,
      `:${base64.replaceAll("=", "")}A:`, `:${Buffer.from(certificate.der).toString("base64url")}_-:`,
      `:${trailing}:`, `:${cut}:`, `:${Buffer.from(certificate.certPem).toString("base64")}:`,
      `:${Buffer.from("not a certificate").toString("base64")}:`, `:${"A".repeat(100_000)}:`,
      certificate.certPem,
      encodeURIComponent(certificate.certPem),
    ];
  for (const value of malformed) expect(parseClientCertHeader(value)).toBeNull();
});

test("a Client-Cert header whose base64 is not canonical gives no certificate", async () => {
  let { der } = certificate;
  // Base64 has unused bits in its last character only if the length is not a multiple of three.
  while (der.length % 3 === 0) der = (await makeCertificate({ commonName: "agency" })).der;
  const [, digits = "", padding = ""] = /^(.+?)(=+)$/.exec(Buffer.from(der).toString("base64")) ?? [];
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const next = alphabet[alphabet.indexOf(digits.slice(-1)) + 1] ?? "";
  const same = `${digits.slice(0, -1)}${next}${padding}`;
  expect(Buffer.from(same, "base64").equals(der)).toBe(true);
  expect(parseClientCertHeader(`:${digits}${padding}:`)).not.toBeNull();
  for (const other of [same, digits]) expect(parseClientCertHeader(`:${other}:`)).toBeNull();
});

test("parseCertificate reads DER with lengths in their shortest form, and nothing else", () => {
  expect(parseCertificate(certificate.der)).toEqual(expected);
  const longer = [0x30, 0x83, 0x00, ...certificate.der.slice(2)];
  // biome-ignore format: a list reads better in rows
  const wrong = [
    [], [0x30], [0x30, 0x00], [0x30, 0x80], [0x30, 0x84, 0, 0, 0, 1], [0x30, 0x82, 0xff, 0xff],
    [0x31, 0x03, 1, 1, 1], [0x30, 0x03, 1, 1, 1], longer,
  ];
  for (const bytes of wrong) expect(parseCertificate(Uint8Array.from(bytes))).toBeNull();
});

const trustedProxies = ["10.0.0.0/8", "192.0.2.7", "fd00::/8", "::ffff:198.51.100.0/120"];
const sourceAddress = createClientAddressFinder({ trustedProxies });

describe("the source address", () => {
  // biome-ignore format: a table reads better in rows
  const cases: [name: string, remote: string, header: string | undefined, address: string][] = [
    ["no proxy", "203.0.113.9", undefined, "203.0.113.9"],
    ["the header of an untrusted caller is ignored", "203.0.113.9", "1.2.3.4", "203.0.113.9"],
    ["a trusted proxy is believed", "10.1.2.3", "203.0.113.9", "203.0.113.9"],
    ["a single address is trusted", "192.0.2.7", "203.0.113.9", "203.0.113.9"],
    ["the address next to a trusted one is not trusted", "192.0.2.8", "203.0.113.9", "192.0.2.8"],
    ["a trusted proxy without a header", "10.1.2.3", undefined, "10.1.2.3"],
    ["the entries are read from the right", "10.1.2.3", "1.2.3.4, 203.0.113.9", "203.0.113.9"],
    ["the leftmost entry if all are trusted", "10.1.2.3", "10.0.0.1, 10.0.0.2", "10.0.0.1"],
    ["a malformed entry ends the search", "10.1.2.3", "203.0.113.9, unknown, 10.0.0.2", "10.0.0.2"],
    ["an empty entry ends the search", "10.1.2.3", "203.0.113.9,", "10.1.2.3"],
    ["octal, hexadecimal and short forms are malformed", "10.1.2.3", "010.0.0.1, 0x7f.0.0.1, 1", "10.1.2.3"],
    ["IPv4-mapped peer", "::ffff:203.0.113.9", undefined, "203.0.113.9"],
    ["IPv4-mapped hexadecimal form", "::ffff:a00:1", "2001:db8::1", "2001:db8::1"],
    ["IPv6 proxy", "fd12::1", "2001:DB8:0:0::1", "2001:db8::1"],
    ["IPv6 zone", "fe80::1%eth0", undefined, "fe80::1"],
    ["port after IPv4", "10.1.2.3", "203.0.113.9:4711", "203.0.113.9"],
    ["port after IPv6", "10.1.2.3", "[2001:db8::1]:4711", "2001:db8::1"],
    ["a socket that is gone", "", "203.0.113.9", ""],
  ];
  for (const [name, remote, header, address] of cases) {
    test(`the client's address is ${JSON.stringify(address)}: ${name}`, () =>
      expect(sourceAddress(remote, header)).toBe(address));
  }

  test("a service without trusted proxies ignores X-Forwarded-For", () => {
    const strict = createClientAddressFinder({ trustedProxies: [] });
    expect(strict("10.1.2.3", "203.0.113.9")).toBe("10.1.2.3");
  });

  test("an IPv4 trusted-proxy range that covers every IPv4 address covers no IPv6 address", () => {
    const all = createClientAddressFinder({ trustedProxies: ["0.0.0.0/0"] });
    expect(all("203.0.113.9", "198.51.100.1")).toBe("198.51.100.1");
    expect(all("2001:db8::1", "198.51.100.1")).toBe("2001:db8::1");
  });

  // biome-ignore format: a list reads better in rows
  test.each([
    "10.0.0.0/33", "10.0.0/8", "proxy.local", "", "10.0.0.0/", "10.0.0.0/8/9", "fd00::/129", "10.0.0.0/-1",
    "::ffff:10.0.0.0/64",
  ])("the error about the wrong network %j of a proxy names this entry", async (entry) => {
    const refusal = { code: "CONFIG_INVALID", message: expect.stringContaining(JSON.stringify(entry)) };
    const networks = ["10.0.0.0/8", entry];
    const source = Promise.try(() => createClientAddressFinder({ trustedProxies: networks }));
    expect(await catchError(source)).toMatchObject(refusal);
    expect(await catchError(Promise.try(() => createNetworkMatcher(networks)))).toMatchObject(refusal);
  });
});

test("the network matcher accepts addresses of the given networks, also IPv4 addresses mapped to IPv6", () => {
  const isProxy = createNetworkMatcher(["10.0.0.5", "fd00::/8"]);
  expect(["10.0.0.5", "::ffff:10.0.0.5", "fd12::1"].map((one) => isProxy(one))).toEqual([true, true, true]);
  expect(["10.0.0.6", "2001:db8::1", ""].map((one) => isProxy(one))).toEqual([false, false, false]);
  expect(createNetworkMatcher([])("127.0.0.1")).toBe(false);
});

test("the rate limit keys are an IPv4 address itself, and the /64 and /48 of an IPv6 address", () => {
  expect(deriveRateLimitKeys("203.0.113.9")).toEqual(["203.0.113.9"]);
  expect(deriveRateLimitKeys("::ffff:203.0.113.9")).toEqual(["203.0.113.9"]);
  expect(deriveRateLimitKeys("2001:db8:1:2:3:4:5:6")).toEqual(["2001:db8:1:2::/64", "2001:db8:1::/48"]);
  expect(deriveRateLimitKeys("2001:db8:1:2::9")).toEqual(deriveRateLimitKeys("2001:db8:1:2:ffff::1"));
  expect(deriveRateLimitKeys("2001:db8:1:3::9")).toEqual(["2001:db8:1:3::/64", "2001:db8:1::/48"]);
  expect(deriveRateLimitKeys("2001:db8:2:2::9")[1]).toBe("2001:db8:2::/48");
  // The key of text that is not an IP address is the text.
  expect(deriveRateLimitKeys("")).toEqual([""]);
});
