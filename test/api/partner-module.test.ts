import { expect, test } from "bun:test";
import { sharedTestService } from "../harness/service.ts";

const world = sharedTestService();

const get = (name: string, headers: Record<string, string> = {}) =>
  world.call(`/v1/inter-agency/${name}`, { headers });

test.each(["verify.mjs", "tvs-partner.tgz", ".well-known/jwks.json", ".well-known/key-history"])(
  "%s allows every origin (CORS) and may be cached for five minutes, and a request with its ETag gets 304",
  async (name) => {
    const { headers } = await get(name);
    expect(headers.get("Access-Control-Allow-Origin")).toBe("*");
    expect(headers.get("Cache-Control")).toBe("public, max-age=300, must-revalidate");
    const again = await get(name, { "If-None-Match": headers.get("ETag") ?? "" });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  },
);

test("verify.mjs is a module that imports nothing", async () => {
  const response = await get("verify.mjs");
  expect(response.headers.get("Content-Type")).toBe("text/javascript; charset=utf-8");
  const text = await response.text();
  expect(text).not.toMatch(/^import\b|\bimport\(|\brequire\(/m);
  expect(text).toContain("createKeySet");
});

test("tvs-partner.tgz is sent as a gzip file without Content-Encoding", async () => {
  const response = await get("tvs-partner.tgz", { "Accept-Encoding": "gzip" });
  const { headers } = response;
  expect([headers.get("Content-Type"), headers.get("Content-Encoding")]).toEqual(["application/gzip", null]);
  const tar = Buffer.from(Bun.gunzipSync(await response.arrayBuffer())).toString("latin1");
  expect(tar).toContain("package/package.json");
});

test("verify.mjs names verify.d.mts in X-TypeScript-Types, and verify.d.mts declares the client", async () => {
  const module = await get("verify.mjs", { "Accept-Encoding": "gzip" });
  expect(module.headers.get("X-TypeScript-Types")).toBe("./verify.d.mts");
  expect(Number((await module.arrayBuffer()).byteLength)).toBeLessThan(38_000);
  const types = await get("verify.d.mts");
  expect(types.headers.get("Content-Type")).toBe("application/typescript; charset=utf-8");
  expect(types.headers.get("Access-Control-Allow-Origin")).toBe("*");
  expect(await types.text()).toContain("declare function createClient(options: ClientOptions): Client;");
});
