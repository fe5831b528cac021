import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type History, maxPoints, startHistory } from "../../src/metrics/history.ts";
import { createRequestCounters } from "../../src/metrics/requests.ts";
import { createWorkCounters } from "../../src/metrics/work.ts";

let now = 0;
let requests: ReturnType<typeof createRequestCounters>;
let work: ReturnType<typeof createWorkCounters>;
let history: History;
beforeEach(() => {
  now = Date.parse("2026-03-01T09:30:00Z");
  requests = createRequestCounters([
    { path: "/lookup", traffic: "public" },
    { path: "/batch", traffic: "partner" },
  ]);
  work = createWorkCounters();
  history = startHistory({ requests, work, clock: { now: () => now } });
});
afterEach(() => history.stop());

function nextPoint() {
  now += 2_000;
  history.sample();
  return history.points(now - 1)[0];
}

describe("the history of the last quarter of an hour", () => {
  test("tells what happened since the point before, each kind of traffic by itself", () => {
    for (let i = 0; i < 99; i++) requests.observe("/lookup", "GET", 200, 2);
    requests.observe("/lookup", "GET", 429, 500);
    requests.observe("/batch", "POST", 503, 40);
    requests.observe("/nowhere", "GET", 404, 1);
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

  test("knows the longest queue, the size of commits and what became of webhooks between two points", () => {
    work.signingBegan(1);
    work.signingBegan(1);
    work.signingEnded(1, false);
    work.signingEnded(1, false);
    work.committed(3, 0.1);
    work.committed(5, 0.1);
    work.count("deliveries: delivered");
    work.count("deliveries: dead");
    const point = nextPoint();
    expect([point?.signingPeak, point?.groupSize]).toEqual([2, 4]);
    expect(point?.signatureRate).toBeGreaterThan(0);
    expect(point?.deliveredRate).toBe(point?.undeliveredRate ?? -1);
    expect(nextPoint()).toMatchObject({ signingPeak: 0, groupSize: null, deliveredRate: 0 });
  });

  test("keeps a quarter of an hour and no more, and gives what is newer than asked", () => {
    for (let i = 0; i < maxPoints + 5; i++) nextPoint();
    const all = history.points(0);
    expect(all).toHaveLength(maxPoints);
    expect((all.at(-1)?.at ?? 0) - (all[0]?.at ?? 0)).toBe((maxPoints - 1) * 2_000);
    expect(history.points(now - 4_000)).toHaveLength(2);
  });
});
