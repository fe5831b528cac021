/** Bounds of buckets grow by a fourth of a power of two, so a percentile read from them is at most a fifth too high. */
const stepsPerDoubling = 4;
const lowestMs = 0.125;
const lowestExponent = Math.log2(lowestMs) * stepsPerDoubling;
const bounded = 65;

/** Buckets of one histogram; the last one has no upper bound. */
export const bucketCount = bounded + 1;

export function upperBoundMs(bucket: number): number {
  return bucket < bounded ? 2 ** ((bucket + lowestExponent) / stepsPerDoubling) : Number.POSITIVE_INFINITY;
}

export function bucketOf(durationMs: number): number {
  if (!(durationMs > lowestMs)) return 0;
  return Math.min(bounded, Math.ceil(Math.log2(durationMs) * stepsPerDoubling - lowestExponent));
}

/** @param share 0.5 for the median @returns milliseconds, read between the bounds of a bucket; null without counts */
export function percentileMs(counts: Float64Array, share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let below = 0;
  for (const [bucket, here] of counts.entries()) {
    if (here > 0 && below + here >= share * total) {
      const from = bucket === 0 ? 0 : upperBoundMs(bucket - 1);
      // Nothing is known of a duration beyond the last bound but that bound.
      const to = bucket < bounded ? upperBoundMs(bucket) : from;
      return from + (to - from) * Math.max(0, (share * total - below) / here);
    }
    below += here;
  }
  return upperBoundMs(bounded - 1);
}
