/** Figures of one run: what was measured in each round, and what was hoped for. */

export type Goal = { readonly below: number } | { readonly atLeast: number };

export type FigureTerms = {
  readonly unit: string;
  readonly goal?: Goal;
};

type Figure = FigureTerms & { readonly name: string; readonly values: number[] };

export type Figures = {
  /** Adds one round's value. */
  add(name: string, terms: FigureTerms, value: number): void;
  /** The middle of what was added so far. */
  median(name: string): number;
  /** A Markdown table, in the order in which the figures first came. */
  table(): string;
};

export function createFigures(): Figures {
  const figures = new Map<string, Figure>();
  return {
    add(name, terms, value) {
      const figure = figures.get(name) ?? { ...terms, name, values: [] };
      figure.values.push(value);
      figures.set(name, figure);
    },
    median: (name) => quantile(figures.get(name)?.values ?? [], 0.5),
    table() {
      const head = [
        "| figure | unit | min | median | max | rounds | goal |",
        "|---|---|--:|--:|--:|--:|---|",
      ];
      return [...head, ...[...figures.values()].map(line)].join("\n");
    },
  };
}

/** @returns the value below which this part of them lies; NaN when there are none */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

function line({ name, unit, values, goal }: Figure): string {
  const cells = [quantile(values, 0), quantile(values, 0.5), quantile(values, 1)].map(shown);
  return `| ${[name, unit, ...cells, String(values.length), judged(goal, quantile(values, 0.5))].join(" | ")} |`;
}

/** The median is judged: one round on a shared machine says little either way. */
function judged(goal: Goal | undefined, median: number): string {
  if (goal === undefined) return "";
  const isMet = "below" in goal ? median < goal.below : median >= goal.atLeast;
  const words = "below" in goal ? `< ${shown(goal.below)}` : `≥ ${shown(goal.atLeast)}`;
  return `${words}: ${isMet ? "met" : "**not met**"}`;
}

function shown(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}
