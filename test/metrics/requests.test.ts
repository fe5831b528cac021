import { describe, expect, test } from "bun:test";
import { createRequestCounters } from "../../src/metrics/requests.ts";
import { methods, routeOf, routes } from "../../src/metrics/routes.ts";

const nameOf = (pattern: string) => routes[routeOf(pattern)]?.route;

describe("requests", () => {
  test("are counted under the pattern of their route, so that no label holds what was asked", () => {
    expect(nameOf("/v1/inter-agency/lookup/by-tid/{tId}")).toBe("/v1/inter-agency/lookup/by-tid/{tId}");
    expect(nameOf("/v1/inter-agency/lookup/by-tid/204417")).toBe("other");
    expect(nameOf("/12345678901")).toBe("other");
    expect(nameOf("/teacher/verify-license")).toBe("/teacher/verify-license");
  });

  test("are counted by route, method and status, their durations by route", () => {
    const counters = createRequestCounters();
    counters.observe("/teacher/verify-license", "GET", 200, 2);
    counters.observe("/teacher/verify-license", "GET", 200, 4);
    counters.observe("/teacher/verify-license", "GET", 429, 0.1);
    counters.observe("/v1/inter-agency/batch", "POST", 503, 30);
    counters.observe("/nowhere/12345678901", "BREW", 404, 1);
    const counted = counters
      .counts()
      .map(({ route, method, status, count }) => [routes[route]?.route, methods[method], status, count]);
    expect(counted).toEqual([
      ["other", "other", 404, 1],
      ["/teacher/verify-license", "GET", 200, 2],
      ["/teacher/verify-license", "GET", 429, 1],
      ["/v1/inter-agency/batch", "POST", 503, 1],
    ]);
    expect(counters.totalMs(routeOf("/teacher/verify-license"))).toBeCloseTo(6.1);
    expect(counters.buckets(routeOf("/teacher/verify-license")).reduce((sum, one) => sum + one, 0)).toBe(3);
  });

  test("with a status that does not exist are counted as a fault of ours", () => {
    const counters = createRequestCounters();
    counters.observe("/", "GET", 0, 1);
    counters.observe("/", "GET", 99_999, 1);
    expect(counters.counts()).toMatchObject([{ status: 599, count: 2 }]);
  });
});
