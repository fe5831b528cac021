import { beforeAll, expect, test } from "bun:test";
import { makeCertificate, type TestCertificate } from "../harness/certificates.ts";
import { withinOneSecond } from "../harness/eventually.ts";
import type { Envelope } from "./contract.ts";
import { teachers } from "./registry.ts";
import { api, fetchOverTls, type Partner, readJson, sharedWorld } from "./world.ts";

const tId = teachers.valid.t_id;
const path = `${api}/lookup/by-tid/${tId}`;
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const header = (key: string) => ({ "x-agency-api-key": key });

const world = sharedWorld({
  rows: [teachers.valid],
  isTls: true,
  // A proxy on loopback is trusted.
  args: ["--client-cert-from", "127.0.0.1"],
});
let [first, second] = [{} as Partner, {} as Partner];
beforeAll(async () => {
  [first, second] = [await world.partner(), await world.partner()];
});

const call = (headers: Record<string, string>) => world.get(path, headers);
const statusOf = async (headers: Record<string, string>) => (await call(headers)).status;
const callTls = (certificate: TestCertificate, headers = {}) =>
  fetchOverTls(world.service().tlsUrl + path, certificate, { headers });

async function audienceOf(response: Response): Promise<string> {
  expect(response.status).toBe(200);
  return (await readJson<Envelope>(response)).audience;
}

test("a valid API key is accepted in Authorization or x-agency-api-key, even if the other header has an invalid key", async () => {
  const unknown = `${first.apiKey.slice(0, -1)}${first.apiKey.endsWith("a") ? "b" : "a"}`;
  for (const headers of [
    bearer(first.apiKey),
    { Authorization: `BEARER ${first.apiKey}` },
    header(first.apiKey),
    { ...bearer(unknown), ...header(first.apiKey) },
    { ...bearer(first.apiKey), ...header(unknown) },
    { ...bearer(first.apiKey), ...header(second.apiKey) },
  ]) {
    expect(await audienceOf(await call(headers))).toBe(first.id);
  }
});

test("a revoked API key is refused within one second, and the partner's other key still works", async () => {
  const partner = await world.partner();
  const { apiKey, keyId } = await world.tvsJson<Partner>("partners", "key", "issue", partner.id);
  expect(keyId).not.toBe(partner.keyId);
  expect(await withinOneSecond(async () => (await statusOf(bearer(apiKey))) === 200)).toBe(true);
  expect(await statusOf(bearer(partner.apiKey))).toBe(200);
  expect((await world.tvs("partners", "key", "revoke", partner.keyId)).code).toBe(0);
  expect(await withinOneSecond(async () => (await statusOf(bearer(partner.apiKey))) === 401)).toBe(true);
  expect(await audienceOf(await call(bearer(apiKey)))).toBe(partner.id);
});

test("an added or removed scope takes effect within one second", async () => {
  const partner = await world.partner({ scopes: "batch" });
  const status = () => statusOf(bearer(partner.apiKey));
  expect(await status()).toBe(403);
  await world.tvs("partners", "set", partner.id, "--scopes", "lookup_by_tid");
  expect(await withinOneSecond(async () => (await status()) === 200)).toBe(true);
  await world.tvs("partners", "set", partner.id, "--scopes", "batch");
  expect(await withinOneSecond(async () => (await status()) === 403)).toBe(true);
});

test("a client certificate authenticates by its fingerprint, takes precedence over an API key, and stops when it is removed", async () => {
  const certificate = await makeCertificate({ commonName: "agency" });
  const fingerprint = await world.addCertificate(second, certificate);
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

test("a client certificate that a trusted proxy forwards in Client-Cert authenticates, and a malformed one gets 401", async () => {
  const certificate = await makeCertificate({ commonName: "agency behind a proxy" });
  await world.addCertificate(second, certificate);
  const forwarded = `:${Buffer.from(certificate.der).toString("base64")}:`;
  const isSecond = async () => {
    const response = await call({ "Client-Cert": forwarded, ...bearer(first.apiKey) });
    return response.status === 200 && (await audienceOf(response)) === second.id;
  };
  expect(await withinOneSecond(isSecond)).toBe(true);
  for (const wrong of [forwarded.slice(1), `${forwarded}, ${forwarded}`, certificate.fingerprint256])
    expect(await statusOf({ "Client-Cert": wrong })).toBe(401);
});
