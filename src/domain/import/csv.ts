import { once } from "node:events";
import { parse } from "csv-parse";
import { UnreadableError } from "./fields.ts";
import type { Delimiter } from "./text.ts";

/** A row of a table: its cells, and the line on which it begins, from 1. */
export type TableRecord = {
  readonly line: number;
  readonly cells: readonly string[];
  /** Cells of a workbook, by column, whose value cannot be known. */
  readonly flaws?: readonly (readonly [column: number, flaw: CellFlaw])[];
};

/** A formula without a result, an error value, a cell that a merged one covers. */
export type CellFlaw = "formula" | "error" | "merged";

/** What a spreadsheet would take for a formula, with any apostrophes that already stand before it. */
const formula = /^'*[=+\-@＝＋－＠]/;

/** Puts an apostrophe before what a spreadsheet would take for a formula; {@link unguardedCell} takes it off again. */
export function guardedCell(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}

export function unguardedCell(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell;
}

type CsvOptions = {
  /** Bytes of the longest record: an unclosed quote swallows the rest of a file. */
  readonly maxRecordBytes: number;
  /**
   * "strict" is RFC 4180, with LF or CRLF: a quote in the wrong place moves every cell behind it. "lenient" takes a
   * list as people write it: spaces around cells are dropped, a quote within a cell is one, any line end will do.
   */
  readonly rules: "strict" | "lenient";
  /** Whether lines end in CR alone, as old programs of the Macintosh write them. */
  readonly endsInCr?: boolean | undefined;
  /** The delimiter; a comma by default. */
  readonly delimiter?: Delimiter | undefined;
};

const parserRules = {
  // Some programs write the end of a line twice, as CR CR LF.
  strict: { record_delimiter: ["\r\r\n", "\r\n", "\n"] },
  lenient: { relax_quotes: true, trim: true },
};

/**
 * Reads CSV in UTF-8, with a byte order mark or without, as many records at a time as a piece of it completes. Rows may
 * be of different lengths; an empty line is a record of one empty cell.
 * @throws UnreadableError for a text that is no CSV, with the line at which the record begins; nothing of it is repeated
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
    // Lines are counted here, because the parser counts one that ends in CRLF within quotes twice. Nothing is handed
    // on through the stream: to iterate over it costs as much again as to parse.
    on_record(cells: string[]) {
      // DOS programs end a text with Ctrl-Z.
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

/** The parser's own messages repeat what it read, which may be a NIN. */
function csvError(error: unknown, line: number): unknown {
  const { code } = error as { code?: unknown };
  if (typeof code !== "string" || !/^CSV_|QUOTE/.test(code)) return error;
  if (code === "CSV_MAX_RECORD_SIZE")
    return new UnreadableError(line, "the row is too long; look for a quote that is not closed");
  return new UnreadableError(line, "the quotes of the row that begins here do not match");
}
