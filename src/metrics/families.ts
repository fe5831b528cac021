/** What a metric is, and what its samples are written with. */

import type { Look } from "./sources.ts";

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
