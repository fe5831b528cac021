/** A world that also listens with TLS, and two partners that call it by whatever credential. */
import { expect } from "bun:test";
import { makeCertificate } from "../harness/certificates.ts";
import type { Envelope } from "./contract.ts";
import { teachers } from "./registry.ts";
import { api, createWorld, readJson } from "./world.ts";

export type TlsWorld = Awaited<ReturnType<typeof createTlsWorld>>;

export const tId = teachers.valid.t_id;

export const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
export const header = (key: string) => ({ "x-agency-api-key": key });

export async function createTlsWorld() {
  const world = await createWorld({ rows: [teachers.valid] });
  const server = await makeCertificate({ commonName: "verify.example.gov" });
  const certFile = await world.file("server.pem", server.certPem);
  const keyFile = await world.file("server.key", server.keyPem);
  const serverArgs = ["--tls-port", "0", "--tls-cert", certFile, "--tls-key", keyFile];
  await world.restart({ args: serverArgs });
  const call = (headers: Record<string, string>) => world.get(`${api}/lookup/by-tid/${tId}`, headers);
  return {
    world,
    first: await world.partner(),
    second: await world.partner(),
    /** What `serve` is told of TLS, for a service that is started anew. */
    serverArgs,
    call,
    statusOf: async (headers: Record<string, string>) => (await call(headers)).status,
  };
}

/** Whom the envelope of an answer is for. */
export async function audienceOf(response: Response): Promise<string> {
  expect(response.status).toBe(200);
  return (await readJson<Envelope>(response)).audience;
}
