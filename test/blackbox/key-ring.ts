/** A world whose signing keys a test turns, and what it looks at them with. */
import { expect } from "bun:test";
import jsonwebtoken from "jsonwebtoken";
import { withinOneSecond } from "../harness/eventually.ts";
import { runTvs } from "../harness/program.ts";
import type { Envelope, Health, Jwk, KeyInfo } from "./contract.ts";
import { fetchJwks, publicKeyOf } from "./jws.ts";
import { teachers } from "./registry.ts";
import { api, createWorld, issuer, readJson } from "./world.ts";

export type Rotated = { activeKid: string; previousKid: string; pendingKid: string };
export type History = { iss: string; iat: number; keys: (KeyInfo & { jwk: Jwk })[] };
export type KeyWorld = Awaited<ReturnType<typeof createKeyWorld>>;

/** Connections that are opened at once to ask all threads of a service: each connection leads to any of them. */
const connections = 32;

export function kidOf(keys: readonly KeyInfo[], state: KeyInfo["state"]): string {
  return keys.find((key) => key.state === state)?.kid ?? "";
}

export async function createKeyWorld() {
  const world = await createWorld({ rows: [teachers.valid] });
  const partner = await world.partner();

  const list = () => world.tvsJson<KeyInfo[]>("keys", "list");
  const activeKid = async () => (await readJson<Health>(await world.get(`${api}/health`))).activeKid;
  const servedKids = async () => (await fetchJwks(world)).keys.map(({ kid }) => kid);

  async function envelope(): Promise<Envelope> {
    const response = await partner.check({ tId: Number(teachers.valid.t_id) });
    expect(response.status).toBe(200);
    return readJson<Envelope>(response);
  }

  /** Whether all threads of the service come to name, within a second, an active key of which this holds. */
  function activeKeyBecomes(holds: (kid: string) => boolean): Promise<boolean> {
    const health = () => fetch(`${world.service().url}${api}/health`, { headers: { Connection: "close" } });
    const ask = async () => (await readJson<Health>(await health())).activeKid;
    return withinOneSecond(async () =>
      (await Promise.all(Array.from({ length: connections }, ask))).every(holds),
    );
  }

  /** Rotates, and waits until the service signs with the new key. */
  async function rotateNow(...words: string[]): Promise<Rotated> {
    const rotated = await world.tvsJson<Rotated>("keys", "rotate", "--now", ...words);
    expect(await activeKeyBecomes((kid) => kid === rotated.activeKid)).toBe(true);
    return rotated;
  }

  async function fetchHistory(): Promise<string> {
    return (await world.get(`${api}/.well-known/key-history`)).text();
  }

  /** Verifies a key history by the served key set. */
  async function readHistory(jws: string): Promise<History> {
    const { keys } = await fetchJwks(world);
    const header = Buffer.from(jws.split(".")[0] ?? "", "base64url").toString();
    const { kid } = JSON.parse(header) as { kid: string };
    expect(kid).toBe(await activeKid());
    const jwk = keys.find((key) => key.kid === kid) as Jwk;
    return jsonwebtoken.verify(jws, publicKeyOf(jwk), { algorithms: ["RS256"] }) as unknown as History;
  }

  /** `tvs verify` on a machine that has only files. */
  async function verifyOffline(envelopes: readonly Envelope[], by: "jwks" | "history") {
    const file = await world.file(`${crypto.randomUUID()}.json`, JSON.stringify(envelopes));
    const keyFile =
      by === "jwks"
        ? ["--jwks", await world.file("jwks.json", JSON.stringify(await fetchJwks(world)))]
        : ["--key-history", await world.file("history.jose", await fetchHistory())];
    const who = ["--issuer", issuer, "--audience", partner.id, "--json"];
    const finished = await runTvs(["verify", file, ...keyFile, ...who]);
    const verdicts = finished.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { valid: boolean; reason: string; verificationId: string });
    return { code: finished.code, verdicts };
  }

  return {
    world,
    partner,
    list,
    activeKid,
    activeKeyBecomes,
    servedKids,
    envelope,
    rotateNow,
    fetchHistory,
    readHistory,
    verifyOffline,
  };
}
