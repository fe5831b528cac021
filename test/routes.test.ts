import { expect, test } from "bun:test";
import { scopes } from "../src/domain/partners.ts";
import { type Route, routes } from "../src/routes.ts";
import { document } from "./api/openapi/document.ts";
import { sharedTestService } from "./harness/service.ts";

const world = sharedTestService();

const named = routes.map(({ method, path }) => `${method} ${path}`);

function operationOf({ method, path }: Route) {
  return document.paths[path]?.[method.toLowerCase()] as
    | { readonly description: string; readonly security: readonly object[] }
    | undefined;
}

test("the table of routes has each path and method once", () => {
  expect(new Set(named).size).toBe(named.length);
});

test("the app answers every route of the table of routes", async () => {
  for (const { method, path } of routes) {
    const response = await world.call(path.replace(/\{\w+\}/g, "x"), { method });
    expect([path, response.status]).not.toEqual([path, 405]);
  }
});

test("each scope opens one route of the table of routes, as the OpenAPI document says", async () => {
  const asked: string[] = [];
  for (const route of routes) {
    const response = await world.call(route.path.replace(/\{\w+\}/g, "1"), {
      method: route.method,
      as: "unscoped",
    });
    const { message = "" } = response.status === 403 ? ((await response.json()) as { message?: string }) : {};
    const scope = /^this credential lacks the scope (\w+)$/.exec(message)?.slice(1) ?? [];
    asked.push(...scope);
    const operation = operationOf(route);
    if (operation === undefined) {
      expect([route.path, scope]).toEqual([route.path, []]);
      continue;
    }
    const methods = ["mutualTLS", "bearerKey", "headerKey"];
    const security = route.traffic === "partner" ? methods.map((method) => ({ [method]: scope })) : [];
    expect([route.path, operation.security]).toEqual([route.path, security]);
    for (const one of scope) expect(operation.description).toContain(`Scope \`${one}\`.`);
  }
  expect(asked.sort()).toEqual([...scopes].sort());
});

test("the routes that require a credential, and no others, are partner traffic in the table of routes", async () => {
  for (const { method, path, traffic } of routes) {
    const { status } = await world.call(path.replace(/\{\w+\}/g, "1"), { method });
    expect([path, status === 401]).toEqual([path, traffic === "partner"]);
  }
});

test("the table of routes has every operation of the OpenAPI document", () => {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(operations.filter((one) => !named.includes(one))).toEqual([]);
});

test("every route without an operation in the OpenAPI document returns a page, a text or a part of a page", async () => {
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

test("CORS opens only GET routes without a credential, as the OpenAPI document says", async () => {
  const open = routes.filter(({ cors }) => cors);
  expect(open.filter(({ method, traffic }) => method !== "GET" || traffic === "partner")).toEqual([]);
  expect(open.length).toBeGreaterThan(0);
  const told = routes.filter((route) => operationOf(route)?.description.includes("(CORS)"));
  expect(told).toEqual(open);
  const headers = { Origin: "https://school.example" };
  for (const { method, path, cors } of routes.filter((route) => route.method === "GET")) {
    const answer = await world.call(path.replace(/\{\w+\}/g, "1"), { method, headers });
    expect([path, answer.headers.get("Access-Control-Allow-Origin")]).toEqual([path, cors ? "*" : null]);
  }
});

test("a preflight request (CORS) is answered on exactly the open paths, and allows GET and HEAD", async () => {
  const headers = { Origin: "https://school.example", "Access-Control-Request-Method": "GET" };
  for (const { path, cors } of routes) {
    const answer = await world.call(path.replace(/\{\w+\}/g, "1"), { method: "OPTIONS", headers });
    const allowed = ["Origin", "Methods"].map((name) => answer.headers.get(`Access-Control-Allow-${name}`));
    const expected = cors ? [204, "*", "GET,HEAD"] : [405, null, null];
    expect([path, answer.status, ...allowed]).toEqual([path, ...expected]);
  }
});

test("a request with a wrong method gets 405 and the methods of its path", async () => {
  for (const path of new Set(routes.map((route) => route.path))) {
    const own = routes.filter((route) => route.path === path).map(({ method }) => method);
    const allowed = own.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
    const response = await world.call(path.replace(/\{\w+\}/, "1"), { method: "PATCH" });
    expect([path, response.status, response.headers.get("Allow")]).toEqual([path, 405, allowed.join(", ")]);
  }
});
