import { afterEach, beforeEach, expect, test } from "bun:test";
import { type Counters, createServiceCounters } from "../../src/metrics/counters.ts";
import { maxHistoryPoints, startTrafficHistory, type TrafficHistory } from "../../src/metrics/history.ts";

let now = 0;
let counters: Counters;
let history: TrafficHistory;
beforeEach(() => {
  now = Date.parse("2026-03-01T09:30:00Z");
  const lookup = { path: "/lookup", traffic: "public" } as const;
  counters = createServiceCounters([lookup, { path: "/batch", traffic: "partner" }]);
  history = startTrafficHistory({ counters, clock: { now: () => now } });
});
afterEach(() => history.stop());

function nextPoint() {
  now += 2_000;
  history.sample();
  return history.points(now - 1)[0];
}

test("each point of the history has the rates and percentiles since the previous point, by kind of traffic", () => {
  for (let i = 0; i < 99; i++) counters.requested("/lookup", "GET", 200, 1.9);
  counters.requested("/lookup", "GET", 429, 500);
  counters.requested("/batch", "POST", 503, 40);
  counters.requested("/nowhere", "GET", 404, 0.9);
  const point = nextPoint();
  expect(point?.publicRate).toBeGreaterThan(0);
  expect((point?.publicRate ?? 0) / (point?.partnerRate ?? 1)).toBeCloseTo(100);
  expect((point?.refusedRate ?? 0) / (point?.failedRate ?? 1)).toBeCloseTo(2);
  expect(point?.publicP50).toBeLessThanOrEqual(2);
  expect(point?.partnerP99).toBeGreaterThan(30);
  const quiet = nextPoint();
  expect([quiet?.publicRate, quiet?.publicP50, quiet?.partnerP99]).toEqual([0, null, null]);
  expect(history.percentiles("public").p50).toBeLessThanOrEqual(2);
  expect(history.percentiles("other").p99).toBeLessThanOrEqual(1);
});

test("each point of the history has the longest queue, commit size and deliveries since the previous point", async () => {
  const made = Promise.resolve();
  for (let n = 0; n < 2; n++) counters.signing(1, made);
  await made;
  for (const writes of [3, 5]) counters.committed(writes);
  for (const outcome of ["delivered", "dead"] as const) counters.attempted(outcome);
  const point = nextPoint();
  expect([point?.signingPeak, point?.groupSize]).toEqual([2, 4]);
  expect(point?.signatureRate).toBeGreaterThan(0);
  expect(point?.deliveredRate).toBe(point?.undeliveredRate ?? -1);
  expect(nextPoint()).toMatchObject({ signingPeak: 0, groupSize: null, deliveredRate: 0 });
});

test("the history keeps a quarter of an hour, and returns the points after a given time", () => {
  for (let i = 0; i < maxHistoryPoints + 5; i++) nextPoint();
  const all = history.points(0);
  expect(all).toHaveLength(maxHistoryPoints);
  expect((all.at(-1)?.at ?? 0) - (all[0]?.at ?? 0)).toBe((maxHistoryPoints - 1) * 2_000);
  expect(history.points(now - 4_000)).toHaveLength(2);
});
