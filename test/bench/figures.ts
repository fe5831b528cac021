/** Figures of one run: what was measured in each round, and what was hoped for. */

export type Goal = { readonly below: number } | { readonly atMost: number } | { readonly atLeast: number };

export type FigureTerms = {
  readonly unit: string;
  readonly goal?: Goal;
  /** What the last argument of `add` counts: what this machine had to give at best, in the same round. */
  readonly limit?: string;
};

type Figure = FigureTerms & { readonly name: string; readonly values: number[]; readonly limits: number[] };

export type Figures = {
  /** Adds one round's value, and beside it the machine's limit of that round. */
  add(name: string, terms: FigureTerms, value: number, limit?: number): void;
  /** The table, in the order in which the figures first came: Markdown, or padded for a terminal. */
  table(form: "markdown" | "text"): string;
};

const head = ["figure", "unit", "median", "min – max", "machine's limit", "target"];

export function createFigures(): Figures {
  const figures = new Map<string, Figure>();
  return {
    add(name, terms, value, limit) {
      const figure = figures.get(name) ?? { ...terms, name, values: [], limits: [] };
      figure.values.push(value);
      if (limit !== undefined) figure.limits.push(limit);
      figures.set(name, figure);
    },
    table(form) {
      const rows = [...figures.values()].map(cellsOf);
      return form === "markdown" ? markdown(rows) : padded([head, ...rows]);
    },
  };
}

/** @returns the value below which this part of them lies; NaN when there are none */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** The middle value, or the mean of the two in the middle. */
function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const at = (index: number) => sorted[Math.floor(index)] ?? Number.NaN;
  return (at((sorted.length - 1) / 2) + at(sorted.length / 2)) / 2;
}

function cellsOf({ name, unit, values, goal, limits, limit = "" }: Figure): string[] {
  const spread = `${shown(quantile(values, 0))} – ${shown(quantile(values, 1))}`;
  const beside = limits.length === 0 ? "" : `${shown(median(limits))} ${limit}`;
  const middle = median(values);
  return [name, unit, shown(middle), spread, beside, judged(goal, middle)];
}

/** The median is judged: one round on a shared machine says little either way. */
function judged(goal: Goal | undefined, value: number): string {
  if (goal === undefined) return "";
  const verdict = (isMet: boolean) => (isMet ? "met" : "**not met**");
  if ("below" in goal) return `< ${shown(goal.below)}: ${verdict(value < goal.below)}`;
  if ("atMost" in goal) return `≤ ${shown(goal.atMost)}: ${verdict(value <= goal.atMost)}`;
  return `≥ ${shown(goal.atLeast)}: ${verdict(value >= goal.atLeast)}`;
}

function shown(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

function markdown(rows: readonly string[][]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), "|---|---|--:|--:|---|---|", ...rows.map(line)].join("\n");
}

function padded(rows: readonly string[][]): string {
  const widths = head.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return rows.map((cells) => line(cells).trimEnd()).join("\n");
}
