import { describe, expect, test } from "bun:test";
import { createRequestCounters, methods, newRequestCounts } from "../../src/metrics/requests.ts";

const table = [
  { path: "/", traffic: "other" },
  { path: "/lookup/{tId}", traffic: "partner" },
  { path: "/icon.svg" },
  { path: "/lookup", traffic: "public" },
  // A second method of the same address.
  { path: "/", traffic: "other" },
] as const;

describe("requests", () => {
  test("are told apart by the table's patterns, what has no traffic of its own apart", () => {
    expect(createRequestCounters(table).routes).toEqual([
      { route: "other", traffic: "other" },
      { route: "/", traffic: "other" },
      { route: "/lookup/{tId}", traffic: "partner" },
      { route: "/lookup", traffic: "public" },
    ]);
  });

  test("are counted by route, method and status, their durations by route", () => {
    const counters = createRequestCounters(table);
    const { routes } = counters;
    counters.observe("/lookup", "GET", 200, 2);
    counters.observe("/lookup", "GET", 200, 4);
    counters.observe("/lookup", "GET", 429, 0.1);
    counters.observe("/lookup/{tId}", "POST", 503, 30);
    counters.observe("/nowhere/12345678901", "BREW", 404, 1);
    const counted = counters
      .counts()
      .map(({ route, method, status, count }) => [routes[route]?.route, methods[method], status, count]);
    expect(counted).toEqual([
      ["other", "other", 404, 1],
      ["/lookup/{tId}", "POST", 503, 1],
      ["/lookup", "GET", 200, 2],
      ["/lookup", "GET", 429, 1],
    ]);
    expect(counters.totalMs(3)).toBeCloseTo(6.1);
    expect(counters.buckets(3).reduce((sum, one) => sum + one, 0)).toBe(3);
  });

  test("with a status that does not exist are counted as a fault of ours", () => {
    const counters = createRequestCounters(table);
    counters.observe("/", "GET", 0, 1);
    counters.observe("/", "GET", 99_999, 1);
    expect(counters.counts()).toMatchObject([{ status: 599, count: 2 }]);
  });

  test("by several threads are added up", () => {
    const memory = newRequestCounts(table, 2);
    const [one, other] = [0, 1].map((thread) => createRequestCounters(table, { memory, thread }));
    one?.observe("/lookup", "GET", 200, 2);
    other?.observe("/lookup", "GET", 200, 4);
    other?.observe("/lookup", "GET", 404, 1);
    expect(one?.counts()).toMatchObject([
      { status: 200, count: 2 },
      { status: 404, count: 1 },
    ]);
    expect(one?.totalMs(3)).toBe(7);
    expect(one?.buckets(3).reduce((sum, count) => sum + count, 0)).toBe(3);
  });
});
