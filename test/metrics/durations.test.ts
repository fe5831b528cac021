import { expect, test } from "bun:test";
import {
  bucketUpperBoundMs,
  durationBucketCount,
  findDurationBucket,
  percentileMs,
} from "../../src/metrics/durations.ts";

test("a duration bucket holds every duration up to its bound and none above it", () => {
  for (const durationMs of [0, 0.001, 0.125, 0.126, 0.5, 0.7, 1, 1.19, 1.2, 47, 8_191.9, 8_192, 8_193, 1e9]) {
    const bucket = findDurationBucket(durationMs);
    expect(durationMs).toBeLessThanOrEqual(bucketUpperBoundMs(bucket));
    if (bucket > 0) expect(durationMs).toBeGreaterThan(bucketUpperBoundMs(bucket - 1));
  }
});

test("a negative or missing duration is counted in the first bucket", () => {
  expect([findDurationBucket(-1), findDurationBucket(Number.NaN)]).toEqual([0, 0]);
  expect(findDurationBucket(Number.POSITIVE_INFINITY)).toBe(durationBucketCount - 1);
});

test("a computed percentile differs from the true one by less than a fifth", () => {
  const counts = new Float64Array(durationBucketCount);
  for (let i = 1; i <= 10_000; i++) {
    const bucket = findDurationBucket(i / 100);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  for (const truth of [50, 90, 99])
    expect(Math.abs((percentileMs(counts, truth / 100) ?? 0) - truth) / truth).toBeLessThan(0.2);
});

test("the percentile of no durations is null, and no percentile is above the last bound", () => {
  const counts = new Float64Array(durationBucketCount);
  expect(percentileMs(counts, 0.5)).toBeNull();
  counts[durationBucketCount - 1] = 3;
  expect(percentileMs(counts, 0.99)).toBe(8_192);
});
