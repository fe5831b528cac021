import { expect, test } from "bun:test";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { checkFileModes } from "../../../cli/doctor/machine.ts";
import {
  checkClientCertificates,
  checkSettings,
  checkTrustedProxies,
  checkWebhookReceivers,
} from "../../../cli/doctor/service.ts";
import { readCommandConfig } from "../../../src/config.ts";
import { withTempDir } from "../../harness/folder.ts";
import { withTestContext } from "../../harness/service.ts";

const tls = { port: 8443, certFile: "chain.pem", keyFile: "key.pem" };

const now = Date.parse("2026-11-23T12:00:00Z");

test.each([
  ["127.0.0.1", [], undefined, null],
  ["::1", ["127.0.0.1/32"], undefined, null],
  ["0.0.0.0", ["10.0.0.5/32"], undefined, null],
  ["::", [], tls, null],
  ["127.0.0.1", ["127.0.0.1/32", "10.0.0.5/32"], undefined, null],
  ["127.0.0.1", ["0.0.0.0/0"], undefined, /^0\.0\.0\.0\/0 is trusted/],
  ["0.0.0.0", ["10.0.0.5/32", "::/0"], undefined, /^::\/0 is trusted/],
  ["0.0.0.0", [], undefined, /without TLS and without a trusted proxy$/],
  ["127.0.0.1", ["10.0.0.5/32"], undefined, /only this machine reaches 127\.0\.0\.1$/],
])("tvs doctor checks the host %s with the trusted proxies %p", (host, trustedProxies, given, warned) => {
  const check = checkTrustedProxies({ host, trustedProxies, tls: given });
  expect(check.result).toBe(warned === null ? "ok" : "warn");
  if (warned === null) return;
  expect(check.found).toMatch(warned);
  expect(check.advice).toContain("trust");
});

const off = { clientCertFrom: [], trustedProxies: [], tls: undefined };
const local = { ...off, trustedProxies: ["127.0.0.1"] };
const fromAll = { ...off, clientCertFrom: ["0.0.0.0/0"] };
const fromProxy = { ...off, clientCertFrom: ["10.0.0.5"] };
const onlyAddresses = { ...off, trustedProxies: ["10.0.0.5/32"] };

test.each([
  ["no certificate", off, 0, null, null],
  ["no certificate, behind a proxy", local, 0, null, null],
  ["some certificates, and unknown options of the service", off, 2, null, null],
  ["some certificates, at a separate TLS port", { ...local, tls }, 2, null, null],
  ["Client-Cert trusted from every address", fromAll, 1, /0\.0\.0\.0\/0$/, "seen"],
  ["Client-Cert trusted from a proxy", fromProxy, 1, /10\.0\.0\.5, which must/, "must be 401"],
  ["Client-Cert trusted, and no certificate", fromProxy, 0, /no certificate/, "leave --client-cert-from"],
  ["a proxy for addresses", onlyAddresses, 1, /not believed from 10\.0\.0\.5\/32$/, "--client-cert-from"],
])("tvs doctor checks client certificates: %s", (_name, config, registered, warned, advice) => {
  const check = checkClientCertificates(config, { certificates: registered, now });
  expect(check.result).toBe(warned === null ? "ok" : "warn");
  expect(check.advice).toEqual(advice && expect.stringContaining(advice));
  if (warned !== null) expect(check.found).toMatch(warned);
});

test("tvs doctor warns for 24 hours after an unreadable Client-Cert header, and names the right format", () => {
  const unreadableAt = new Date(now - 3_600_000).toISOString();
  const check = checkClientCertificates(fromProxy, { certificates: 1, unreadableAt, now });
  expect(check).toMatchObject({ result: "warn" });
  expect(check.found).toContain(`a Client-Cert from 10.0.0.5 could not be read at ${unreadableAt}`);
  expect(check.advice).toContain("RFC 9440");
  const later = { certificates: 1, unreadableAt, now: now + 86_400_000 };
  expect(checkClientCertificates(fromProxy, later).found).not.toContain("could not be read");
});

test("tvs doctor names a webhook receiver whose host has no IP address, and the receiver's partner", async () => {
  expect(await checkWebhookReceivers([])).toMatchObject({ result: "ok" });
  const numbered = { partnerId: "a", url: "https://192.0.2.1/x" };
  const both = [numbered, { partnerId: "b", url: "https://[2001:db8::1]:9/" }];
  const found = "every host name has an IP address (2)";
  expect(await checkWebhookReceivers(both)).toMatchObject({ result: "ok", found });
  // No resolver may answer this reserved name (RFC 6761).
  const lost = { partnerId: "agency", url: "https://receiver.invalid/hook" };
  const check = await checkWebhookReceivers([lost, numbered]);
  expect(check).toMatchObject({ result: "warn", found: "no IP address for receiver.invalid of agency" });
  expect(check.advice).toContain("tvs partners webhook set");
});

test.each([
  ["http://0.0.0.0:8090", "is not a URL that anybody can reach"],
  ["https://localhost", "is a URL of this machine only"],
  ["http://verify.example.gov", "is http"],
])("tvs doctor warns of the issuer %s", (issuer, found) => {
  const stored = new Map(Object.entries({ issuer, issuer_set: "true" }));
  const checks = checkSettings(stored, readCommandConfig({}, {}), { oldest: null, now: 0 });
  const warned = { name: "issuer", result: "warn", found: expect.stringContaining(found) };
  expect(checks).toContainEqual(expect.objectContaining(warned));
});

test("tvs doctor warns if other users may read the database", () =>
  withTempDir(async (dataDir) => {
    await chmod(dataDir, 0o700);
    await withTestContext(dataDir, async () => {});
    const config = readCommandConfig({ data: dataDir }, {});
    await chmod(join(dataDir, "tvs.db"), 0o644);
    const check = checkFileModes(config);
    expect(check).toMatchObject({ result: "warn" });
    expect(check.found).toContain("mode 0644");
    expect(check.advice).toStartWith("chmod 600 ");
    await chmod(join(dataDir, "tvs.db"), 0o600);
    for (const file of check.advice?.split(" ").slice(2) ?? []) await chmod(file, 0o600);
    expect(checkFileModes(config)).toMatchObject({ result: "ok" });
  }));
