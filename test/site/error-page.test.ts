import { beforeAll, expect, test } from "bun:test";
import { createApp } from "../../src/app.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { configureLog } from "../../src/logger.ts";
import { englishTexts } from "../../src/site/language.ts";
import { sharedTestService } from "../harness/service.ts";

const { failures } = englishTexts;

const world = sharedTestService();
beforeAll(() => configureLog(() => {}));

const asBrowser = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

test.each(["/nowhere", "/a/b/c", "/v1/inter-agency/help/nothing", "/logo", "/verify-envelope/none.js"])(
  "a browser's failing request for %s gets an error page in the site's layout",
  async (path) => {
    const response = await world.call(path, { headers: asBrowser });
    const html = await response.text();
    expect(response.status).toBe(404);
    expect(response.headers.get("Content-Type")).toStartWith("text/html");
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    expect(response.headers.get("Content-Security-Policy")).toContain("default-src 'none'");
    expect(response.headers.get("X-Request-Id")).toMatch(/^[\w-]+$/);
    expect(html).toContain(`<h1>${failures[404].title}</h1>`);
    expect(html).toContain('<meta name="robots" content="noindex, nofollow">');
    const home = new URL(/<header>.*?href="([^"]+)"/s.exec(html)?.[1] ?? "", `http://a.example${path}`);
    expect(home.pathname).toBe("/");
  },
);

test("a browser's request with a wrong method gets 405 with a page that names the allowed methods", async () => {
  const response = await world.call("/verify-envelope", { method: "POST", headers: asBrowser });
  expect([response.status, response.headers.get("Allow")]).toEqual([405, "GET, HEAD"]);
  expect(await response.text()).toContain(failures[405].title);
});

test.each([
  [503, new TvsError("STORE_UNAVAILABLE", "no such file: /secret")],
  [500, new Error("the secret cause")],
  [400, new TvsError("REQUEST_INVALID", "wrong")],
])("the error page for status %p explains the failure without its cause", async (status, failure) => {
  const app = createApp(world.service, { publicPerMinute: 10, trustedProxies: [] });
  app.get("/broken", () => {
    throw failure;
  });
  const response = await app.request(
    "/broken",
    { headers: asBrowser },
    { remoteAddress: "127.0.0.1", tls: false, clientCertificate: null },
  );
  const html = await response.text();
  const words = status === 400 ? failures[405] : failures[status as 500 | 503];
  expect(response.status).toBe(status);
  expect(html).toContain(`<h1>${words.title}</h1>`);
  expect(html).not.toContain("secret");
  expect(html.includes(response.headers.get("X-Request-Id") ?? "?")).toBe(status >= 500);
  expect(response.headers.has("Retry-After")).toBe(status === 503);
});

test("a URL of thousands of slashes does not make the error page larger", async () => {
  const response = await world.call(`/nowhere${"/".repeat(4_000)}`, { headers: asBrowser });
  expect(response.status).toBe(404);
  const plain = await (await world.call("/nowhere", { headers: asBrowser })).text();
  expect((await response.text()).length).toBeLessThan(plain.length + 1_000);
});

const cases: [path: string, accept: string | undefined, status: number][] = [
  ["/nowhere", undefined, 404],
  ["/nowhere", "*/*", 404],
  ["/nowhere", "text/html;q=0, */*", 404],
  ["/v1/inter-agency/nowhere", asBrowser.Accept, 404],
  ["/teacher/verify-license", asBrowser.Accept, 400],
  ["/v1/inter-agency/documents", asBrowser.Accept, 404],
];

test.each(cases)(
  "a program's failing request for %s with Accept %p gets the contract's error body",
  async (path, accept, status) => {
    const response = await world.call(path, { headers: accept === undefined ? {} : { Accept: accept } });
    expect(response.status).toBe(status);
    expect(response.headers.get("Content-Type")).toBe("application/json");
    expect(await response.json()).toMatchObject({ statusCode: status, message: expect.any(String) });
  },
);
