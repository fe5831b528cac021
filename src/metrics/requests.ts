import { bucketCount, bucketOf } from "./latency.ts";
import { methodOf, methods, routeOf, routes } from "./routes.ts";

/** Statuses from 100 to 599; anything else would be a fault of ours and is counted as 599. */
const lowestStatus = 100;
const statusCount = 500;

/** What the HTTP layer calls once for each answer. */
export type RequestObserver = {
  /**
   * Counts an answer. It costs a lookup, a logarithm and three additions, because every request pays for it; for the
   * same reason it takes four plain arguments and no object.
   * @param route the pattern that the request's path matched
   * @param durationMs from the request's arrival to its answer
   */
  observe(route: string, method: string, status: number, durationMs: number): void;
};

/** One combination that has occurred. */
export type RequestCount = {
  readonly route: number;
  readonly method: number;
  readonly status: number;
  readonly count: number;
};

export type RequestCounters = RequestObserver & {
  /** Every combination of route, method and status that has occurred, in the order of the routes. */
  counts(): RequestCount[];
  /** The counts of a route's latency buckets since the start, live: read, never altered. */
  buckets(route: number): Float64Array;
  /** All durations of a route, added up. */
  totalMs(route: number): number;
};

/** Counts requests in memory: numbers in typed arrays, nothing is allocated for a request. */
export function createRequestCounters(): RequestCounters {
  const answers = new Float64Array(routes.length * methods.length * statusCount);
  const durations = routes.map(() => new Float64Array(bucketCount));
  const totals = new Float64Array(routes.length);

  return {
    observe(pattern, method, status, durationMs) {
      const route = routeOf(pattern);
      const isKnown = status >= lowestStatus && status < lowestStatus + statusCount;
      const place = isKnown ? status - lowestStatus : statusCount - 1;
      const index = (route * methods.length + methodOf(method)) * statusCount + place;
      answers[index] = (answers[index] as number) + 1;
      const histogram = durations[route] as Float64Array;
      const bucket = bucketOf(durationMs);
      histogram[bucket] = (histogram[bucket] as number) + 1;
      totals[route] = (totals[route] as number) + durationMs;
    },
    counts() {
      const found: RequestCount[] = [];
      for (let index = 0; index < answers.length; index++) {
        const count = answers[index] as number;
        if (count === 0) continue;
        const combination = Math.floor(index / statusCount);
        const route = Math.floor(combination / methods.length);
        const method = combination % methods.length;
        found.push({ route, method, status: lowestStatus + (index % statusCount), count });
      }
      return found;
    },
    buckets: (route) => durations[route] ?? new Float64Array(bucketCount),
    totalMs: (route) => totals[route] ?? 0,
  };
}
