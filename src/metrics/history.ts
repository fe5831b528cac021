import { readProcessUse } from "./process-use.ts";
import { bucketCount, percentileMs, type RequestCounters, type Traffic } from "./requests.ts";
import type { WorkCounters } from "./work.ts";

/** One point of the charts: what happened since the point before. Rates are a second, durations milliseconds. */
export type Point = Readonly<Record<Rate, number>> & {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly partnerP50: number | null;
  readonly partnerP99: number | null;
  readonly publicP50: number | null;
  readonly publicP99: number | null;
  /** The most that any thread waited for at once. */
  readonly signingPeak: number;
  /** Acts in a commit, on average. */
  readonly groupSize: number | null;
  readonly residentBytes: number;
  /** The longest that the event loop of any thread made a timer wait. */
  readonly lagMs: number;
};

export type History = ReturnType<typeof startHistory>;

export const sampleMs = 2_000;
/** A quarter of an hour. */
export const maxPoints = 450;
/** Percentiles in words are of the last five minutes. */
const percentilePoints = 150;

type Totals = ReturnType<typeof readTotals>;
type Rate = keyof Totals["growing"];

/**
 * Keeps the last quarter of an hour for the console. A request pays nothing for it: every two seconds
 * the counters are read and what they grew by is a point.
 */
export function startHistory(dependencies: {
  requests: RequestCounters;
  work: WorkCounters;
  clock: { now(): number };
}) {
  const { clock, work } = dependencies;
  const points: Point[] = [];
  const recent: Totals["histograms"][] = [];
  let before = readTotals(dependencies);

  function sample(): void {
    const now = readTotals(dependencies);
    const { point, histograms } = difference(before, now);
    const { signingQueue: signingPeak, lagMs } = work.takePeaks();
    points.push({ ...point, at: clock.now(), signingPeak, lagMs });
    recent.push(histograms);
    if (points.length > maxPoints) points.shift();
    if (recent.length > percentilePoints) recent.shift();
    before = now;
  }

  const timer = setInterval(sample, sampleMs);
  timer.unref?.();

  return {
    /** Points younger than a time, oldest first. */
    points: (since: number): Point[] => points.filter(({ at }) => at > since),
    percentiles(traffic: Traffic): { p50: number | null; p99: number | null } {
      const sum = addUp(recent.map((one) => one[traffic]));
      return { p50: percentileMs(sum, 0.5), p99: percentileMs(sum, 0.99) };
    },
    /** Takes a point now; the timer does it by itself. */
    sample,
    stop: () => clearInterval(timer),
  };
}

function readTotals({ requests, work }: { requests: RequestCounters; work: WorkCounters }) {
  const counts: Record<Traffic | "refused" | "failed", number> = {
    public: 0,
    partner: 0,
    other: 0,
    refused: 0,
    failed: 0,
  };
  for (const { route, status, count } of requests.counts()) {
    counts[requests.routes[route]?.traffic ?? "other"] += count;
    if (status >= 500) counts.failed += count;
    else if (status >= 400) counts.refused += count;
  }
  const { cpuSeconds, residentBytes } = readProcessUse();
  const histogramOf = (traffic: Traffic) =>
    addUp(
      requests.routes.flatMap((one, index) => (one.traffic === traffic ? [requests.buckets(index)] : [])),
    );
  return {
    atMs: performance.now(),
    /** What only grows, by the rate that it is told as. */
    growing: {
      publicRate: counts.public,
      partnerRate: counts.partner,
      otherRate: counts.other,
      refusedRate: counts.refused,
      failedRate: counts.failed,
      signatureRate: work.total("signatures made"),
      deliveredRate: work.total("deliveries: delivered"),
      undeliveredRate: work.total("deliveries: failed") + work.total("deliveries: dead"),
      cpuPercent: cpuSeconds * 100,
    },
    histograms: {
      public: histogramOf("public"),
      partner: histogramOf("partner"),
      other: histogramOf("other"),
    },
    commits: { groups: work.total("commits"), acts: work.total("commits: acts") },
    residentBytes,
  };
}

function difference(before: Totals, now: Totals) {
  const seconds = Math.max(0.001, (now.atMs - before.atMs) / 1000);
  const rates = Object.entries(now.growing).map(([rate, total]) => [
    rate,
    (total - before.growing[rate as Rate]) / seconds,
  ]);
  const grown = (traffic: Traffic) =>
    now.histograms[traffic].map((count, bucket) => count - (before.histograms[traffic][bucket] ?? 0));
  const histograms = { public: grown("public"), partner: grown("partner"), other: grown("other") };
  const groups = now.commits.groups - before.commits.groups;
  const point = {
    ...(Object.fromEntries(rates) as Record<Rate, number>),
    partnerP50: percentileMs(histograms.partner, 0.5),
    partnerP99: percentileMs(histograms.partner, 0.99),
    publicP50: percentileMs(histograms.public, 0.5),
    publicP99: percentileMs(histograms.public, 0.99),
    groupSize: groups === 0 ? null : (now.commits.acts - before.commits.acts) / groups,
    residentBytes: now.residentBytes,
  };
  return { point, histograms };
}

function addUp(histograms: readonly Float64Array[]): Float64Array {
  const sum = new Float64Array(bucketCount);
  for (const histogram of histograms) {
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      sum[bucket] = (sum[bucket] as number) + (histogram[bucket] ?? 0);
    }
  }
  return sum;
}
