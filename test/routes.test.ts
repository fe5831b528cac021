import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { scopes } from "../src/domain/partners.ts";
import { type Route, routes } from "../src/routes.ts";
import { document } from "./api/openapi/document.ts";
import { openTestService, type TestService } from "./harness/service.ts";

let world: TestService;
beforeAll(async () => {
  world = await openTestService();
});
afterAll(() => world.close());

const named = routes.map(({ method, path }) => `${method} ${path}`);

/** What the document says of a route; nothing of what is for people. */
function operationOf({ method, path }: Route) {
  return document.paths[path]?.[method.toLowerCase()] as
    | { readonly description: string; readonly security: readonly object[] }
    | undefined;
}

describe("the table of routes", () => {
  test("names each address and method once", () => {
    expect(new Set(named).size).toBe(named.length);
  });

  test("is what the app answers", async () => {
    for (const { method, path } of routes) {
      const response = await world.call(path.replace(/\{\w+\}/g, "x"), { method });
      expect([path, response.status]).not.toEqual([path, 405]);
    }
  });

  test("has one route for each scope", () => {
    const asked = routes.flatMap((route) => ("scope" in route ? [route.scope] : []));
    expect(asked.sort()).toEqual([...scopes].sort());
  });

  test("asks for the scopes that the document names", () => {
    const named = routes.map((route) => ({ route, operation: operationOf(route) }));
    for (const { route, operation } of named.filter(({ operation }) => operation !== undefined)) {
      const scope = "scope" in route ? [route.scope] : [];
      const methods = ["mutualTLS", "bearerKey", "headerKey"];
      const isPartners = "scope" in route || "self" in route;
      const security = !isPartners ? [] : methods.map((method) => ({ [method]: scope }));
      expect([route.path, operation?.security]).toEqual([route.path, security]);
      for (const one of scope) expect(operation?.description).toContain(`Scope \`${one}\`.`);
    }
    const undescribed = named.filter(({ route, operation }) => "scope" in route && operation === undefined);
    expect(undescribed).toEqual([]);
  });

  test("has every operation that the document names", () => {
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(operations.filter((one) => !named.includes(one))).toEqual([]);
  });

  test("has an operation for every document that is for machines", async () => {
    for (const route of routes) {
      if (route.method !== "GET" || operationOf(route) !== undefined) continue;
      const response = await world.call(route.path);
      if (response.status !== 200) continue;
      expect([route.path, response.headers.get("Content-Type")]).toEqual([
        route.path,
        expect.stringMatching(/^(?:text\/(?:html|css|javascript|plain)|image\/svg\+xml)\b/),
      ]);
    }
  });

  test("opens to scripts of other sites only what everybody may read", () => {
    const open = routes.filter(({ cors }) => cors);
    expect(open.filter((route) => route.method !== "GET" || "scope" in route)).toEqual([]);
    expect(open.length).toBeGreaterThan(0);
    const told = routes.filter((route) => operationOf(route)?.description.includes("(CORS)"));
    expect(told).toEqual(open);
  });

  test("says which methods an address has to who asks with another one", async () => {
    for (const path of new Set(routes.map((route) => route.path))) {
      const own = routes.filter((route) => route.path === path).map(({ method }) => method);
      const allowed = own.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
      const response = await world.call(path.replace(/\{\w+\}/, "1"), { method: "PATCH" });
      expect([path, response.status, response.headers.get("Allow")]).toEqual([path, 405, allowed.join(", ")]);
    }
  });
});
