import { type Metric, Registry } from "prom-client";
import manual from "../../data/help/metrics.md" with { type: "text" };
import { counterFamilies } from "./counter-families.ts";
import { type Look, look, type Sources } from "./sources.ts";
import { stateFamilies } from "./state-families.ts";

/** One number under its labels. `suffix` is `_bucket`, `_sum` or `_count` of a histogram. */
export type Sample = {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string | number>>;
  readonly suffix?: string;
};

/** Its one number, or all of its samples; null where there is nothing to tell. */
export type Reader = (look: Look) => number | null | readonly Sample[];

/** How metrics are read, by their names, which say unit and kind as Prometheus asks for it. */
export type Families = Readonly<Record<string, Reader>>;

/** A sample for each value of a label, under what other labels they share. */
export function byLabel(
  label: string,
  values: Readonly<Record<string, number>>,
  shared: Readonly<Record<string, string>> = {},
): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ value, labels: { ...shared, [label]: name } }));
}

/**
 * The samples of a histogram: how many were at most each bound, how many there are, and their sum.
 * @param below for each bound how many were not above it
 */
export function histogramSamples(
  below: readonly (readonly [bound: number, count: number])[],
  { count, sum, labels = {} }: { count: number; sum: number; labels?: Readonly<Record<string, string>> },
): Sample[] {
  return [
    ...below.map(([le, value]) => ({ value, labels: { ...labels, le }, suffix: "_bucket" })),
    { value: count, labels: { ...labels, le: "+Inf" }, suffix: "_bucket" },
    { value: sum, labels, suffix: "_sum" },
    { value: count, labels, suffix: "_count" },
  ];
}

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
