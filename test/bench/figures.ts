/** Figures of one run: what was measured in each round, in one table for each question. */

export type FigureTerms = {
  readonly unit: string;
  /** The value is the earlier build's: it stands beside this build's of the same round. */
  readonly isEarlier?: boolean;
  /** What the last argument of `add` counts: what this machine had to give at best, in the same round. */
  readonly limit?: string;
};

export type Table = {
  /** Adds one round's value, and beside it the machine's limit of that round. */
  add(name: string, terms: FigureTerms, value: number, limit?: number): void;
  /** A sentence below the table, said once. */
  note(sentence: string): void;
};

/** Markdown, or padded for a terminal. */
type Form = "markdown" | "text";

export type Figures = {
  /** The table that answers a question; the same one each time. */
  about(question: string): Table;
  /** The tables in the order in which they were first asked for. */
  text(form: Form): string;
};

type Figure = {
  readonly name: string;
  readonly unit: string;
  readonly limit: string;
  readonly values: number[];
  readonly limits: number[];
  readonly earlier: number[];
};

type Answers = { readonly figures: Map<string, Figure>; readonly notes: Set<string> };

export function createFigures(): Figures {
  const tables = new Map<string, Answers>();
  return {
    about(question) {
      const answers = tables.get(question) ?? { figures: new Map(), notes: new Set() };
      tables.set(question, answers);
      return tableOver(answers);
    },
    text: (form) =>
      [...tables]
        .filter(([, { figures, notes }]) => figures.size + notes.size > 0)
        .map(([question, answers]) => sectionOf(question, answers, form))
        .join("\n\n"),
  };
}

function tableOver({ figures, notes }: Answers): Table {
  return {
    add(name, { unit, isEarlier = false, limit: limitUnit = "" }, value, limit) {
      const figure = figures.get(name) ?? {
        name,
        unit,
        limit: limitUnit,
        values: [],
        limits: [],
        earlier: [],
      };
      figures.set(name, figure);
      (isEarlier ? figure.earlier : figure.values).push(value);
      if (limit !== undefined && !isEarlier) figure.limits.push(limit);
    },
    note: (sentence) => notes.add(sentence),
  };
}

function sectionOf(question: string, { figures, notes }: Answers, form: Form): string {
  const rows = [...figures.values()];
  const hasEarlier = rows.some(({ earlier }) => earlier.length > 0);
  const hasLimits = rows.some(({ limits }) => limits.length > 0);
  const head = ["figure", "unit", "median", "min – max"];
  if (hasLimits) head.push("the machine's limit");
  if (hasEarlier) head.push("earlier build", "min – max", "÷ earlier");
  const cells = rows.map((figure) => [
    ...[figure.name, figure.unit, ...middleAndSpread(figure.values)],
    ...(hasLimits ? [limitOf(figure)] : []),
    ...(hasEarlier ? [...middleAndSpread(figure.earlier), ratioOf(figure)] : []),
  ]);
  const title = form === "markdown" ? `### ${question}` : question;
  const table = form === "markdown" ? markdown(head, cells) : padded([head, ...cells]);
  return [title, ...(rows.length === 0 ? [] : [table]), ...notes].join("\n\n");
}

/** @returns the value below which this part of them lies; NaN when there are none */
export function quantile(values: readonly number[], part: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** The middle value, or the mean of the two in the middle. */
function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const at = (index: number) => sorted[Math.floor(index)] ?? Number.NaN;
  return (at((sorted.length - 1) / 2) + at(sorted.length / 2)) / 2;
}

function middleAndSpread(values: readonly number[]): [middle: string, spread: string] {
  if (values.length === 0) return ["", ""];
  if (values.length === 1) return [shown(median(values)), "one value"];
  return [shown(median(values)), `${shown(quantile(values, 0))} – ${shown(quantile(values, 1))}`];
}

function limitOf({ limits, limit }: Figure): string {
  return limits.length === 0 ? "" : `${shown(median(limits))} ${limit}`;
}

/** The middle of the rounds' ratios: the machine's moods of a round touch both alike. */
function ratioOf({ values, earlier }: Figure): string {
  const ratios = values.flatMap((value, round) => {
    const before = earlier[round];
    return before === undefined || before === 0 ? [] : [value / before];
  });
  return ratios.length === 0 ? "" : `${shown(median(ratios))} ×`;
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

function padded(rows: readonly string[][]): string {
  const columns = rows[0] ?? [];
  const widths = columns.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return rows.map((cells) => line(cells).trimEnd()).join("\n");
}
