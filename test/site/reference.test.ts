import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { createApp } from "../../src/app.ts";
import * as contract from "../../src/partner/contract.ts";
import { errorCodes } from "../../src/partner/error-codes.ts";
import { codeLanguages } from "../../src/site/getting-started-languages.ts";
import { document, schemaNames } from "../api/openapi/document.ts";
import { answerOf } from "../harness/answer.ts";
import { openTestService, type TestService } from "../harness/service.ts";

const docs = "/v1/inter-agency/docs";
const files = ["", "/reference.css", "/reference.js"];

let world: TestService;
let html: string;
beforeAll(async () => {
  world = await openTestService();
  html = await (await world.call(docs)).text();
});
afterAll(() => world.close());

/** Every operation of the document, and what the service calls itself. */
const operations = [...Object.values(document.paths), ...Object.values(document.webhooks as object)].flatMap(
  (methods) => Object.values(methods as Record<string, { operationId: string; responses: object }>),
);

describe("the reference", () => {
  const idsOf = () => [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = ""]) => id);

  test("has an address for every operation, schema, word, code and header of the document", () => {
    const headers = Object.keys((document.components as { headers: object }).headers);
    const wanted = [
      ...operations.map(({ operationId }) => operationId),
      ...schemaNames,
      ...contract.reasons.map((word) => `Reason-${word}`),
      ...contract.licenseStatuses.map((word) => `LicenseStatus-${word}`),
      ...contract.certificateStatuses.map((word) => `CertificateStatus-${word}`),
      ...contract.purposes.map((word) => `VerificationPurpose-${word}`),
      ...contract.eventTypes.flatMap((word) => [`EventType-${word}`, `example-${word}`]),
      ...Object.keys(errorCodes),
      ...headers.map((name) => `header-${name}`),
      "SignedEnvelope.signature",
      "WebhookEvent.data.previousStatus",
    ];
    const ids = new Set(idsOf());
    expect(wanted.filter((id) => !ids.has(id))).toEqual([]);
  });

  test("uses no address twice, and links to none that it lacks", () => {
    const ids = idsOf();
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    const links = [...html.matchAll(/href="#([^"]+)"/g)].map(([, id = ""]) => id);
    expect(links.length).toBeGreaterThan(200);
    expect(links.filter((id) => !ids.includes(id))).toEqual([]);
  });

  test("has every part to which the getting-started page links", async () => {
    const guide = await (await world.call("/v1/inter-agency/getting-started")).text();
    const links = [...guide.matchAll(/href="docs#([^"]+)"/g)].map(([, id = ""]) => id);
    expect(links.length).toBeGreaterThan(0);
    const ids = idsOf();
    expect(links.filter((id) => !ids.includes(id))).toEqual([]);
  });

  test("writes every sentence of the document, its Markdown as HTML", () => {
    const meaning = "The license is valid, but has fewer days left than the purpose asks for: see";
    expect(html).toContain(`${meaning} <code>license.daysRemaining</code>.`);
    expect(html).toContain("<code>t=&lt;unix_seconds&gt;,v1=&lt;hex_digest&gt;</code>");
    expect(html).not.toMatch(/\[object|undefined|\$\{/);
    const text = html.replace(/<pre.*?<\/pre>|<textarea.*?<\/textarea>/gs, "");
    expect(text).not.toMatch(/`|\*\*|^## /m);
  });

  test("shows a request in every language, with a key to replace and no key of anybody", () => {
    expect(html).toContain("Authorization: Bearer tvs_live_YOUR_KEY");
    expect(html.replaceAll("tvs_live_YOUR_KEY", "")).not.toMatch(/tvs_(?:live|test)_\w/);
    for (const { operationId } of Object.values(document.paths).flatMap((path) => Object.values(path))) {
      for (const { name } of codeLanguages) expect(html).toContain(`aria-label="${operationId} in ${name}"`);
    }
    expect(html).not.toMatch(/\b(METHOD|ADDRESS|NAME|VALUE|BODY|BODY_IF_ANY)\b/);
  });

  test("asks about the teacher of its answers in every language", () => {
    const asked = ["checkEligibility", "lookUpByRegNo", "lookUpByTId", "lookUpByNin", "checkBatch"];
    for (const operationId of asked) {
      const part = html.slice(html.indexOf(`name="language-${operationId}"`));
      const [requests = "", answers = ""] = part.split(/<details[^>]*>/);
      for (const { name } of codeLanguages) {
        const sample = requests.split(`aria-label="${operationId} in ${name}"`)[1]?.split("</pre>")[0];
        expect(sample?.replace(/<[^>]*>/g, "")).toMatch(
          /TR(\/|%2F)2019(\/|%2F)LA(\/|%2F)000001|1001|99900000001/,
        );
      }
      expect(answers).toContain("Adaeze Okafor");
    }
  });

  test("weighs less than 64 kB with its style sheet and its script", async () => {
    const weights = files.map(async (file) => {
      const packed = await world.call(docs + file, { headers: { "Accept-Encoding": "gzip" } });
      return (await packed.arrayBuffer()).byteLength;
    });
    const all = (await Promise.all(weights)).reduce((sum, bytes) => sum + bytes, 0);
    expect(all).toBeLessThan(64_000);
  });
});

describe("the reference page", () => {
  test("has a language and a title, and allows nothing from elsewhere", async () => {
    expect(html).toStartWith('<!doctype html>\n<html lang="en">');
    expect(html).toContain("<title>API reference – Teacher Verification Service</title>");
    const response = await world.call(docs);
    const policy = response.headers.get("Content-Security-Policy")?.split("; ") ?? [];
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("form-action 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(html).not.toMatch(/<script(?![^>]* src=)|\son\w+=|\sstyle=/);
    expect(html).not.toMatch(/(src|href)="(https?:)?\/\//);
  });

  test("finds everything that it names", async () => {
    const names = [...html.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, name = ""]) => name);
    const paths = new Set(names.map((name) => new URL(name, `http://service.test${docs}`).pathname));
    expect(paths.size).toBeGreaterThanOrEqual(5);
    for (const pathname of paths) {
      const response = await world.call(pathname);
      expect([pathname, response.status]).toEqual([pathname, 200]);
      expect(response.headers.get("X-Content-Type-Options")).toBe("nosniff");
      expect((await response.text()).length).toBeGreaterThan(50);
    }
  });

  test("is compressed for those who take it, under a tag of its own", async () => {
    const plain = await world.call(`${docs}/reference.css`);
    const packed = await world.call(`${docs}/reference.css`, {
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

  test.each(files)("answers 304 to who has %p", async (file) => {
    for (const coding of ["gzip", "identity"]) {
      const headers = { "Accept-Encoding": coding };
      const etag = (await world.call(docs + file, { headers })).headers.get("ETag") ?? "";
      const again = await world.call(docs + file, {
        headers: { ...headers, "If-None-Match": `"other", W/${etag}` },
      });
      expect([again.status, await again.text()]).toEqual([304, ""]);
    }
  });
});

describe("the page of a live service", () => {
  test("says that calls are real, and lets none be made from the page", async () => {
    expect(html).toContain("This is the live service.");
    expect(html).toContain("counts against your quota and is kept as evidence");
    expect(html).not.toContain("<form");
    const { headers } = await world.call(docs);
    expect(headers.get("Content-Security-Policy")).toContain("connect-src 'none'");
  });
});

describe("the page of a sandbox", () => {
  const demo = { partnerId: "demo", apiKey: "tvs_test_DemoKeyOfThisSandbox" };
  const ask = async (remoteAddress: string) => {
    const service = { ...world.service, keyKind: "test" as const };
    const app = createApp(service, { publicPerMinute: 100, trustedProxies: [], demo });
    return answerOf(app, docs, { headers: { Host: "127.0.0.1:8080" } }, remoteAddress);
  };

  test("has the demo key in its examples and forms, and is then kept nowhere", async () => {
    const response = await ask("127.0.0.1");
    const page = await response.text();
    expect(page).toContain(`Authorization: Bearer ${demo.apiKey}`);
    expect(page).toContain(`name="key" autocomplete="off" spellcheck="false" value="${demo.apiKey}"`);
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    expect(response.headers.get("Content-Security-Policy")).toContain("connect-src 'self'");
  });

  test("shows no key to who asks from elsewhere, also after it was shown to another", async () => {
    await ask("127.0.0.1");
    const response = await ask("192.0.2.7");
    const page = await response.text();
    expect(page).not.toContain(demo.apiKey);
    expect(page).toContain("Authorization: Bearer tvs_test_YOUR_KEY");
    expect(response.headers.get("Cache-Control")).toContain("public");
  });
});

describe("the served document", () => {
  const serverOf = async () => {
    const served = (await (await world.call("/v1/inter-agency/openapi.json")).json()) as {
      servers: { url: string }[];
    };
    return served.servers[0]?.url;
  };

  test("names the issuer that is in force, without a restart, and so does the page", async () => {
    expect(await serverOf()).toBe("https://teachers.example");
    await world.operator.stores.settings.write({ issuer: "https://moved.example" });
    await world.service.configuration.refresh();
    expect(await serverOf()).toBe("https://moved.example");
    const page = await (await world.call(docs)).text();
    expect(page.includes("https://moved.example/teacher/verify-license?")).toBe(true);
  });
});
