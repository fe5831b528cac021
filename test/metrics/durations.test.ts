import { expect, test } from "bun:test";
import { estimatePercentileMs, makeHistogram, recordDuration } from "../../src/metrics/durations.ts";

function histogramOf(...durationsMs: number[]) {
  const durations = makeHistogram();
  for (const durationMs of durationsMs) recordDuration(durations, durationMs);
  return durations;
}

test("a computed percentile differs from the true one by less than a fifth", () => {
  const durations = histogramOf(...Array.from({ length: 10_000 }, (_, at) => (at + 1) / 100));
  for (const truth of [50, 90, 99])
    expect(Math.abs((estimatePercentileMs(durations, truth / 100) ?? 0) - truth) / truth).toBeLessThan(0.2);
});

test("a negative or NaN duration is recorded as one microsecond, and an infinite one as 8.192 seconds", () => {
  const durations = histogramOf(-1, Number.NaN, 0, 8_193, Number.POSITIVE_INFINITY);
  expect(durations.count).toBe(5);
  expect([0.5, 0.99].map((share) => estimatePercentileMs(durations, share))).toEqual([0.001, 8_192]);
});

test("the percentile of no durations is null", () => {
  expect(estimatePercentileMs(makeHistogram(), 0.5)).toBeNull();
});
