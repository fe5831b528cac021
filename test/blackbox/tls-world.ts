/** A running service with a TLS port that trusts a proxy on loopback, and two partners with keys and certificates. */
import { expect } from "bun:test";
import type { TestCertificate } from "../harness/certificates.ts";
import type { Envelope } from "./contract.ts";
import { teachers } from "./registry.ts";
import { api, createWorld, type Partner, readJson } from "./world.ts";

export type TlsWorld = Awaited<ReturnType<typeof createTlsWorld>>;

export const tId = teachers.valid.t_id;

export const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
export const header = (key: string) => ({ "x-agency-api-key": key });

export async function createTlsWorld() {
  const world = await createWorld({
    rows: [teachers.valid],
    isTls: true,
    args: ["--client-cert-from", "127.0.0.1"],
  });
  const call = (headers: Record<string, string>) => world.get(`${api}/lookup/by-tid/${tId}`, headers);
  function callTls(certificate: TestCertificate | null, headers: Record<string, string> = {}) {
    const client = certificate === null ? {} : { cert: certificate.certPem, key: certificate.keyPem };
    // Each call opens a new connection, because an open one has another test's client certificate.
    return fetch(`${world.service().tlsUrl}${api}/lookup/by-tid/${tId}`, {
      headers: { ...headers, Connection: "close" },
      tls: { ...client, rejectUnauthorized: false },
      keepalive: false,
    });
  }
  /** Adds a certificate to a partner. @returns its fingerprint */
  async function addCertificate(partner: Partner, certificate: TestCertificate): Promise<string> {
    const path = await world.file(`${crypto.randomUUID()}.pem`, certificate.certPem);
    const words = ["partners", "cert", "add", partner.id, path];
    return (await world.tvsJson<{ fingerprint: string }>(...words)).fingerprint;
  }
  return {
    world,
    callTls,
    addCertificate,
    first: await world.partner(),
    second: await world.partner(),
    call,
    statusOf: async (headers: Record<string, string>) => (await call(headers)).status,
  };
}

export async function audienceOf(response: Response): Promise<string> {
  expect(response.status).toBe(200);
  return (await readJson<Envelope>(response)).audience;
}
