/** Each bucket's bound is 2^(1/4) times the one before, so a percentile is at most a fifth too high. */
const stepsPerDoubling = 4;
const lowestMs = 0.125;
const lowestExponent = Math.log2(lowestMs) * stepsPerDoubling;
const bounded = 65;

/** The number of buckets of a histogram of durations; the last one has no upper bound. */
export const durationBucketCount = bounded + 1;

export function bucketUpperBoundMs(bucket: number): number {
  return bucket < bounded ? 2 ** ((bucket + lowestExponent) / stepsPerDoubling) : Number.POSITIVE_INFINITY;
}

export function findDurationBucket(durationMs: number): number {
  if (!(durationMs > lowestMs)) return 0;
  return Math.min(bounded, Math.ceil(Math.log2(durationMs) * stepsPerDoubling - lowestExponent));
}

/** Estimates a percentile in ms, within its bucket's bounds. @param share 0.5: the median @returns null without counts */
export function percentileMs(counts: Float64Array, share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let below = 0;
  for (const [bucket, here] of counts.entries()) {
    if (here > 0 && below + here >= share * total) {
      const from = bucket === 0 ? 0 : bucketUpperBoundMs(bucket - 1);
      // The last bucket has no upper bound, so its durations are taken to be its lower bound.
      const to = bucket < bounded ? bucketUpperBoundMs(bucket) : from;
      return from + (to - from) * Math.max(0, (share * total - below) / here);
    }
    below += here;
  }
  return bucketUpperBoundMs(bounded - 1);
}
