import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { openTestService, type TestService } from "../../harness/service.ts";

const docs = "/v1/inter-agency/docs";

let world: TestService;
beforeAll(async () => {
  world = await openTestService();
});
afterAll(() => world.close());

const pageOf = async () => (await world.call(docs)).text();

describe("the reference page", () => {
  test("has a language, a title and a way on without JavaScript", async () => {
    const html = await pageOf();
    expect(html).toStartWith('<!doctype html>\n<html lang="en">');
    expect(html).toContain("<title>Teacher Verification Service: API reference</title>");
    expect(html).toMatch(/<noscript>.*href="openapi\.json".*<\/noscript>/s);
  });

  test("allows nothing from elsewhere and no script or style in the page", async () => {
    const response = await world.call(docs);
    const policy = response.headers.get("Content-Security-Policy")?.split("; ") ?? [];
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("style-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    const html = await response.text();
    expect(html).not.toMatch(/<style|<script(?![^>]* src=)|\son\w+=|\sstyle=/);
    expect(html).not.toMatch(/(src|href)="(https?:)?\/\//);
  });

  test("finds everything that it names", async () => {
    const html = await pageOf();
    const names = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name = ""]) => name);
    const files = names.filter((name) => !name.startsWith("data:"));
    expect(files.length).toBeGreaterThanOrEqual(5);
    for (const file of files) {
      const { pathname } = new URL(file, `http://service.test${docs}`);
      const response = await world.call(pathname);
      expect([pathname, response.status]).toEqual([pathname, 200]);
      expect(response.headers.get("X-Content-Type-Options")).toBe("nosniff");
      expect((await response.text()).length).toBeGreaterThan(50);
    }
  });

  test("serves the renderer that the start script calls", async () => {
    const script = await (await world.call(`${docs}/swagger-ui.js`)).text();
    const start = await (await world.call(`${docs}/start.js`)).text();
    expect(script).toContain("SwaggerUIBundle");
    expect(start).toContain("SwaggerUIBundle(");
    expect(start).toContain("validatorUrl: null");
  });

  test("is compressed for those who take it, under a tag of its own", async () => {
    const plain = await world.call(`${docs}/swagger-ui.css`);
    const packed = await world.call(`${docs}/swagger-ui.css`, {
      headers: { "Accept-Encoding": "br, gzip;q=0.5" },
    });
    expect(plain.headers.get("Content-Encoding")).toBeNull();
    expect(packed.headers.get("Content-Encoding")).toBe("gzip");
    expect([plain.headers.get("Vary"), packed.headers.get("Vary")]).toEqual([
      "Accept-Encoding",
      "Accept-Encoding",
    ]);
    expect(packed.headers.get("ETag")).not.toBe(plain.headers.get("ETag"));
    expect(gunzipSync(await packed.arrayBuffer()).toString()).toBe(await plain.text());
  });

  test.each(["gzip;q=0", "br", "gzipped;q=1, identity", "x-gzip;q=0.0"])(
    "is not compressed for %s",
    async (accepted) => {
      const response = await world.call(docs, { headers: { "Accept-Encoding": accepted } });
      expect(response.headers.get("Content-Encoding")).toBeNull();
    },
  );

  test.each(["", "/start.js", "/page.css", "/swagger-ui.js"])("answers 304 to who has %p", async (file) => {
    for (const coding of ["gzip", "identity"]) {
      const headers = { "Accept-Encoding": coding };
      const etag = (await world.call(docs + file, { headers })).headers.get("ETag") ?? "";
      const again = await world.call(docs + file, {
        headers: { ...headers, "If-None-Match": `"other", W/${etag}` },
      });
      expect([again.status, await again.text()]).toEqual([304, ""]);
    }
  });

  test("refuses other methods", async () => {
    const response = await world.call(docs, { method: "POST" });
    expect([response.status, response.headers.get("Allow")]).toEqual([405, "GET, HEAD"]);
  });
});

describe("the page of a live service", () => {
  test("says that what is tried is real, and holds no key", async () => {
    const html = await pageOf();
    expect(html).toContain("This is the live service.");
    expect(html).toContain("counts against your quota, and is recorded");
    expect(html).toContain('data-sandbox="false" data-key=""');
    expect(html).not.toContain("tvs_");
  });
});

describe("the served document", () => {
  const serverOf = async () => {
    const document = (await (await world.call("/v1/inter-agency/openapi.json")).json()) as {
      servers: { url: string }[];
    };
    return document.servers[0]?.url;
  };

  test("names the issuer that is in force, without a restart", async () => {
    expect(await serverOf()).toBe("https://teachers.example");
    await world.operator.stores.settings.write({ issuer: "https://moved.example" });
    await world.service.live.refresh();
    expect(await serverOf()).toBe("https://moved.example");
  });
});
