import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash, generateKeyPairSync } from "node:crypto";
import jsonwebtoken from "jsonwebtoken";
import { sleep, until, withinOneSecond } from "../harness/eventually.ts";
import { patienceMs } from "../harness/program.ts";
import type { Envelope, KeyInfo } from "./contract.ts";
import { expectGenuine, fetchJwks } from "./jws.ts";
import { createKeyWorld, type KeyWorld, kidOf } from "./key-ring.ts";
import { api, issuer } from "./world.ts";

setDefaultTimeout(patienceMs);

let ring: KeyWorld;

beforeAll(async () => {
  ring = await createKeyWorld();
});

afterAll(() => ring?.world.end());

describe("documents", () => {
  test("the key set has the active and the pending key, in the published form and nothing private", async () => {
    const { keys } = await fetchJwks(ring.world);
    const all = await ring.list();
    expect(all.filter(({ state }) => state === "active")).toHaveLength(1);
    expect(all.filter(({ state }) => state === "pending")).toHaveLength(1);
    expect(keys.map(({ kid }) => kid).sort()).toEqual(
      all
        .filter(({ state }) => state !== "compromised")
        .map(({ kid }) => kid)
        .sort(),
    );
    for (const key of keys) {
      expect(Object.keys(key).sort()).toEqual(["alg", "e", "kid", "kty", "n", "use"]);
      expect(key).toMatchObject({ kty: "RSA", use: "sig", alg: "RS256", e: "AQAB" });
      expect(Buffer.from(key.n, "base64url").length).toBeGreaterThanOrEqual(256);
      const canonical = `{"e":"${key.e}","kty":"RSA","n":"${key.n}"}`;
      expect(key.kid).toBe(createHash("sha256").update(canonical).digest("base64url"));
    }
    expect(await ring.world.tvsJson<object>("keys", "jwks")).toEqual({ keys });
  });

  test("the key history is a JWS by the active key, and what the command prints says the same", async () => {
    const response = await ring.world.get(`${api}/.well-known/key-history`);
    expect(response.headers.get("Content-Type")).toBe("application/jose");
    const served = await ring.readHistory(await response.text());
    expect(served.iss).toBe(issuer);
    const described = served.keys.map(({ jwk, ...key }) => {
      expect(jwk.kid).toBe(key.kid);
      return key;
    });
    // Who changed a key is the operator's business, and stands in no document.
    const listed = (await ring.world.tvsJson<(KeyInfo & { by: string })[]>("keys", "list")).map((key) => {
      const { by, ...published } = key;
      expect(by).toMatch(/^(cli:.+|service)$/);
      return published;
    });
    expect(described).toEqual(listed);
    const printed = (await ring.world.tvs("keys", "history")).stdout.trim();
    expect((await ring.readHistory(printed)).keys).toEqual(served.keys);
    const { keyHistory } = await ring.world.tvsJson<{ keyHistory: string }>("keys", "history");
    expect((await ring.readHistory(keyHistory)).keys).toEqual(served.keys);
  });
});

describe("import", () => {
  const rsa = (modulusLength: number) =>
    generateKeyPairSync("rsa", { modulusLength }).privateKey.export({
      format: "pem",
      type: "pkcs1",
    }) as string;

  test("a key becomes the pending one, then the active one", async () => {
    const before = await ring.list();
    const pem = rsa(2048);
    const file = await ring.world.file("signing.pem", pem);
    const finished = await ring.world.tvsJson<KeyInfo>("keys", "import", file);
    expect(finished.state).toBe("pending");
    expect(await withinOneSecond(async () => (await ring.servedKids()).includes(finished.kid))).toBe(true);
    const after = await ring.list();
    expect(kidOf(after, "pending")).toBe(finished.kid);
    expect(after.find(({ kid }) => kid === kidOf(before, "pending"))?.state).toBe("retired");
    const { activeKid: active } = await ring.rotateNow();
    expect(active).toBe(finished.kid);
    const one = await ring.envelope();
    expect(() => jsonwebtoken.verify(one.signature, pem, { algorithms: ["RS256"] })).not.toThrow();
  });
});

describe("rotation", () => {
  test("under load, to a larger key too, no check fails, and every envelope's key was public before its answer came", async () => {
    const seen: { envelope: Envelope; before: string[]; after: string[] }[] = [];
    let rotating = true;
    const rounds = Array.from({ length: 3 }, () => 0);
    async function caller(number: number): Promise<void> {
      while (rotating) {
        const before = await ring.servedKids();
        const one = await ring.envelope();
        seen.push({ envelope: one, before, after: await ring.servedKids() });
        rounds[number] = (rounds[number] ?? 0) + 1;
        // Thousands of calls would say no more than the hundreds of this pace.
        await sleep(10);
      }
    }
    const callers = Promise.all(rounds.map((_, number) => caller(number)));
    const kids = new Set([await ring.activeKid()]);
    const made: string[] = [];
    // A large key takes its time to make, and the old one signs on until the commit: that has to stay good.
    for (const bits of ["3072", "2048"]) {
      const { activeKid, pendingKid } = await ring.rotateNow("--bits", bits);
      kids.add(activeKid);
      made.push(pendingKid);
      // Who asked before the pending key was published has its answer before that key signs.
      const done = [...rounds];
      await until(() => rounds.every((number, index) => number > (done[index] ?? 0)));
    }
    rotating = false;
    await callers;
    const jwks = await fetchJwks(ring.world);
    const modulus = jwks.keys.find(({ kid }) => kid === made[0])?.n ?? "";
    expect(Buffer.from(modulus, "base64url")).toHaveLength(384);
    for (const { envelope: one, before, after } of seen) {
      expect(before).toContain(one.signatureKid);
      expect(after).toContain(one.signatureKid);
      expectGenuine(one, jwks, ring.partner.id);
    }
    const used = new Set(seen.map(({ envelope: one }) => one.signatureKid));
    expect([...used].every((kid) => kids.has(kid))).toBe(true);
    expect(used.size).toBeGreaterThan(1);
    const offline = await ring.verifyOffline(
      seen.map(({ envelope: one }) => one),
      "history",
    );
    expect(offline.verdicts.filter(({ valid }) => !valid)).toEqual([]);
    expect(offline.code).toBe(0);
  });
});

describe("compromise", () => {
  test("of the active key: the pending one takes over, the key set forgets it, the history names it", async () => {
    const before = await ring.list();
    const [active, pending] = [kidOf(before, "active"), kidOf(before, "pending")];
    const stolen = await ring.envelope();
    expect(stolen.signatureKid).toBe(active);
    const since = new Date(Date.now() - 5_000).toISOString();
    expect((await ring.world.tvs("keys", "compromise", active, "--since", since)).code).toBe(0);
    expect(await ring.activeKeyBecomes((kid) => kid === pending)).toBe(true);
    const kids = await ring.servedKids();
    expect(kids).not.toContain(active);
    expect(kids).toContain(pending);
    expect((await ring.envelope()).signatureKid).toBe(pending);
    const after = await ring.list();
    expect(after.filter(({ state }) => state === "pending")).toHaveLength(1);
    const flagged = (await ring.readHistory(await ring.fetchHistory())).keys.find(
      ({ kid }) => kid === active,
    );
    expect(flagged).toMatchObject({ state: "compromised", compromisedSince: since });
    const { code, verdicts } = await ring.verifyOffline([stolen, await ring.envelope()], "history");
    expect(code).toBe(1);
    expect(verdicts.map(({ valid }) => valid)).toEqual([false, true]);
    expect(verdicts[0]?.reason.toLowerCase()).toContain("compromised");
  });
});
