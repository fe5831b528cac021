import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openTestService, type TestService } from "../harness/service.ts";

const me = "/v1/inter-agency/me";
let world: TestService;
beforeAll(async () => {
  world = await openTestService();
});
afterAll(() => world.close());

describe("what a partner sees of itself", () => {
  test("is what was agreed, told and used, and nothing that opens the service", async () => {
    const response = await world.call(me, { as: "full" });
    const seen = await response.json();
    expect([response.status, response.headers.get("Cache-Control")]).toEqual([200, "no-store"]);
    expect(seen).toMatchObject({ partnerId: "full", webhook: null, selfService: false });
    expect(seen.told).toEqual({ events: "all", teachers: "all" });
    expect(seen.credentials).toEqual([seen.credential]);
    expect(seen.quota).toEqual({
      perMinute: 5000,
      perDay: 5000,
      usedToday: 0,
      dayEndsAt: "2026-03-02T00:00:00.000Z",
    });
    expect(JSON.stringify(seen)).not.toMatch(/tvs_|whsec_|mac/);
  });

  test("asks for no scope, and costs the minute alone, once", async () => {
    const [first, second] = [
      await world.call(me, { as: "unscoped" }),
      await world.call(me, { as: "unscoped" }),
    ];
    const left = [first, second].map(({ headers }) => Number(headers.get("X-RateLimit-Remaining")));
    expect([first.status, second.status, (left[0] ?? 0) - (left[1] ?? 0)]).toEqual([200, 200, 1]);
    expect((await second.json()).quota.usedToday).toBe(0);
    expect((await world.call(me, { as: "spent" })).status).toBe(429);
    expect((await world.call(me)).status).toBe(401);
  });
});
