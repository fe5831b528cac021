import { describe, expect, test } from "bun:test";
import { api, readJson, sharedWorld } from "./world.ts";

const world = sharedWorld({ rows: [] });

type OpenApi = {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
};

describe("OpenAPI document", () => {
  test("is served, is what the command prints, and describes the published version", async () => {
    const response = await world.get(`${api}/openapi.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toMatch(/^application\/json\b/);
    const served = await readJson<OpenApi>(response);
    expect(served.openapi).toStartWith("3.1");
    expect(served.info.version).toBe("1.0.0");
    expect(await world.tvsJson<OpenApi>("openapi")).toEqual(served);
  });
});

describe("pages", () => {
  test.each([
    "/",
    "/verify-envelope",
    `${api}/docs`,
    `${api}/getting-started`,
    `${api}/help/`,
    `${api}/help/keys`,
  ])("%s is HTML that loads nothing from elsewhere", async (path) => {
    const response = await world.get(path);
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toMatch(/^text\/html\b/);
    const policy = response.headers.get("Content-Security-Policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe-eval");
    expect(policy).not.toMatch(/https?:|\*/);
    const html = await response.text();
    expect(html).toMatch(/<html[^>]* lang=/);
    expect(html).not.toMatch(/(src|href)="(https?:)?\/\//);
    for (const [, asset = ""] of html.matchAll(/<(?:script|link|img)[^>]* (?:src|href)="([^"#]+)"/g)) {
      if (asset.startsWith("data:")) continue;
      const loaded = await fetch(new URL(asset, world.service().url + path));
      expect({ asset, status: loaded.status }).toEqual({ asset, status: 200 });
      await loaded.arrayBuffer();
    }
  });
});
