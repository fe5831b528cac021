import { afterEach, expect, test } from "bun:test";
import { knownTeacher, openTestService, type TestService } from "../harness/service.ts";

let world: TestService;
afterEach(() => world.close());

const path = "/teacher/verify-license";
type Way = "API" | "HEAD" | "page";

async function lookUp(way: Way, term: string, from = "192.0.2.1"): Promise<number> {
  const query = new URLSearchParams({ searchTerm: term });
  if (way !== "page") {
    const method = way === "HEAD" ? "HEAD" : "GET";
    return (await world.call(`${path}?${query}`, { method, from })).status;
  }
  const headers = { "Content-Type": "application/x-www-form-urlencoded" };
  return (await world.call("/", { method: "POST", headers, body: String(query), from })).status;
}

async function lookUpAll(asked: readonly (readonly [Way, string])[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const [way, term] of asked) statuses.push(await lookUp(way, term));
  return statuses;
}

test("public lookups by NIN, e-mail or phone have a third of the limit, which page, API and HEAD requests share", async () => {
  world = await openTestService({ publicPerMinute: 9 });
  const { regNo, nin } = knownTeacher;
  const personal = [
    ["API", nin],
    ["HEAD", "ada@example.com"],
    ["page", "0803 123 4567"],
  ] as const;
  expect(await lookUpAll(personal)).toEqual([200, 200, 200]);
  expect(await lookUpAll(personal)).toEqual([429, 429, 429]);
  expect(
    await lookUpAll([
      ["API", regNo],
      ["page", regNo],
      ["HEAD", "204417"],
    ]),
  ).toEqual([200, 200, 200]);
  expect(await lookUp("API", regNo)).toBe(429);
  expect(await lookUp("API", nin, "192.0.2.2")).toBe(200);
});

test("calls to the evidence log's routes share the limit of public lookups and get the same refusal", async () => {
  world = await openTestService({ publicPerMinute: 5 });
  const ask = (log: string, method = "GET") =>
    world.call(`/v1/inter-agency/log/${log}`, { method, from: "192.0.2.1" });
  const leaf = "0".repeat(64);
  const asked = [ask("key"), ask("key", "HEAD"), ask(`inclusion/${leaf}`), ask("consistency")];
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 404, 400]);
  expect(await lookUp("API", knownTeacher.regNo)).toBe(200);
  const refused = await world.call(`${path}?searchTerm=1`, { from: "192.0.2.1" });
  const words = await refused.json();
  for (const log of ["checkpoint", "key", `inclusion/${leaf}`, "consistency?from=1&to=1"]) {
    const response = await ask(log);
    expect([log, response.status, await response.json()]).toEqual([log, 429, words]);
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    expect(response.headers.get("X-RateLimit-Limit")).toBe("5");
  }
  expect((await world.call("/v1/inter-agency/log/key", { from: "192.0.2.2" })).status).toBe(200);
});

test("an answer about a found teacher may be cached by the caller alone, for a day, and an answer that found nobody may not", async () => {
  world = await openTestService();
  const cached = async (term: string) =>
    (await world.call(`${path}?searchTerm=${term}`)).headers.get("Cache-Control");
  expect(await cached(knownTeacher.regNo)).toBe("private, max-age=86400");
  expect(await cached("LA/PT/2019/99999")).toBe("no-store");
});
