import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash, generateKeyPairSync } from "node:crypto";
import jsonwebtoken from "jsonwebtoken";
import type { Envelope, Health, Jwk, KeyInfo } from "./contract.ts";
import { expectGenuine, fetchJwks, publicKeyOf } from "./jws.ts";
import { run, withinOneSecond } from "./program.ts";
import { teachers } from "./registry.ts";
import { api, createWorld, issuer, type Partner, readJson, type World } from "./world.ts";

let world: World;
let partner: Partner;
const tId = Number(teachers.valid.t_id);

beforeAll(async () => {
  world = await createWorld({ rows: [teachers.valid] });
  partner = await world.partner();
});

afterAll(() => world?.end());

type Rotated = { activeKid: string; previousKid: string; pendingKid: string };

const ring = () => world.tvsJson<KeyInfo[]>("keys", "list");
const kidOf = (keys: readonly KeyInfo[], state: KeyInfo["state"]) => keys.find((key) => key.state === state)?.kid ?? "";
const activeKid = async () => (await readJson<Health>(await world.get(`${api}/health`))).activeKid;
const servedKids = async () => (await fetchJwks(world)).keys.map(({ kid }) => kid);

async function envelope(): Promise<Envelope> {
  const response = await partner.check({ tId });
  expect(response.status).toBe(200);
  return readJson<Envelope>(response);
}

/** Rotates, and waits until the service signs with the new key. */
async function rotateNow(...words: string[]): Promise<Rotated> {
  const rotated = await world.tvsJson<Rotated>("keys", "rotate", "--now", ...words);
  expect(await withinOneSecond(async () => (await activeKid()) === rotated.activeKid)).toBe(true);
  return rotated;
}

type History = { iss: string; iat: number; keys: (KeyInfo & { jwk: Jwk })[] };

async function fetchHistory(): Promise<string> {
  return (await world.get(`${api}/.well-known/key-history`)).text();
}

async function readHistory(jws: string): Promise<History> {
  const { keys } = await fetchJwks(world);
  const kid = (JSON.parse(Buffer.from(jws.split(".")[0] ?? "", "base64url").toString()) as { kid: string }).kid;
  const jwk = keys.find((key) => key.kid === kid) as Jwk;
  expect(kid).toBe(await activeKid());
  return jsonwebtoken.verify(jws, publicKeyOf(jwk), { algorithms: ["RS256"] }) as unknown as History;
}

/** `tvs verify` on a machine that has only files. */
async function verifyOffline(envelopes: readonly Envelope[], by: "jwks" | "history") {
  const file = await world.file(`${crypto.randomUUID()}.json`, JSON.stringify(envelopes));
  const keyFile =
    by === "jwks"
      ? ["--jwks", await world.file("jwks.json", JSON.stringify(await fetchJwks(world)))]
      : ["--key-history", await world.file("history.jose", await fetchHistory())];
  const finished = await run(["verify", file, ...keyFile, "--issuer", issuer, "--audience", partner.id, "--json"]);
  const verdicts = finished.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { valid: boolean; reason: string; verificationId: string });
  return { code: finished.code, verdicts };
}

describe("documents", () => {
  test("health", async () => {
    const response = await world.get(`${api}/health`);
    const keys = await ring();
    expect(response.status).toBe(200);
    const health = await readJson<Health>(response);
    expect(Object.keys(health).sort()).toEqual(["activeKid", "issuer", "service", "status"]);
    expect(health).toMatchObject({ status: "ok", issuer, activeKid: kidOf(keys, "active") });
    expect(typeof health.service).toBe("string");
  });

  test("the key set has the active and the pending key, in the published form and nothing private", async () => {
    const { keys } = await fetchJwks(world);
    const all = await ring();
    expect(all.filter(({ state }) => state === "active")).toHaveLength(1);
    expect(all.filter(({ state }) => state === "pending")).toHaveLength(1);
    expect(keys.map(({ kid }) => kid).sort()).toEqual(
      all.filter(({ state }) => state !== "compromised").map(({ kid }) => kid).sort(),
    );
    for (const key of keys) {
      expect(Object.keys(key).sort()).toEqual(["alg", "e", "kid", "kty", "n", "use"]);
      expect(key).toMatchObject({ kty: "RSA", use: "sig", alg: "RS256", e: "AQAB" });
      expect(Buffer.from(key.n, "base64url").length).toBeGreaterThanOrEqual(256);
      const canonical = `{"e":"${key.e}","kty":"RSA","n":"${key.n}"}`;
      expect(key.kid).toBe(createHash("sha256").update(canonical).digest("base64url"));
    }
    expect(await world.tvsJson<object>("keys", "jwks")).toEqual({ keys });
  });

  test("the key history is a JWS by the active key, and what the command prints says the same", async () => {
    const response = await world.get(`${api}/.well-known/key-history`);
    expect(response.headers.get("Content-Type")).toBe("application/jose");
    const served = await readHistory(await response.text());
    expect(served.iss).toBe(issuer);
    const described = served.keys.map(({ jwk, ...key }) => {
      expect(jwk.kid).toBe(key.kid);
      return key;
    });
    expect(described).toEqual(await ring());
    const printed = (await world.tvs("keys", "history")).stdout.trim();
    expect((await readHistory(printed)).keys).toEqual(served.keys);
    const { keyHistory } = await world.tvsJson<{ keyHistory: string }>("keys", "history");
    expect((await readHistory(keyHistory)).keys).toEqual(served.keys);
  });

  test.each(["jwks.json", "key-history"])("%s may be kept for five minutes, and is asked for by its tag", async (name) => {
    const path = `${api}/.well-known/${name}`;
    const first = await world.get(path);
    expect(first.headers.get("Cache-Control")).toBe("public, max-age=300, must-revalidate");
    const etag = first.headers.get("ETag") ?? "";
    expect(etag).toMatch(/^(W\/)?"[^"]+"$/);
    for (const known of [etag, `"other", ${etag}`, "*", `W/${etag.replace(/^W\//, "")}`]) {
      const again = await world.get(path, { "If-None-Match": known });
      expect(again.status).toBe(304);
      expect(again.headers.get("ETag")).toBe(etag);
      expect(again.headers.get("Cache-Control")).toBe("public, max-age=300, must-revalidate");
      expect(await again.text()).toBe("");
    }
    expect((await world.get(path, { "If-None-Match": '"other"' })).status).toBe(200);
    const head = await fetch(world.service().url + path, { method: "HEAD" });
    expect([head.status, head.headers.get("ETag"), await head.text()]).toEqual([200, etag, ""]);
  });

  test("the tags change with the keys", async () => {
    const tags = () =>
      Promise.all(
        ["jwks.json", "key-history"].map(async (name) => {
          const response = await world.get(`${api}/.well-known/${name}`);
          await response.text();
          return response.headers.get("ETag");
        }),
      );
    const [jwksTag, historyTag] = await tags();
    await rotateNow();
    const [newJwksTag, newHistoryTag] = await tags();
    expect(newJwksTag).not.toBe(jwksTag as string);
    expect(newHistoryTag).not.toBe(historyTag as string);
  });
});

describe("rotation", () => {
  test("is refused while the pending key has been public for less than a day", async () => {
    const before = await ring();
    const refused = await world.tvs("keys", "rotate");
    expect(refused.code).toBe(1);
    expect(refused.stderr.trim().split("\n")).toHaveLength(1);
    expect(refused.stderr).toContain("--now");
    expect(await ring()).toEqual(before);
  });

  test("with --now warns, promotes, retires and publishes; the retired public half stays", async () => {
    const before = await ring();
    const finished = await world.tvs("keys", "rotate", "--now", "--json");
    expect(finished.code).toBe(0);
    expect(finished.stderr).toContain("warning");
    const rotated = finished.json<Rotated>();
    expect(Object.keys(rotated).sort()).toEqual(["activeKid", "pendingKid", "previousKid"]);
    expect(rotated.activeKid).toBe(kidOf(before, "pending"));
    expect(rotated.previousKid).toBe(kidOf(before, "active"));
    expect(before.map(({ kid }) => kid)).not.toContain(rotated.pendingKid);
    const after = await ring();
    const retired = after.find(({ kid }) => kid === rotated.previousKid);
    expect(retired?.state).toBe("retired");
    expect(retired?.retiredAt).toBe(after.find(({ kid }) => kid === rotated.activeKid)?.activatedAt as string);
    expect(await withinOneSecond(async () => (await activeKid()) === rotated.activeKid)).toBe(true);
    const kids = await servedKids();
    for (const kid of Object.values(rotated)) expect(kids).toContain(kid);
    expect((await envelope()).signatureKid).toBe(rotated.activeKid);
  });

  test("under load no check fails, and every envelope's key was public before its answer came", async () => {
    const seen: { envelope: Envelope; before: string[]; after: string[] }[] = [];
    let rotating = true;
    async function caller(): Promise<void> {
      while (rotating) {
        const before = await servedKids();
        const one = await envelope();
        seen.push({ envelope: one, before, after: await servedKids() });
      }
    }
    const callers = Promise.all(Array.from({ length: 6 }, caller));
    const kids = new Set([await activeKid()]);
    for (let i = 0; i < 3; i++) kids.add((await rotateNow()).activeKid);
    rotating = false;
    await callers;
    const jwks = await fetchJwks(world);
    for (const { envelope: one, before, after } of seen) {
      expect(before).toContain(one.signatureKid);
      expect(after).toContain(one.signatureKid);
      expectGenuine(one, jwks, partner.id);
    }
    const used = new Set(seen.map(({ envelope: one }) => one.signatureKid));
    expect([...used].every((kid) => kids.has(kid))).toBe(true);
    expect(used.size).toBeGreaterThan(1);
    const offline = await verifyOffline(seen.map(({ envelope: one }) => one), "history");
    expect(offline.verdicts.filter(({ valid }) => !valid)).toEqual([]);
    expect(offline.code).toBe(0);
  });

  test("envelopes verify offline before a rotation and after it, by key set and by history", async () => {
    const old = await envelope();
    for (const by of ["jwks", "history"] as const) {
      const { code, verdicts } = await verifyOffline([old], by);
      expect([code, verdicts.length, verdicts[0]?.valid]).toEqual([0, 1, true]);
      expect(verdicts[0]?.verificationId).toBe(old.verificationId);
    }
    await rotateNow();
    const fresh = await envelope();
    expect(fresh.signatureKid).not.toBe(old.signatureKid);
    for (const by of ["jwks", "history"] as const) {
      const { code, verdicts } = await verifyOffline([old, fresh], by);
      expect([code, verdicts.map(({ valid }) => valid)]).toEqual([0, [true, true]]);
    }
  });

  test("may make a larger key, and no smaller one", async () => {
    const { pendingKid } = await rotateNow("--bits", "3072");
    const key = (await fetchJwks(world)).keys.find(({ kid }) => kid === pendingKid);
    expect(Buffer.from(key?.n ?? "", "base64url")).toHaveLength(384);
    const before = await ring();
    expect((await world.tvs("keys", "rotate", "--now", "--bits", "1024")).code).toBe(2);
    expect(await ring()).toEqual(before);
  });

  test("a retired key comes back to life nowhere: a restart signs with the active one", async () => {
    const { activeKid: active } = await rotateNow();
    await world.restart({ kill: true });
    expect(await activeKid()).toBe(active);
    expect((await envelope()).signatureKid).toBe(active);
  });
});

describe("compromise", () => {
  test("of the active key: the pending one takes over, the key set forgets it, the history names it", async () => {
    const before = await ring();
    const [active, pending] = [kidOf(before, "active"), kidOf(before, "pending")];
    const stolen = await envelope();
    expect(stolen.signatureKid).toBe(active);
    const since = new Date(Date.now() - 5_000).toISOString();
    expect((await world.tvs("keys", "compromise", active, "--since", since)).code).toBe(0);
    expect(await withinOneSecond(async () => (await activeKid()) === pending)).toBe(true);
    const kids = await servedKids();
    expect(kids).not.toContain(active);
    expect(kids).toContain(pending);
    expect((await envelope()).signatureKid).toBe(pending);
    const after = await ring();
    expect(after.filter(({ state }) => state === "pending")).toHaveLength(1);
    const flagged = (await readHistory(await fetchHistory())).keys.find(({ kid }) => kid === active);
    expect(flagged).toMatchObject({ state: "compromised", compromisedSince: since });
    const { code, verdicts } = await verifyOffline([stolen, await envelope()], "history");
    expect(code).toBe(1);
    expect(verdicts.map(({ valid }) => valid)).toEqual([false, true]);
    expect(verdicts[0]?.reason.toLowerCase()).toContain("compromised");
  });

  test("since later than an envelope was signed leaves that envelope good", async () => {
    const old = await envelope();
    // `since` has to be after the envelope's second and not in the future.
    await Bun.sleep(1_100);
    const since = new Date().toISOString();
    expect((await world.tvs("keys", "compromise", old.signatureKid, "--since", since)).code).toBe(0);
    expect(await withinOneSecond(async () => (await activeKid()) !== old.signatureKid)).toBe(true);
    const { code, verdicts } = await verifyOffline([old], "history");
    expect([code, verdicts[0]?.valid]).toEqual([0, true]);
  });

  test("of the pending key: another one is published, the active one goes on", async () => {
    const before = await ring();
    const [active, pending] = [kidOf(before, "active"), kidOf(before, "pending")];
    const since = new Date(Date.now() - 1_000).toISOString();
    expect((await world.tvs("keys", "compromise", pending, "--since", since)).code).toBe(0);
    expect(await withinOneSecond(async () => !(await servedKids()).includes(pending))).toBe(true);
    const after = await ring();
    expect(kidOf(after, "active")).toBe(active);
    expect(await servedKids()).toContain(kidOf(after, "pending"));
  });

  test.each<[string, string[], number]>([
    ["an unknown key", ["no-such-kid", "--since", "2026-01-01T00:00:00Z"], 1],
    ["a time in the future", ["ACTIVE", "--since", "2999-01-01T00:00:00Z"], 1],
    ["no time", ["ACTIVE"], 2],
    ["a time that is none", ["ACTIVE", "--since", "yesterday"], 2],
    ["no key", ["--since", "2026-01-01T00:00:00Z"], 2],
  ])("%s is refused", async (_name, words, code) => {
    const before = await ring();
    const named = words.map((word) => (word === "ACTIVE" ? kidOf(before, "active") : word));
    const refused = await world.tvs("keys", "compromise", ...named);
    expect(refused.code).toBe(code);
    expect(refused.stderr.trim().split("\n")).toHaveLength(1);
    expect(await ring()).toEqual(before);
  });
});

describe("import", () => {
  const rsa = (modulusLength: number, type: "pkcs1" | "pkcs8" = "pkcs8") =>
    generateKeyPairSync("rsa", { modulusLength }).privateKey.export({ format: "pem", type }) as string;

  test.each(["pkcs1", "pkcs8"] as const)("a key in %s form becomes the pending one, then the active one", async (type) => {
    const before = await ring();
    const pem = rsa(2048, type);
    const finished = await world.tvsJson<KeyInfo>("keys", "import", await world.file("signing.pem", pem));
    expect(finished.state).toBe("pending");
    expect(await withinOneSecond(async () => (await servedKids()).includes(finished.kid))).toBe(true);
    const after = await ring();
    expect(kidOf(after, "pending")).toBe(finished.kid);
    expect(after.find(({ kid }) => kid === kidOf(before, "pending"))?.state).toBe("retired");
    const { activeKid: active } = await rotateNow();
    expect(active).toBe(finished.kid);
    const one = await envelope();
    expect(() => jsonwebtoken.verify(one.signature, pem, { algorithms: ["RS256"] })).not.toThrow();
  });

  test.each<[string, () => string, number]>([
    ["a key of 1024 bits", () => rsa(1024), 1],
    [
      "a key with exponent 3",
      () =>
        generateKeyPairSync("rsa", { modulusLength: 2048, publicExponent: 3 }).privateKey.export({
          format: "pem",
          type: "pkcs8",
        }) as string,
      1,
    ],
    [
      "an EC key",
      () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "pem", type: "pkcs8" }) as string,
      2,
    ],
    [
      "a public key",
      () => generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ format: "pem", type: "spki" }) as string,
      2,
    ],
    ["no key", () => "hello\n", 2],
  ])("%s is refused", async (_name, pem, code) => {
    const before = await ring();
    const refused = await world.tvs("keys", "import", await world.file("bad.pem", pem()));
    expect(refused.code).toBe(code);
    expect(refused.stderr.trim().split("\n")).toHaveLength(1);
    expect(await ring()).toEqual(before);
  });

  test("a file that is not there is unreadable", async () => {
    expect((await world.tvs("keys", "import", "/no/such/file.pem")).code).toBe(2);
  });
});
