import { type Metric, Registry } from "prom-client";
import type { Snapshot } from "../domain/configuration.ts";
import type { ReadingsNow } from "../domain/readings.ts";
import { type CounterSources, counterFamilies, type Family, type Sample } from "./families.ts";
import type { History } from "./history.ts";
import { type NodeFigures, type StateSources, stateFamilies, type ThreadFigures } from "./state-families.ts";

type ExpositionSources = CounterSources & {
  readonly history: Pick<History, "points">;
  readonly readings: () => Promise<ReadingsNow>;
  readonly snapshot: () => Snapshot;
  readonly clock: { now(): number };
  readonly startedAt: number;
  readonly signingEngine: () => string;
  readonly threads: () => ThreadFigures;
  readonly node: () => NodeFigures;
  readonly build: StateSources["build"];
};

/** The text that Prometheus reads (its exposition format, version 0.0.4). */
export type Exposition = { readonly contentType: string; text(): Promise<string> };

/** Every metric that there is, in the order in which it is shown. */
export const families: readonly Pick<Family<never>, "name" | "type" | "help">[] = [
  ...counterFamilies,
  ...stateFamilies,
];

/** The time over which the longest lag is told: scrapes come every 15 seconds, and one between two is still seen. */
const lagWindowMs = 16_000;

/**
 * The exposition, whose text is made when it is asked for. Nothing of the library is touched by a request: its own
 * counters cost a string and a hash each time, so here it only writes down what plain counters hold.
 */
export function createExposition(sources: ExpositionSources): Exposition {
  const registry = new Registry();
  let state: StateSources | undefined;
  for (const family of counterFamilies) {
    registry.registerMetric(asMetric(family, () => family.read(sources)));
  }
  for (const family of stateFamilies) {
    registry.registerMetric(asMetric(family, () => (state === undefined ? [] : family.read(state))));
  }
  return {
    contentType: registry.contentType,
    async text() {
      state = await readState(sources);
      return registry.metrics();
    },
  };
}

async function readState({
  readings,
  snapshot,
  clock,
  history,
  startedAt,
  signingEngine,
  threads,
  node,
  build,
}: ExpositionSources): Promise<StateSources> {
  const { readings: read, hasFailed } = await readings();
  const now = clock.now();
  const lags = history.points(now - lagWindowMs).map(({ lagMs }) => lagMs);
  const lagMs = Math.max(0, ...lags);
  return {
    readings: read,
    storeAnswers: !hasFailed,
    keys: snapshot().keys,
    now,
    startedAt,
    lagMs,
    engine: signingEngine(),
    threads: threads(),
    node: node(),
    build,
  };
}

/**
 * A metric for the registry whose values stand elsewhere. Of a metric the registry asks only this much; the library's
 * classes would have a histogram observe each duration again.
 */
function asMetric(
  { name, help, type }: Pick<Family<never>, "name" | "help" | "type">,
  read: () => readonly Sample[],
): Metric {
  const values = () =>
    read().map(({ value, labels = {}, suffix = "" }) => ({ metricName: `${name}${suffix}`, labels, value }));
  const metric = { name, help, type, get: async () => ({ name, help, type, values: values() }) };
  return metric as unknown as Metric;
}
