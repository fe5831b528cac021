/** The figures of one run of the benchmark: each round's values, in one table for each question. */

export type FigureTerms = {
  readonly unit: string;
  /** Whether the value is that of the other build, which is measured in the same rounds. */
  readonly isEarlier?: boolean;
};

export type FigureTable = {
  /** Adds one round's value. */
  add(name: string, terms: FigureTerms, value: number): void;
  /** Adds a sentence below the table; repeated sentences are printed once. */
  note(sentence: string): void;
};

export type Figures = ReturnType<typeof createFigures>;

type Figure = { readonly unit: string; readonly values: number[]; readonly earlier: number[] };
type Answers = { readonly figures: Map<string, Figure>; readonly notes: Set<string> };

export function createFigures() {
  const tables = new Map<string, Answers>();
  return {
    /** Returns the table of a question; it is made at the first call. */
    about(question: string): FigureTable {
      const answers = tables.get(question) ?? { figures: new Map(), notes: new Set() };
      tables.set(question, answers);
      return tableOver(answers);
    },
    /** Writes the tables as Markdown, in the order in which they were made. */
    text: () =>
      [...tables]
        .filter(([, { figures }]) => figures.size > 0)
        .map(([question, answers]) => sectionOf(question, answers))
        .join("\n\n"),
  };
}

function tableOver({ figures, notes }: Answers): FigureTable {
  return {
    add(name, { unit, isEarlier = false }, value) {
      const figure = figures.get(name) ?? { unit, values: [], earlier: [] };
      figures.set(name, figure);
      (isEarlier ? figure.earlier : figure.values).push(value);
    },
    note: (sentence) => notes.add(sentence),
  };
}

function sectionOf(question: string, { figures, notes }: Answers): string {
  const hasEarlier = [...figures.values()].some(({ earlier }) => earlier.length > 0);
  const head = ["figure", "unit", "median", "min – max", ...(hasEarlier ? ["other build", "÷ other"] : [])];
  const rows = [...figures].map(([name, { unit, values, earlier }]) => [
    ...[name, unit, shown(median(values)), `${shown(quantile(values, 0))} – ${shown(quantile(values, 1))}`],
    ...(hasEarlier ? [shown(median(earlier)), ratioOf(values, earlier)] : []),
  ]);
  return [`### ${question}`, markdown(head, rows), ...notes].join("\n\n");
}

/** Finds the value below which the fraction `part` of the values lies; NaN without values. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** The middle value, or the mean of the two middle values. */
function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const at = (index: number) => sorted[Math.floor(index)] ?? Number.NaN;
  return (at((sorted.length - 1) / 2) + at(sorted.length / 2)) / 2;
}

/** Median, minimum and maximum of the ratios within each round, in which both builds had the same load beside them. */
function ratioOf(values: readonly number[], earlier: readonly number[]): string {
  const ratios = values.flatMap((value, round) => {
    const before = earlier[round];
    return before === undefined || before === 0 ? [] : [value / before];
  });
  if (ratios.length === 0) return "";
  return `${shown(median(ratios))} × (${shown(quantile(ratios, 0))} – ${shown(quantile(ratios, 1))})`;
}

function shown(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

function markdown(head: readonly string[], rows: readonly string[][]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const alignment = head.map((_, column) => (column < 2 ? "---" : "--:"));
  return [line(head), `|${alignment.join("|")}|`, ...rows.map(line)].join("\n");
}
