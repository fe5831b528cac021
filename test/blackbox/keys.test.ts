import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash, generateKeyPairSync } from "node:crypto";
import jsonwebtoken from "jsonwebtoken";
import { withinOneSecond } from "../harness/eventually.ts";
import { patienceMs } from "../harness/program.ts";
import type { Health, KeyInfo } from "./contract.ts";
import { fetchJwks } from "./jws.ts";
import { createKeyWorld, type KeyWorld, kidOf } from "./key-ring.ts";
import { api, issuer, readJson } from "./world.ts";

setDefaultTimeout(patienceMs);

let ring: KeyWorld;

beforeAll(async () => {
  ring = await createKeyWorld();
});

afterAll(() => ring?.world.end());

describe("documents", () => {
  test("health", async () => {
    const response = await ring.world.get(`${api}/health`);
    const keys = await ring.list();
    expect(response.status).toBe(200);
    const health = await readJson<Health>(response);
    expect(Object.keys(health).sort()).toEqual(["activeKid", "issuer", "service", "status"]);
    expect(health).toMatchObject({ status: "ok", issuer, activeKid: kidOf(keys, "active") });
    expect(typeof health.service).toBe("string");
  });

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

  test.each(["jwks.json", "key-history"])(
    "%s may be kept for five minutes, and is asked for by its tag",
    async (name) => {
      const path = `${api}/.well-known/${name}`;
      const first = await ring.world.get(path);
      expect(first.headers.get("Cache-Control")).toBe("public, max-age=300, must-revalidate");
      const etag = first.headers.get("ETag") ?? "";
      expect(etag).toMatch(/^(W\/)?"[^"]+"$/);
      for (const known of [etag, `"other", ${etag}`, "*", `W/${etag.replace(/^W\//, "")}`]) {
        const again = await ring.world.get(path, { "If-None-Match": known });
        expect(again.status).toBe(304);
        expect(again.headers.get("ETag")).toBe(etag);
        expect(again.headers.get("Cache-Control")).toBe("public, max-age=300, must-revalidate");
        expect(await again.text()).toBe("");
      }
      expect((await ring.world.get(path, { "If-None-Match": '"other"' })).status).toBe(200);
      const head = await fetch(ring.world.service().url + path, { method: "HEAD" });
      expect([head.status, head.headers.get("ETag"), await head.text()]).toEqual([200, etag, ""]);
    },
  );

  test("the tags change with the keys", async () => {
    const tags = () =>
      Promise.all(
        ["jwks.json", "key-history"].map(async (name) => {
          const response = await ring.world.get(`${api}/.well-known/${name}`);
          await response.text();
          return response.headers.get("ETag");
        }),
      );
    const [jwksTag, historyTag] = await tags();
    await ring.rotateNow();
    const [newJwksTag, newHistoryTag] = await tags();
    expect(newJwksTag).not.toBe(jwksTag as string);
    expect(newHistoryTag).not.toBe(historyTag as string);
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

  test.each<[string, () => string, number]>([
    ["a key of 1024 bits", () => rsa(1024), 1],
    ["no key", () => "hello\n", 2],
  ])("%s is refused", async (_name, pem, code) => {
    const before = await ring.list();
    const refused = await ring.world.tvs("keys", "import", await ring.world.file("bad.pem", pem()));
    expect(refused.code).toBe(code);
    expect(refused.stderr.trim().split("\n")).toHaveLength(1);
    expect(await ring.list()).toEqual(before);
  });
});
