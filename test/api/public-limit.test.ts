import { afterEach, describe, expect, test } from "bun:test";
import { known, openTestService, type TestService } from "../harness/service.ts";

let world: TestService;
afterEach(() => world.close());

const path = "/teacher/verify-license";
type Way = "API" | "HEAD" | "page";

/** A lookup by each way in that the public has. */
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

describe("lookups by NIN, e-mail or phone", () => {
  test("have a third of the limit, which page, API and HEAD share", async () => {
    world = await openTestService({ publicPerMinute: 9 });
    const { regNo, nin } = known;
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

  test("have one, however low the limit is, and are told how to go on", async () => {
    world = await openTestService({ publicPerMinute: 2 });
    expect(await lookUp("API", known.nin)).toBe(200);
    const refused = await world.call(`${path}?searchTerm=${known.nin}`, { from: "192.0.2.1" });
    expect(refused.status).toBe(429);
    expect(await refused.json()).toEqual({
      statusCode: 429,
      message: "too many lookups by NIN, e-mail or phone from this IP address; try again later",
      retryAfterSeconds: 60,
    });
    expect(refused.headers.get("X-RateLimit-Limit")).toBe("1");
  });
});

test("whoever asks the evidence log spends of the same limit, and is refused in the same words", async () => {
  world = await openTestService({ publicPerMinute: 5 });
  const ask = (log: string, method = "GET") =>
    world.call(`/v1/inter-agency/log/${log}`, { method, from: "192.0.2.1" });
  const leaf = "0".repeat(64);
  const asked = [ask("key"), ask("key", "HEAD"), ask(`inclusion/${leaf}`), ask("consistency")];
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 404, 400]);
  expect(await lookUp("API", known.regNo)).toBe(200);
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

describe("an IPv6 network", () => {
  test("of /48 has sixteen times the limit of its /64s together", async () => {
    world = await openTestService({ publicPerMinute: 3 });
    let answered = 0;
    for (let network = 0; network < 60; network++) {
      if ((await lookUp("API", known.regNo, `2001:db8:1:${network.toString(16)}::1`)) === 200) answered++;
    }
    expect(answered).toBe(48);
    expect(await lookUp("page", known.regNo, "2001:db8:1:ffff::1")).toBe(429);
    expect(await lookUp("page", known.regNo, "2001:db8:2:0::1")).toBe(200);
  });
});
