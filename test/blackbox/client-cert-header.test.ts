/** Whom a listener believes in what he says of somebody else's certificate. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { availableParallelism } from "node:os";
import { makeCertificate, type TestCertificate } from "../harness/certificates.ts";
import { patienceMs, runTvs } from "../harness/program.ts";
import { openClient } from "../harness/raw-client.ts";
import { audienceOf, bearer, createTlsWorld, type TlsWorld, tId } from "./tls-world.ts";
import { api } from "./world.ts";

setDefaultTimeout(patienceMs);

let { world, first, second, call, callTls, addCertificate, statusOf } = {} as TlsWorld;
beforeAll(async () => {
  ({ world, first, second, call, callTls, addCertificate, statusOf } = await createTlsWorld());
});
afterAll(() => world?.end());

const clientCert = ({ der }: TestCertificate) => ({
  "Client-Cert": `:${Buffer.from(der).toString("base64")}:`,
});

test("Client-Cert counts from the peers of --client-cert-from alone, whatever --trusted-proxy says", async () => {
  const certificate = await makeCertificate({ commonName: "agency" });
  await addCertificate(first, certificate);
  const forwarded = clientCert(certificate);
  const proxies = ["--trusted-proxy", "127.0.0.0/8,10.0.0.0/8"];
  try {
    for (const args of [[], proxies, [...proxies, "--client-cert-from", "10.0.0.0/8"]]) {
      // Without any it is running already.
      if (args.length > 0) await world.restart({ args });
      expect(await statusOf(forwarded)).toBe(401);
      expect(await statusOf({ ...forwarded, "X-Forwarded-For": "10.0.0.1" })).toBe(401);
      expect(await audienceOf(await call({ ...forwarded, ...bearer(second.apiKey) }))).toBe(second.id);
    }

    await world.restart({ args: ["--client-cert-from", "127.0.0.0/8"] });
    expect(await audienceOf(await call(forwarded))).toBe(first.id);
    expect(await audienceOf(await call({ ...forwarded, ...bearer(second.apiKey) }))).toBe(first.id);
    const proxy = await makeCertificate({ commonName: "proxy" });
    expect(await audienceOf(await callTls(proxy, forwarded))).toBe(first.id);
    const stranger = clientCert(await makeCertificate({ commonName: "agency" }));
    expect(await statusOf(stranger)).toBe(401);
    expect(await audienceOf(await call({ ...stranger, ...bearer(second.apiKey) }))).toBe(second.id);
    const base64 = Buffer.from(certificate.der).toString("base64");
    for (const malformed of [base64, `:${base64}`, `:${base64}:, :${base64}:`, certificate.fingerprint256]) {
      expect(await statusOf({ "Client-Cert": malformed })).toBe(401);
    }
    const warnings = world.logs().match(/.*Client-Cert header in another form than RFC 9440.*/g) ?? [];
    // One a minute, and a serving thread counts its own.
    expect(warnings.length).toBeGreaterThan(0);
    expect(warnings.length).toBeLessThanOrEqual(availableParallelism());
    expect(warnings.join("")).not.toContain(base64.slice(0, 20));
    expect(warnings.join("")).toContain("127.0.0.1");
    const env = { TVS_CLIENT_CERT_FROM: "127.0.0.0/8" };
    const doctor = await runTvs(["doctor", "--data", world.dataDir], { env });
    expect(doctor.stdout).toContain("a Client-Cert from 127.0.0.0/8 could not be read at ");
    const client = await openClient({ port: Number(new URL(world.service().url).port) });
    const line = `Client-Cert: ${forwarded["Client-Cert"]}\r\n`;
    client.write(
      `GET ${api}/lookup/by-tid/${tId} HTTP/1.1\r\nHost: a\r\n${line}${line}Connection: close\r\n\r\n`,
    );
    expect(await client.closed).toStartWith("HTTP/1.1 401 ");
    expect(await statusOf({ "Client-Cert-Chain": forwarded["Client-Cert"] })).toBe(401);
  } finally {
    await world.restart();
  }
});
