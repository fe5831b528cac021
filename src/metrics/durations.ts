import { createHistogram, type RecordableHistogram } from "node:perf_hooks";

/** The longest recorded duration, in microseconds. Longer durations are recorded as this one. */
const longestUs = 8_192_000;

/**
 * Makes a histogram of durations in microseconds. With one significant digit it takes some 3 kB, and a percentile is at
 * most a tenth too high. `highest` is the end of a bucket, because Deno's `add` drops a bucket that ends later.
 */
export const makeHistogram = () => createHistogram({ lowest: 1, highest: 2 ** 23 - 1, figures: 1 });

export function recordDuration(durations: RecordableHistogram, durationMs: number): void {
  const us = Math.round(durationMs * 1000) || 1;
  durations.record(Math.min(longestUs, Math.max(1, us)));
}

/** Estimates a percentile in ms. @param share 0.5 for the median @returns null without durations */
export function estimatePercentileMs(durations: RecordableHistogram, share: number): number | null {
  return durations.count === 0 ? null : Math.min(longestUs, durations.percentile(share * 100)) / 1000;
}
