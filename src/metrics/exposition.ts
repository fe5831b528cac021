import { type Metric, Registry } from "prom-client";
import manual from "../../data/help/metrics.md" with { type: "text" };
import { counterFamilies } from "./counter-families.ts";
import type { Reader } from "./families.ts";
import { type Look, look, type Sources } from "./sources.ts";
import { stateFamilies } from "./state-families.ts";

/** The text that Prometheus reads (its exposition format, version 0.0.4). */
export type Exposition = ReturnType<typeof createExposition>;

type Family = {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly read: Reader;
};

/** Every metric that there is, in the order in which it is shown; what it is, the manual says. */
export const families: readonly Family[] = Object.entries({ ...counterFamilies, ...stateFamilies }).map(
  ([name, read]) => {
    const row = new RegExp(`^\\| \`${name}\` \\| (\\w+) \\| [^|]* \\| (.*) \\|$`, "m");
    const [, type = "", help = ""] = row.exec(manual) ?? [];
    return { name, type, help, read };
  },
);

/**
 * The exposition, whose text is made when it is asked for. Nothing of the library is touched by a request: its own
 * counters cost a string and a hash each time, so here it only writes down what plain counters hold.
 */
export function createExposition(sources: Sources) {
  return {
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    async text(): Promise<string> {
      const registry = new Registry();
      const state = await look(sources);
      for (const family of families) registry.registerMetric(asMetric(family, state));
      return registry.metrics();
    },
  };
}

/**
 * A metric for the registry whose values stand elsewhere. Of a metric the registry asks only this much; the library's
 * classes would have a histogram observe each duration again.
 */
function asMetric({ name, help, type, read }: Family, state: Look): Metric {
  const found = read(state) ?? [];
  const samples = typeof found === "number" ? [{ value: found }] : found;
  const values = samples.map(({ value, labels = {}, suffix = "" }) => ({
    metricName: `${name}${suffix}`,
    labels,
    value,
  }));
  const metric = { name, help, type, get: async () => ({ name, help, type, values }) };
  return metric as unknown as Metric;
}
