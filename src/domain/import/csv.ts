import { once } from "node:events";
import { parse } from "csv-parse";
import { UnreadableError } from "./fields.ts";
import type { Delimiter } from "./text.ts";

/** A row of a table: its cells, and the line on which it begins, from 1. */
export type TableRecord = {
  readonly line: number;
  readonly cells: readonly string[];
  /** Cells of a workbook whose value is unknown, by column. */
  readonly flaws?: readonly (readonly [column: number, flaw: CellFlaw])[];
};

/** A formula without a result, an error value, a cell that a merged cell covers. */
export type CellFlaw = "formula" | "error" | "merged";

/** A text that a spreadsheet reads as a formula, after any number of apostrophes. */
const formula = /^'*[=+\-@＝＋－＠]/;

/** Escapes a formula with an apostrophe; {@link unguardedCell} removes the apostrophe. */
export function guardedCell(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}

export function unguardedCell(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell;
}

type CsvOptions = {
  readonly maxRecordBytes: number;
  /**
   * "strict" is RFC 4180: a misplaced quote is an error, because it would shift the cells after it. "lenient" is for lists
   * that people type: it trims cells and accepts a quote inside a cell and any line end.
   */
  readonly rules: "strict" | "lenient";
  /** Whether lines end in CR alone, as programs of the old Macintosh write them. */
  readonly endsInCr?: boolean | undefined;
  readonly delimiter?: Delimiter | undefined;
};

const parserRules = {
  // Some programs write the end of a line twice, as CR CR LF.
  strict: { record_delimiter: ["\r\r\n", "\r\n", "\n"] },
  lenient: { relax_quotes: true, trim: true },
};

/**
 * Reads CSV in UTF-8, with or without a byte order mark, and yields the records that each piece completes. Rows may have
 * different lengths; an empty line is a record of one empty cell.
 * @throws UnreadableError for malformed CSV, with the first line of the record and without its text
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
    // Lines are counted here, because the parser counts a CRLF inside quotes twice. Records are taken here, because
    // reading the parser as a stream doubles the time.
    on_record(cells: string[]) {
      // DOS programs write Ctrl-Z at the end of a text.
      if (cells.length > 1 || cells[0]?.trim() !== "\u001a") records.push({ line, cells });
      line += 1 + cells.reduce((sum, cell) => sum + lineEndsIn(cell), 0);
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

function lineEndsIn(cell: string): number {
  let count = 0;
  for (let at = cell.indexOf("\n"); at !== -1; at = cell.indexOf("\n", at + 1)) count++;
  return count;
}

/** The parser's own messages quote the text, which may be a NIN. */
function csvError(error: unknown, line: number): unknown {
  const { code } = error as { code?: unknown };
  if (typeof code !== "string" || !/^CSV_|QUOTE/.test(code)) return error;
  if (code === "CSV_MAX_RECORD_SIZE")
    return new UnreadableError(line, "the row is too long; look for a quote that is not closed");
  return new UnreadableError(line, "the quotes of the row that begins here do not match");
}
