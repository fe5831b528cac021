import { expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { createApp } from "../../src/app.ts";
import { defaultSite } from "../../src/domain/site.ts";
import { errorCodes } from "../../src/partner/error-codes.ts";
import { sendToApp } from "../harness/answer.ts";
import { sharedTestService } from "../harness/service.ts";

const docs = "/v1/inter-agency/docs";
const script = `${docs}/scalar.js`;

const world = sharedTestService();

const nonceOf = (html: string) => /csp-nonce" content="([^"]+)"/.exec(html)?.[1] ?? "";

test("the API reference loads only from this service, calls only this service, and has a nonce for each request", async () => {
  const responses = await Promise.all([world.call(docs), world.call(docs)]);
  const nonces = await Promise.all(responses.map(async (response) => nonceOf(await response.text())));
  expect(new Set(nonces).size).toBe(2);
  for (const [at, response] of responses.entries()) {
    expect(nonces[at]).toMatch(/^[\w+/]{22}==$/);
    expect(response.headers.get("Content-Security-Policy")?.split("; ").sort()).toEqual(
      [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "img-src 'self' data:",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        `script-src 'self' 'nonce-${nonces[at]}'`,
        "connect-src 'self'",
      ].sort(),
    );
    expect(response.headers.get("Cache-Control")).toBe("no-store");
  }
});

test("the API reference of a live service contains no URL of another site, no key and no notice of a sandbox", async () => {
  const html = await (await world.call(docs)).text();
  expect(html).not.toMatch(/tvs_(?:live|test)_/);
  expect(html).not.toContain("Sandbox.");
  expect(html).toContain('"preferredSecurityScheme": "bearerKey"');
  expect(html).not.toMatch(/(?:https?:)?\/\/[\w-]+\./);
  for (const option of ["telemetry", "withDefaultFonts", "agent", "mcp", "proxyUrl", "hideClientButton"])
    expect(html).toContain(`"${option}": `);
});

test("the API reference shows the site's name, its colour and the issuer's path as soon as they change", async () => {
  const site = { ...defaultSite, name: "Council </title> of Teachers", accent: "#0b4f9c" };
  const set = async (settings: { site: string; issuer: string }) => {
    await world.operator.stores.settings.write(settings);
    await world.service.configuration.refresh();
  };
  expect(await (await world.call(docs)).text()).toContain('"url": "/"');
  await set({ site: JSON.stringify(site), issuer: "https://moved.example/tvs" });
  const html = await (await world.call(docs)).text();
  const name = "Council &lt;/title&gt; of Teachers";
  expect(html).toContain(`<title>API reference – Teacher Verification Service – ${name}</title>`);
  expect(html).toContain(`<strong>${name}</strong>`);
  expect(html).toContain("--brand: #0b4f9c");
  expect(html).toContain('"url": "/tvs"');
  await set({ site: JSON.stringify(defaultSite), issuer: "https://teachers.example" });
});

const demo = { partnerId: "demo", apiKey: "tvs_test_DemoKeyOfThisSandbox" };
const ask = async (remoteAddress: string) => {
  const service = { ...world.service, keyKind: "test" as const };
  const app = createApp(service, { publicPerMinute: 100, trustedProxies: [], demo });
  return (await sendToApp(app, docs, { headers: { Host: "127.0.0.1:8080" } }, remoteAddress)).text();
};

test("the API reference of a sandbox has the demo key for a reader on this machine only", async () => {
  expect(await ask("127.0.0.1")).toContain(`"token": "${demo.apiKey}"`);
  const page = await ask("192.0.2.7");
  expect(page).not.toContain(demo.apiKey);
  expect(page).not.toContain('"token"');
  expect(page).toContain("<strong>Sandbox.</strong>");
});

test("Scalar's script begins with its licence, and its compressed form has a separate ETag", async () => {
  const plain = await world.call(script);
  const packed = await world.call(script, { headers: { "Accept-Encoding": "br, gzip;q=0.5" } });
  const text = await plain.text();
  expect(text).toMatch(/^\/\*! Scalar API Reference \d+\.\d+\.\d+\n\nMIT License\n/);
  expect(text.slice(0, 1_500)).toContain("The above copyright notice and this permission notice shall be");
  expect(plain.headers.get("Content-Type")).toBe("text/javascript; charset=utf-8");
  expect([plain.headers.get("Content-Encoding"), packed.headers.get("Content-Encoding")]).toEqual([
    null,
    "gzip",
  ]);
  expect(packed.headers.get("Vary")).toBe("Accept-Encoding");
  expect(packed.headers.get("ETag")).not.toBe(plain.headers.get("ETag"));
  const bytes = await packed.arrayBuffer();
  expect(bytes.byteLength).toBeLessThan(1_500_000);
  expect(gunzipSync(bytes).toString() === text).toBe(true);
});

test.each(["gzip;q=0", "br", "gzipped;q=1, identity", "x-gzip;q=0.0"])(
  "Scalar's script is not compressed for a client that accepts %s",
  async (accepted) => {
    const response = await world.call(script, { headers: { "Accept-Encoding": accepted } });
    expect(response.headers.get("Content-Encoding")).toBeNull();
  },
);

test("a client that already has Scalar's script gets 304", async () => {
  for (const coding of ["gzip", "identity"]) {
    const headers = { "Accept-Encoding": coding };
    const etag = (await world.call(script, { headers })).headers.get("ETag") ?? "";
    const known = { ...headers, "If-None-Match": `"other", W/${etag}` };
    const again = await world.call(script, { headers: known });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  }
});

test("the manual's page of errors has a row for each error code, and each row has the code as its anchor", async () => {
  const html = await (await world.call("/v1/inter-agency/help/errors")).text();
  for (const [code, { status, meaning }] of Object.entries(errorCodes)) {
    const [, row = ""] = html.split(`<tr id="${code}">`);
    expect([code, row.slice(0, row.indexOf("</tr>"))]).toEqual([
      code,
      expect.stringContaining(`>${status}</td>`),
    ]);
    const [firstWords = ""] = meaning.split(/[(<>&'",`]/);
    expect(row).toContain(firstWords);
  }
});
