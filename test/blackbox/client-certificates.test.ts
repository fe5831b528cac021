import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { makeCertificate } from "../harness/certificates.ts";
import { eventually, withinOneSecond } from "../harness/eventually.ts";
import { patienceMs } from "../harness/program.ts";
import { audienceOf, bearer, createTlsWorld, header, type TlsWorld } from "./tls-world.ts";

setDefaultTimeout(patienceMs);

let { world, first, second, callTls, addCertificate } = {} as TlsWorld;
beforeAll(async () => {
  ({ world, first, second, callTls, addCertificate } = await createTlsWorld());
});
afterAll(() => world?.end());

describe("client certificates", () => {
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

  test("one counts no longer once it expires", async () => {
    const short = await makeCertificate({ commonName: "short", notAfter: new Date(Date.now() + 5_000) });
    await addCertificate(first, short);
    expect(await withinOneSecond(async () => (await callTls(short)).status === 200)).toBe(true);
    expect(await eventually(async () => (await callTls(short)).status === 401, 7_000)).toBe(true);
    expect(await audienceOf(await callTls(short, bearer(second.apiKey)))).toBe(second.id);
  });
});
