import { newBlocks, openBlocks, type SharedBlocks } from "./blocks.ts";

/**
 * Bounds of the buckets of durations grow by a fourth of a power of two: a percentile that is read from them is at most a
 * fifth too high. Every fourth bound is one of the `le` bounds that Prometheus is shown.
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

/** The kinds of traffic that are told apart. */
export type Traffic = "public" | "partner" | "other";

/** A row of the table of routes; one without `traffic` is counted as `other`, as unknown addresses are. */
type CountedRoute = { readonly path: string; readonly traffic?: Traffic };

/** Routes that are counted together: the pattern, never the path, in which partners put numbers. */
type RouteName = { readonly route: string; readonly traffic: Traffic };

const elsewhere: RouteName = { route: "other", traffic: "other" };

export const methods = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "other"] as const;

/** The index in {@link methods}. */
function methodOf(method: string): number {
  const known = methods.indexOf(method as (typeof methods)[number]);
  return known === -1 ? methods.length - 1 : known;
}

/** Statuses from 100 to 599; anything else would be a fault of ours and is counted as 599. */
const lowestStatus = 100;
const statusCount = 500;

type RequestCount = {
  /** The index in {@link RequestCounters.routes}. */
  readonly route: number;
  /** The index in {@link methods}. */
  readonly method: number;
  readonly status: number;
  readonly count: number;
};

export type RequestCounters = ReturnType<typeof createRequestCounters>;

/** The counters of one process, for as many threads as serve. */
export function newRequestCounts(table: readonly CountedRoute[], threads: number): SharedArrayBuffer {
  return newBlocks(threads, layoutOf(namesOf(table).length).length);
}

/**
 * Counts requests in memory: numbers in typed arrays, nothing is allocated for a request.
 * @param shared the counters of all threads, of {@link newRequestCounts}; without them this thread counts alone
 */
export function createRequestCounters(table: readonly CountedRoute[], shared?: SharedBlocks) {
  const routes = namesOf(table);
  const indexes = new Map(routes.map(({ route }, index) => [route, index]));
  const { durationsAt, totalsAt, length } = layoutOf(routes.length);
  const { own, sum } = openBlocks(length, shared);

  function grow(place: number, by: number): void {
    own[place] = (own[place] as number) + by;
  }

  return {
    /** The routes that are told apart, in the order of the table; the first one is for everything else. */
    routes,
    /**
     * Counts an answer, once for each. It costs a lookup, a logarithm and three additions, because every request pays
     * for it; for the same reason it takes four plain arguments and no object.
     * @param pattern that the request's path matched
     */
    observe(pattern: string, method: string, status: number, durationMs: number): void {
      const route = indexes.get(pattern) ?? 0;
      const isKnown = status >= lowestStatus && status < lowestStatus + statusCount;
      const place = isKnown ? status - lowestStatus : statusCount - 1;
      grow((route * methods.length + methodOf(method)) * statusCount + place, 1);
      grow(durationsAt + route * bucketCount + bucketOf(durationMs), 1);
      grow(totalsAt + route, durationMs);
    },
    /** Every combination of route, method and status that has occurred, in the order of the routes. */
    counts(): RequestCount[] {
      const found: RequestCount[] = [];
      for (let index = 0; index < durationsAt; index++) {
        const count = sum(index);
        if (count === 0) continue;
        const combination = Math.floor(index / statusCount);
        const route = Math.floor(combination / methods.length);
        const method = combination % methods.length;
        found.push({ route, method, status: lowestStatus + (index % statusCount), count });
      }
      return found;
    },
    buckets(route: number): Float64Array {
      const isThere = route < routes.length;
      return Float64Array.from({ length: bucketCount }, (_, bucket) =>
        isThere ? sum(durationsAt + route * bucketCount + bucket) : 0,
      );
    },
    /** All durations of a route, added up. */
    totalMs: (route: number) => (route < routes.length ? sum(totalsAt + route) : 0),
  };
}

function namesOf(table: readonly CountedRoute[]): RouteName[] {
  const names = new Map<string, RouteName>([[elsewhere.route, elsewhere]]);
  for (const { path, traffic } of table) {
    if (traffic !== undefined) names.set(path, { route: path, traffic });
  }
  return [...names.values()];
}

/** A thread's block: first the answers, by route, method and status; then each route's buckets; then its total. */
function layoutOf(routes: number) {
  const durationsAt = routes * methods.length * statusCount;
  const totalsAt = durationsAt + routes * bucketCount;
  return { durationsAt, totalsAt, length: totalsAt + routes };
}
