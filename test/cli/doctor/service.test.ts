import { expect, test } from "bun:test";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { checkFileModes } from "../../../cli/doctor/machine.ts";
import { checkClientCertificates, checkProxy, checkReceivers } from "../../../cli/doctor/service.ts";
import { readConfig } from "../../../src/config.ts";
import { withTempDir } from "../../harness/folder.ts";
import { withTestContext } from "../../harness/service.ts";

const tls = { port: 8443, certFile: "chain.pem", keyFile: "key.pem" };

const now = Date.parse("2026-11-23T12:00:00Z");

test.each([
  ["127.0.0.1", [], undefined],
  ["::1", ["127.0.0.1/32"], undefined],
  ["0.0.0.0", ["10.0.0.5/32"], undefined],
  ["0.0.0.0", [], tls],
  ["127.0.0.1", ["127.0.0.1/32", "10.0.0.5/32"], undefined],
])("the proxy check accepts %s with %p", (host, trustedProxies, given) => {
  expect(checkProxy({ host, trustedProxies, tls: given })).toMatchObject({ name: "proxy", result: "ok" });
});

test.each([
  ["127.0.0.1", ["0.0.0.0/0"], /^0\.0\.0\.0\/0 is trusted/],
  ["0.0.0.0", ["10.0.0.5/32", "::/0"], /^::\/0 is trusted/],
  ["0.0.0.0", [], /without TLS and without a trusted proxy$/],
  ["127.0.0.1", ["10.0.0.5/32"], /only this machine reaches 127\.0\.0\.1$/],
])("the proxy check warns of %s with %p, with advice", (host, trustedProxies, found) => {
  const check = checkProxy({ host, trustedProxies, tls: undefined });
  expect(check.result).toBe("warn");
  expect(check.found).toMatch(found);
  expect(check.advice).toContain("trust");
});

const off = { clientCertFrom: [], trustedProxies: [], tls: undefined };

test.each([
  ["none", off, 0],
  ["none, behind a proxy", { ...off, trustedProxies: ["127.0.0.1"] }, 0],
  ["some, and who knows how the service is started", off, 2],
  ["some, at a port of their own", { ...off, tls, trustedProxies: ["127.0.0.1"] }, 2],
])("the certificate check accepts: %s", (_name, config, registered) => {
  expect(checkClientCertificates(config, { certificates: registered, now })).toMatchObject({
    result: "ok",
    advice: null,
  });
});

test.each([
  ["from the world", { ...off, clientCertFrom: ["0.0.0.0/0"] }, 1, /0\.0\.0\.0\/0$/, "seen"],
  ["from a proxy", { ...off, clientCertFrom: ["10.0.0.5"] }, 1, /10\.0\.0\.5, which must/, "must be 401"],
  ["for nobody", { ...off, clientCertFrom: ["10.0.0.5"] }, 0, /no certificate/, "leave --client-cert-from"],
  [
    "from a proxy that is trusted for addresses alone",
    { ...off, trustedProxies: ["10.0.0.5/32"] },
    1,
    /not believed from 10\.0\.0\.5\/32$/,
    "--client-cert-from",
  ],
])(
  "the certificate check warns of certificates %s, with advice",
  (_name, config, registered, found, advice) => {
    const check = checkClientCertificates(config, { certificates: registered, now });
    expect(check).toMatchObject({ name: "client-certificates", result: "warn" });
    expect(check.found).toMatch(found);
    expect(check.advice).toContain(advice);
  },
);

test("doctor warns for 24 hours of a Client-Cert that could not be read, with the form that it needs", () => {
  const config = { clientCertFrom: ["10.0.0.5"], trustedProxies: [], tls: undefined };
  const unreadableAt = new Date(now - 3_600_000).toISOString();
  const check = checkClientCertificates(config, { certificates: 1, unreadableAt, now });
  expect(check).toMatchObject({ name: "client-certificates", result: "warn" });
  expect(check.found).toContain(`a Client-Cert from 10.0.0.5 could not be read at ${unreadableAt}`);
  expect(check.advice).toContain("RFC 9440");
  const later = checkClientCertificates(config, { certificates: 1, unreadableAt, now: now + 86_400_000 });
  expect(later.found).not.toContain("could not be read");
});

test("a receiver's IP address needs no name", async () => {
  expect(await checkReceivers([])).toMatchObject({ result: "ok" });
  const numbered = { partnerId: "a", url: "https://192.0.2.1/x" };
  expect(await checkReceivers([numbered, { partnerId: "b", url: "https://[2001:db8::1]:9/" }])).toMatchObject(
    {
      result: "ok",
      found: "every host name has an IP address (2)",
    },
  );
});

test("a receiver's name without an address is shown with its partner", async () => {
  // A reserved name, which no resolver may answer (RFC 6761).
  const lost = { partnerId: "agency", url: "https://receiver.invalid/hook" };
  const check = await checkReceivers([lost, { partnerId: "b", url: "https://127.0.0.1/" }]);
  expect(check).toMatchObject({ result: "warn", found: "no IP address for receiver.invalid of agency" });
  expect(check.advice).toContain("tvs partners webhook set");
});

test("a database that others may read is warned of", () =>
  withTempDir(async (dataDir) => {
    await chmod(dataDir, 0o700);
    await withTestContext(dataDir, async () => {});
    const config = readConfig({ data: dataDir }, {});
    await chmod(join(dataDir, "tvs.db"), 0o644);
    const check = checkFileModes(config);
    expect(check).toMatchObject({ name: "file-modes", result: "warn" });
    expect(check.found).toContain("mode 0644");
    expect(check.advice).toStartWith("chmod 600 ");
    await chmod(join(dataDir, "tvs.db"), 0o600);
    for (const file of check.advice?.split(" ").slice(2) ?? []) await chmod(file, 0o600);
    expect(checkFileModes(config)).toMatchObject({ result: "ok" });
  }));
