import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { makeCertificate, type TestCertificate } from "../harness/certificates.ts";
import { eventually, withinOneSecond } from "../harness/eventually.ts";
import { makeFolder } from "../harness/folder.ts";
import { patienceMs, runTvs } from "../harness/program.ts";
import { openClient } from "../harness/raw-client.ts";
import { audienceOf, bearer, createTlsWorld, header, type TlsWorld, tId } from "./tls-world.ts";
import { api, type Partner } from "./world.ts";

setDefaultTimeout(patienceMs);

let { world, first, second, serverArgs, call, statusOf } = {} as TlsWorld;
beforeAll(async () => {
  ({ world, first, second, serverArgs, call, statusOf } = await createTlsWorld());
});
afterAll(() => world?.end());

describe("client certificates", () => {
  function callTls(
    certificate: TestCertificate | null,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const client = certificate === null ? {} : { cert: certificate.certPem, key: certificate.keyPem };
    // A connection of its own each time: a kept one would carry another test's certificate.
    return fetch(`${world.service().tlsUrl}${api}/lookup/by-tid/${tId}`, {
      headers: { ...headers, Connection: "close" },
      tls: { ...client, rejectUnauthorized: false },
      keepalive: false,
    });
  }

  const clientCert = ({ der }: TestCertificate) => ({
    "Client-Cert": `:${Buffer.from(der).toString("base64")}:`,
  });

  async function addCertificate(partner: Partner, certificate: TestCertificate): Promise<string> {
    const path = await world.file(`${crypto.randomUUID()}.pem`, certificate.certPem);
    return (await world.tvsJson<{ fingerprint: string }>("partners", "cert", "add", partner.id, path))
      .fingerprint;
  }

  test("count by their fingerprint, before any key, until they are removed", async () => {
    const certificate = await makeCertificate({ commonName: "agency" });
    const fingerprint = await addCertificate(second, certificate);
    expect(fingerprint.replaceAll(":", "").toLowerCase()).toBe(certificate.fingerprint256);
    for (const headers of [{}, bearer(first.apiKey)]) {
      const isSecond = async () => {
        const response = await callTls(certificate, headers);
        return response.status === 200 && (await audienceOf(response)) === second.id;
      };
      expect(await withinOneSecond(isSecond)).toBe(true);
    }
    const withColons = certificate.fingerprint256.toUpperCase().replace(/..(?=.)/g, "$&:");
    expect((await world.tvs("partners", "cert", "remove", second.id, withColons)).code).toBe(0);
    expect(await withinOneSecond(async () => (await callTls(certificate)).status === 401)).toBe(true);
  });

  test("an unknown one is nobody, and hides no good key", async () => {
    const stranger = await makeCertificate({ commonName: "agency" });
    expect((await callTls(stranger)).status).toBe(401);
    expect(await audienceOf(await callTls(stranger, bearer(first.apiKey)))).toBe(first.id);
    expect(await audienceOf(await callTls(stranger, header(first.apiKey)))).toBe(first.id);
    expect((await callTls(null)).status).toBe(401);
    expect(await audienceOf(await callTls(null, bearer(first.apiKey)))).toBe(first.id);
  });

  test("belong to one partner", async () => {
    const certificate = await makeCertificate({ commonName: "agency" });
    await addCertificate(first, certificate);
    const path = await world.file("again.pem", certificate.certPem);
    expect((await world.tvs("partners", "cert", "add", second.id, path)).code).toBe(1);
    expect((await world.tvs("partners", "cert", "remove", second.id, certificate.fingerprint256)).code).toBe(
      1,
    );
    expect((await world.tvs("partners", "cert", "remove", first.id, certificate.fingerprint256)).code).toBe(
      0,
    );
  });

  test("an expired one is refused by the command, and counts no longer once it expires", async () => {
    const old = await makeCertificate({ commonName: "old", notAfter: new Date(Date.now() - 2_000) });
    const path = await world.file("old.pem", old.certPem);
    const refused = await world.tvs("partners", "cert", "add", first.id, path);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("expired");

    const short = await makeCertificate({ commonName: "short", notAfter: new Date(Date.now() + 5_000) });
    await addCertificate(first, short);
    expect(await withinOneSecond(async () => (await callTls(short)).status === 200)).toBe(true);
    expect(await eventually(async () => (await callTls(short)).status === 401, 7_000)).toBe(true);
    expect(await audienceOf(await callTls(short, bearer(second.apiKey)))).toBe(second.id);
  });

  test("Client-Cert counts from the peers of --client-cert-from alone, whatever --trusted-proxy says", async () => {
    const certificate = await makeCertificate({ commonName: "agency" });
    await addCertificate(first, certificate);
    const forwarded = clientCert(certificate);
    const proxies = ["--trusted-proxy", "127.0.0.0/8,10.0.0.0/8"];
    try {
      for (const args of [[], proxies, [...proxies, "--client-cert-from", "10.0.0.0/8"]]) {
        // Without any it is running already.
        if (args.length > 0) await world.restart({ args: [...serverArgs, ...args] });
        expect(await statusOf(forwarded)).toBe(401);
        expect(await statusOf({ ...forwarded, "X-Forwarded-For": "10.0.0.1" })).toBe(401);
        expect(await audienceOf(await call({ ...forwarded, ...bearer(second.apiKey) }))).toBe(second.id);
      }

      await world.restart({ args: [...serverArgs, "--client-cert-from", "127.0.0.0/8"] });
      expect(await audienceOf(await call(forwarded))).toBe(first.id);
      expect(await audienceOf(await call({ ...forwarded, ...bearer(second.apiKey) }))).toBe(first.id);
      const proxy = await makeCertificate({ commonName: "proxy" });
      expect(await audienceOf(await callTls(proxy, forwarded))).toBe(first.id);
      const stranger = clientCert(await makeCertificate({ commonName: "agency" }));
      expect(await statusOf(stranger)).toBe(401);
      expect(await audienceOf(await call({ ...stranger, ...bearer(second.apiKey) }))).toBe(second.id);
      const base64 = Buffer.from(certificate.der).toString("base64");
      for (const malformed of [
        base64,
        `:${base64}`,
        `:${base64}:, :${base64}:`,
        certificate.fingerprint256,
      ]) {
        expect(await statusOf({ "Client-Cert": malformed })).toBe(401);
      }
      const client = await openClient({ port: Number(new URL(world.service().url).port) });
      const line = `Client-Cert: ${forwarded["Client-Cert"]}\r\n`;
      client.write(
        `GET ${api}/lookup/by-tid/${tId} HTTP/1.1\r\nHost: a\r\n${line}${line}Connection: close\r\n\r\n`,
      );
      expect(await client.closed).toStartWith("HTTP/1.1 401 ");
      expect(await statusOf({ "Client-Cert-Chain": forwarded["Client-Cert"] })).toBe(401);
    } finally {
      await world.restart({ args: serverArgs });
    }
  });

  test.each(["--trusted-proxy", "--client-cert-from"])(
    "%s with what is no network makes nothing",
    async (flag) => {
      const folder = await makeFolder();
      const dataDir = join(folder.path, "data");
      const refused = await runTvs([
        "serve",
        "--data",
        dataDir,
        "--port",
        "0",
        flag,
        "10.0.0.0/8,proxy.local",
      ]);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toBe(
        `tvs: ${flag} (TVS_${flag.slice(2).replaceAll("-", "_").toUpperCase()}) "proxy.local" is not a network: ` +
          "write it as 10.0.0.0/8, 192.0.2.7 or fd00::/8\n",
      );
      expect(await stat(dataDir).catch(() => null)).toBeNull();
      await folder.remove();
    },
  );
});
