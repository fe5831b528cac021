/**
 * Durations in buckets whose bounds grow by a fourth of a power of two: a percentile that is read from them is at
 * most a fifth too high, and a bucket is found by one logarithm. Every fourth bound is one of the `le` bounds that
 * Prometheus is shown, so that both read the same counts.
 */

const stepsPerDoubling = 4;
const lowestMs = 0.125;
const lowestExponent = Math.log2(lowestMs) * stepsPerDoubling;
const bounded = 65;

/** Buckets of one histogram; the last one has no upper bound. */
export const bucketCount = bounded + 1;

export function upperBoundMs(bucket: number): number {
  return bucket < bounded ? 2 ** ((bucket + lowestExponent) / stepsPerDoubling) : Number.POSITIVE_INFINITY;
}

/** Buckets whose upper bounds are shown to Prometheus: 0.125 ms, doubling, to 8.192 s. */
export const exposedBuckets: readonly number[] = Array.from(
  { length: (bounded - 1) / stepsPerDoubling + 1 },
  (_, step) => step * stepsPerDoubling,
);

export function bucketOf(durationMs: number): number {
  if (!(durationMs > lowestMs)) return 0;
  return Math.min(bounded, Math.ceil(Math.log2(durationMs) * stepsPerDoubling - lowestExponent));
}

/**
 * The duration that a share of all is not longer than, read between the bounds of its bucket.
 * @param counts one number a bucket
 * @param share 0.5 for the median
 * @returns milliseconds; null when nothing was counted
 */
export function percentileMs(counts: ArrayLike<number>, share: number): number | null {
  let total = 0;
  for (let i = 0; i < bucketCount; i++) total += counts[i] ?? 0;
  if (total === 0) return null;
  let below = 0;
  for (let i = 0; i < bucketCount; i++) {
    const here = counts[i] ?? 0;
    if (here > 0 && below + here >= share * total) {
      const from = i === 0 ? 0 : upperBoundMs(i - 1);
      // Of what lies beyond the last bound, no more is known than that.
      const to = i < bounded ? upperBoundMs(i) : from;
      return from + (to - from) * Math.max(0, (share * total - below) / here);
    }
    below += here;
  }
  return upperBoundMs(bounded - 1);
}
