import { once } from "node:events";
import { parse } from "csv-parse";
import { UnreadableError } from "./fields.ts";
import type { Delimiter } from "./text.ts";

/** A row of a table. `line` is the number of the file's line on which the row begins, from 1. */
export type TableRecord = {
  readonly line: number;
  readonly cells: readonly string[];
  /** The cells of a workbook whose values cannot be known. Columns are counted from 0. */
  readonly flaws?: readonly (readonly [column: number, flaw: CellFlaw])[];
};

/** Why a cell's value cannot be known: a formula without a result, an error value, or a merged cell that covers it. */
export type CellFlaw = "formula" | "error" | "merged";

/** Matches a text that a spreadsheet would run as a formula. Apostrophes may precede the text. */
const formula = /^'*[=+\-@＝＋－＠]/;

/** Adds an apostrophe to a text that a spreadsheet would run. {@link unescapeFormula} removes the apostrophe. */
export function escapeFormula(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}

export function unescapeFormula(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell;
}

type CsvOptions = {
  readonly maxRecordBytes: number;
  /**
   * "strict" is RFC 4180: a misplaced quote is an error, because it would move later cells into wrong columns.
   * "lenient" suits lists that people type: cells are trimmed, and a quote inside a cell and any line end are accepted.
   */
  readonly rules: "strict" | "lenient";
  /** Whether lines end with CR alone, as in files of classic Mac OS. */
  readonly endsInCr?: boolean | undefined;
  readonly delimiter?: Delimiter | undefined;
};

const parserRules = {
  // CR CR LF comes from programs that convert line ends twice.
  strict: { record_delimiter: ["\r\r\n", "\r\n", "\n"] },
  lenient: { relax_quotes: true, trim: true },
};

/**
 * Reads CSV in UTF-8, with or without a byte order mark. For each piece of the file, yields the records that end in
 * the piece. Records may differ in their number of cells. An empty line is a record of one empty cell.
 * @throws UnreadableError for malformed CSV, with the number of the record's first line and without its text
 */
export async function* readCsv(
  pieces: AsyncIterable<Uint8Array>,
  { maxRecordBytes, rules, endsInCr = false, delimiter = "," }: CsvOptions,
): AsyncGenerator<TableRecord[]> {
  let records: TableRecord[] = [];
  let line = 1;
  const parser = parse({
    ...parserRules[rules],
    ...(endsInCr ? { record_delimiter: ["\r"] } : {}),
    delimiter,
    bom: true,
    relax_column_count: true,
    max_record_size: maxRecordBytes,
    // Counts the lines here, because the parser counts a CRLF inside quotes twice. Collects the records here, because
    // reading them from the parser as a stream takes twice the time.
    on_record(cells: string[]) {
      // Drops the Ctrl-Z that DOS programs write at the end of a text.
      if (cells.length > 1 || cells[0]?.trim() !== "\u001a") records.push({ line, cells });
      line +=
        1 + cells.reduce((sum, cell) => sum + (cell.includes("\n") ? cell.split("\n").length - 1 : 0), 0);
      return null;
    },
  });
  let failure: unknown;
  const note = (error: unknown) => {
    failure ??= error;
  };
  parser.on("error", note);
  const takeRecords = () => {
    if (failure != null) throw csvError(failure, line);
    const complete = records;
    records = [];
    return complete;
  };
  try {
    for await (const piece of pieces) {
      await new Promise((done) => parser.write(piece, done)).then(note);
      yield takeRecords();
    }
    const ended = once(parser, "close");
    parser.end();
    parser.resume();
    await ended.catch(() => {});
    yield takeRecords();
  } finally {
    parser.destroy();
  }
}

/** Replaces the parser's error, because its message quotes the file and may contain a NIN. */
function csvError(error: unknown, line: number): unknown {
  const { code } = error as { code?: unknown };
  if (typeof code !== "string" || !/^CSV_|QUOTE/.test(code)) return error;
  if (code === "CSV_MAX_RECORD_SIZE")
    return new UnreadableError(line, "the row is too long; look for a quote that is not closed");
  return new UnreadableError(line, "the quotes of the row that begins here do not match");
}
