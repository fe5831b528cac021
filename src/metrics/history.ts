import type { Counters, IntervalCounts, TrafficKind } from "./counters.ts";
import { estimatePercentileMs, makeHistogram } from "./durations.ts";

/** A point of the console's charts: figures since the previous point. Rates are per second, durations and `at` in ms. */
export type HistoryPoint = ReturnType<typeof pointOf> & { readonly at: number; readonly cpuPercent: number };
export type TrafficHistory = ReturnType<typeof startTrafficHistory>;

export const historyIntervalMs = 2_000;
export const maxHistoryPoints = 450;
/** The percentiles that the console shows as numbers cover the last 150 points, which are five minutes. */
const percentilePoints = 150;

/** Records a point of the console's charts every two seconds, and keeps those of the last quarter of an hour. */
export function startTrafficHistory({ counters, clock }: { counters: Counters; clock: { now(): number } }) {
  const points: HistoryPoint[] = [];
  const recent: IntervalCounts["durations"][] = [];
  let [beganAtMs, cpu] = [performance.now(), process.cpuUsage()];
  // Drops what was counted before the history began.
  counters.takeInterval();

  /** Records a point now; the timer calls this every two seconds. */
  function sample(): void {
    const interval = counters.takeInterval();
    const nowMs = performance.now();
    const used = process.cpuUsage(cpu);
    const seconds = Math.max(0.001, (nowMs - beganAtMs) / 1000);
    const cpuPercent = (used.user + used.system) / 1e4 / seconds;
    points.push({ at: clock.now(), ...pointOf(interval, seconds), cpuPercent });
    recent.push(interval.durations);
    if (points.length > maxHistoryPoints) points.shift();
    if (recent.length > percentilePoints) recent.shift();
    [beganAtMs, cpu] = [nowMs, process.cpuUsage()];
  }

  const timer = setInterval(sample, historyIntervalMs).unref();

  return {
    /** Returns the points after a time, the oldest first. */
    points: (since: number): HistoryPoint[] => points.filter(({ at }) => at > since),
    percentiles(traffic: TrafficKind): { p50: number | null; p99: number | null } {
      const sum = makeHistogram();
      for (const { [traffic]: durations } of recent) sum.add(durations);
      return { p50: estimatePercentileMs(sum, 0.5), p99: estimatePercentileMs(sum, 0.99) };
    },
    sample,
    stop: () => clearInterval(timer),
  };
}

function pointOf({ durations, commits, writes, ...interval }: IntervalCounts, seconds: number) {
  const rate = (count: number) => count / seconds;
  const requestRate = (kind: TrafficKind) => rate(durations[kind].count);
  return {
    publicRate: requestRate("public"),
    partnerRate: requestRate("partner"),
    otherRate: requestRate("other"),
    refusedRate: rate(interval.refused),
    failedRate: rate(interval.failed),
    signatureRate: rate(interval.signatures),
    deliveredRate: rate(interval.delivered),
    undeliveredRate: rate(interval.undelivered),
    partnerP50: estimatePercentileMs(durations.partner, 0.5),
    partnerP99: estimatePercentileMs(durations.partner, 0.99),
    publicP50: estimatePercentileMs(durations.public, 0.5),
    publicP99: estimatePercentileMs(durations.public, 0.99),
    signingPeak: interval.signingPeak,
    /** The average number of writes in a commit; null without a commit. */
    groupSize: commits === 0 ? null : writes / commits,
    residentBytes: process.memoryUsage.rss(),
    lagMs: interval.lagMs,
  };
}
