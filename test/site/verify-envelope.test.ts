import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { sharedTestService } from "../harness/service.ts";

const path = "/verify-envelope";

const world = sharedTestService();

async function policyOf(address: string): Promise<string[]> {
  const response = await world.call(address);
  return response.headers.get("Content-Security-Policy")?.split("; ") ?? [];
}

function filesOf(html: string): string[] {
  return [...html.matchAll(/(?:src|href)="(verify-envelope\/[^"]+)"/g)].map(([, name = ""]) => name);
}

test("the envelope page's script may connect only to this service, or, with pasted keys, to nobody", async () => {
  expect(await policyOf(path)).toContain("connect-src 'self'");
  expect(await policyOf(`${path}?keys=pasted`)).toContain("connect-src 'none'");
  for (const address of [path, `${path}?keys=pasted`]) {
    const policy = await policyOf(address);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("form-action 'none'");
    expect(policy.join()).not.toContain("unsafe");
  }
});

test("the envelope page without JavaScript explains what to do, and shows no form", async () => {
  const html = await (await world.call(path)).text();
  expect(html).toContain("This page needs JavaScript");
  expect(html).toContain("tvs verify envelope.json --key-history");
  expect(html).toMatch(/<div id="tool" hidden/);
});

test("the envelope page contains the current issuer", async () => {
  expect(await (await world.call(path)).text()).toContain('value="https://teachers.example"');
  await world.operator.stores.settings.write({ issuer: 'https://moved.example/"x' });
  await world.service.configuration.refresh();
  expect(await (await world.call(path)).text()).toContain('value="https://moved.example/&quot;x"');
  await world.operator.stores.settings.write({ issuer: "https://teachers.example" });
  await world.service.configuration.refresh();
});

test("the names of the envelope page's files contain a hash of the content, and every file is served", async () => {
  const html = await (await world.call(path)).text();
  const files = filesOf(html);
  expect(files).toHaveLength(2);
  for (const file of files) {
    const response = await world.call(`/${file}`);
    expect([file, response.status]).toEqual([file, 200]);
    expect(response.headers.get("Cache-Control")).toBe("public, max-age=31536000, immutable");
  }
  expect((await world.call(`${path}/app-0000.js`)).status).toBe(404);
});

test("the envelope page names the digest of its script (`integrity`), which the browser checks", async () => {
  const html = await (await world.call(path)).text();
  const [, file = "", integrity] = /src="([^"]+app-[^"]+)" integrity="([^"]+)"/.exec(html) ?? [];
  const body = await (await world.call(`/${file}`)).text();
  expect(`sha384-${createHash("sha384").update(body).digest("base64")}`).toBe(integrity ?? "");
});

test("the envelope page and its files have less than 50 kB in total, compressed", async () => {
  const html = await (await world.call(path)).text();
  const addresses = [path, ...filesOf(html).map((file) => `/${file}`)];
  expect(addresses).toHaveLength(3);
  let weight = 0;
  for (const address of addresses) {
    const response = await world.call(address, { headers: { "Accept-Encoding": "gzip" } });
    const bytes = await response.arrayBuffer();
    expect(gunzipSync(bytes).length).toBeGreaterThan(bytes.byteLength);
    weight += bytes.byteLength;
  }
  expect(weight).toBeLessThan(50_000);
});

/** Returns the worker's answer for a cached page. The test gives the network (`load`) and the cache (`put`). */
async function answered(put: () => Promise<void>, load: () => Promise<Response>): Promise<string> {
  const source = await (await world.call("/verify-envelope-worker.js")).text();
  let answer = Promise.resolve(new Response("none"));
  const respondWith = (given: Promise<Response>) => {
    answer = given;
  };
  const run = new Function("self", "caches", "fetch", "location", "setTimeout", source);
  const self = {
    addEventListener: (_: string, listener: (event: object) => void) =>
      listener({ request: new Request(`https://teachers.example${path}`), respondWith }),
  };
  const open = async () => ({ match: async () => new Response("kept"), put });
  run(self, { open }, load, new URL("https://teachers.example/"), () => undefined);
  return (await answer).text();
}

test("the envelope page's service worker answers from the network even if the device has no room for its cache", async () => {
  const full = () => Promise.reject(new DOMException("full", "QuotaExceededError"));
  expect(await answered(full, async () => new Response("fresh"))).toBe("fresh");
});
