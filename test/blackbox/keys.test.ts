import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { createHash, generateKeyPairSync } from "node:crypto";
import jsonwebtoken from "jsonwebtoken";
import { sleep, until, withinOneSecond } from "../harness/eventually.ts";
import { runTvs, testTimeoutMs } from "../harness/program.ts";
import type { Envelope, Health, Jwk, KeyInfo } from "./contract.ts";
import { expectGenuine, fetchJwks, publicKeyOf } from "./jws.ts";
import { teachers } from "./registry.ts";
import { api, issuer, type Partner, readJson, sharedWorld } from "./world.ts";

setDefaultTimeout(testTimeoutMs);

type Rotated = { activeKid: string; previousKid: string; pendingKid: string };
type History = { iss: string; iat: number; keys: (KeyInfo & { jwk: Jwk })[] };

const world = sharedWorld({ rows: [teachers.valid] });
let partner: Partner;
beforeAll(async () => {
  partner = await world.partner();
});

function kidOf(keys: readonly KeyInfo[], state: KeyInfo["state"]): string {
  return keys.find((key) => key.state === state)?.kid ?? "";
}

const list = () => world.tvsJson<KeyInfo[]>("keys", "list");
const activeKid = async () => (await readJson<Health>(await world.get(`${api}/health`))).activeKid;
const servedKids = async () => (await fetchJwks(world)).keys.map(({ kid }) => kid);

async function envelope(): Promise<Envelope> {
  const response = await partner.check({ tId: Number(teachers.valid.t_id) });
  expect(response.status).toBe(200);
  return readJson<Envelope>(response);
}

function activeKeyBecomes(holds: (kid: string) => boolean): Promise<boolean> {
  return withinOneSecond(async () => holds(await activeKid()));
}

async function rotateNow(...words: string[]): Promise<Rotated> {
  const rotated = await world.tvsJson<Rotated>("keys", "rotate", "--now", ...words);
  expect(await activeKeyBecomes((kid) => kid === rotated.activeKid)).toBe(true);
  return rotated;
}

async function fetchHistory(): Promise<string> {
  return (await world.get(`${api}/.well-known/key-history`)).text();
}

async function readHistory(jws: string): Promise<History> {
  const { keys } = await fetchJwks(world);
  const header = Buffer.from(jws.split(".")[0] ?? "", "base64url").toString();
  const { kid } = JSON.parse(header) as { kid: string };
  expect(kid).toBe(await activeKid());
  const jwk = keys.find((key) => key.kid === kid) as Jwk;
  return jsonwebtoken.verify(jws, publicKeyOf(jwk), { algorithms: ["RS256"] }) as unknown as History;
}

async function verifyOffline(envelopes: readonly Envelope[]) {
  const file = await world.file(`${crypto.randomUUID()}.json`, JSON.stringify(envelopes));
  const keyFile = ["--key-history", await world.file("history.jose", await fetchHistory())];
  const who = ["--issuer", issuer, "--audience", partner.id, "--json"];
  const finished = await runTvs(["verify", file, ...keyFile, ...who]);
  const verdicts = finished.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { valid: boolean; reason: string; verificationId: string });
  return { code: finished.code, verdicts };
}

test("every key of the key set has the published form and no private member, and its key id is its thumbprint", async () => {
  const { keys } = await fetchJwks(world);
  const all = await list();
  for (const state of ["active", "pending"]) expect(all.filter((key) => key.state === state)).toHaveLength(1);
  const usable = all.filter(({ state }) => state !== "compromised");
  expect(keys.map(({ kid }) => kid).sort()).toEqual(usable.map(({ kid }) => kid).sort());
  for (const key of keys) {
    expect(Object.keys(key).sort()).toEqual(["alg", "e", "kid", "kty", "n", "use"]);
    expect(key).toMatchObject({ kty: "RSA", use: "sig", alg: "RS256", e: "AQAB" });
    expect(Buffer.from(key.n, "base64url").length).toBeGreaterThanOrEqual(256);
    const canonical = `{"e":"${key.e}","kty":"RSA","n":"${key.n}"}`;
    expect(key.kid).toBe(createHash("sha256").update(canonical).digest("base64url"));
  }
  expect(await world.tvsJson<object>("keys", "jwks")).toEqual({ keys });
});

test.each(["jwks.json", "key-history"])(
  "%s may be cached for five minutes, and a request with its ETag gets 304",
  async (name) => {
    const path = `${api}/.well-known/${name}`;
    const { headers } = await world.get(path);
    expect(headers.get("Cache-Control")).toBe("public, max-age=300, must-revalidate");
    const again = await world.get(path, { "If-None-Match": headers.get("ETag") ?? "" });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  },
);

test("an imported signing key becomes the pending key, and the active key after a rotation", async () => {
  const before = await list();
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = privateKey.export({ format: "pem", type: "pkcs1" }) as string;
  const file = await world.file("signing.pem", pem);
  const finished = await world.tvsJson<KeyInfo>("keys", "import", file);
  expect(finished.state).toBe("pending");
  expect(await withinOneSecond(async () => (await servedKids()).includes(finished.kid))).toBe(true);
  const after = await list();
  expect(kidOf(after, "pending")).toBe(finished.kid);
  expect(after.find(({ kid }) => kid === kidOf(before, "pending"))?.state).toBe("retired");
  const { activeKid: active } = await rotateNow();
  expect(active).toBe(finished.kid);
  const one = await envelope();
  expect(() => jsonwebtoken.verify(one.signature, pem, { algorithms: ["RS256"] })).not.toThrow();
});

test("no check fails during rotations, and every envelope's key is in the key set before the envelope is sent", async () => {
  const seen: { envelope: Envelope; before: string[]; after: string[] }[] = [];
  let rotating = true;
  const rounds = Array.from({ length: 3 }, () => 0);
  async function caller(number: number): Promise<void> {
    while (rotating) {
      const before = await servedKids();
      const one = await envelope();
      seen.push({ envelope: one, before, after: await servedKids() });
      rounds[number] = (rounds[number] ?? 0) + 1;
      // The pause limits the test to hundreds of calls, which are enough.
      await sleep(10);
    }
  }
  const callers = Promise.all(rounds.map((_, number) => caller(number)));
  const kids = new Set([await activeKid()]);
  const made: string[] = [];
  // Making a large key takes long. Until the commit the old key signs, and its envelopes must verify.
  for (const bits of ["3072", "2048"]) {
    const { activeKid, pendingKid } = await rotateNow("--bits", bits);
    kids.add(activeKid);
    made.push(pendingKid);
    // Calls from before the publication of the pending key must be answered before that key signs.
    const done = [...rounds];
    await until(() => rounds.every((number, index) => number > (done[index] ?? 0)));
  }
  rotating = false;
  await callers;
  const jwks = await fetchJwks(world);
  const modulus = jwks.keys.find(({ kid }) => kid === made[0])?.n ?? "";
  expect(Buffer.from(modulus, "base64url")).toHaveLength(384);
  for (const { envelope: one, before, after } of seen) {
    expect(before).toContain(one.signatureKid);
    expect(after).toContain(one.signatureKid);
    expectGenuine(one, jwks, partner.id);
  }
  const used = new Set(seen.map(({ envelope: one }) => one.signatureKid));
  expect([...used].every((kid) => kids.has(kid))).toBe(true);
  expect(used.size).toBeGreaterThan(1);
  const offline = await verifyOffline(seen.map(({ envelope: one }) => one));
  expect(offline.verdicts.filter(({ valid }) => !valid)).toEqual([]);
  expect(offline.code).toBe(0);
});

test("a compromised key is replaced by the pending key, leaves the key set, and stays in the key history", async () => {
  const before = await list();
  const [active, pending] = [kidOf(before, "active"), kidOf(before, "pending")];
  const stolen = await envelope();
  expect(stolen.signatureKid).toBe(active);
  const since = new Date(Date.now() - 5_000).toISOString();
  expect((await world.tvs("keys", "compromise", active, "--since", since)).code).toBe(0);
  expect(await activeKeyBecomes((kid) => kid === pending)).toBe(true);
  const kids = await servedKids();
  expect(kids).not.toContain(active);
  expect(kids).toContain(pending);
  expect((await envelope()).signatureKid).toBe(pending);
  const after = await list();
  expect(after.filter(({ state }) => state === "pending")).toHaveLength(1);
  const flagged = (await readHistory(await fetchHistory())).keys.find(({ kid }) => kid === active);
  expect(flagged).toMatchObject({ state: "compromised", compromisedSince: since });
  const { code, verdicts } = await verifyOffline([stolen, await envelope()]);
  expect(code).toBe(1);
  expect(verdicts.map(({ valid }) => valid)).toEqual([false, true]);
  expect(verdicts[0]?.reason.toLowerCase()).toContain("compromised");
});
