import { once } from "node:events";
import { parse } from "csv-parse";
import { UnreadableError } from "./fields.ts";
import type { Delimiter } from "./text.ts";

/** A row of a table: its cells, and the line on which it begins, the first one being 1. */
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

/**
 * A cell that no spreadsheet takes for a formula: an apostrophe before one makes it text there. {@link unguardedCell}
 * takes it off again, whatever the cell was.
 */
export function guardedCell(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}

export function unguardedCell(cell: string): string {
  return cell.charCodeAt(0) === apostrophe && formula.test(cell) ? cell.slice(1) : cell;
}

const apostrophe = 0x27;

type CsvOptions = {
  /** Bytes of the longest record: a quote that is not closed swallows the rest of a file. */
  readonly maxRecordBytes: number;
  /**
   * "strict" is RFC 4180, with LF or CRLF: a quote in the wrong place moves every cell behind it. "lenient" takes a
   * list as people write it: spaces around cells are dropped, a quote within a cell is one, any line end will do.
   */
  readonly rules: "strict" | "lenient";
  /** Whether lines end in CR alone, as old programs of the Macintosh write them. */
  readonly endsInCr?: boolean | undefined;
  /** What parts the cells; commas without it. */
  readonly delimiter?: Delimiter | undefined;
};

const rules = {
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
  options: CsvOptions,
): AsyncGenerator<TableRecord[]> {
  let records: TableRecord[] = [];
  let line = 1;
  const parser = parse({
    ...rules[options.rules],
    ...(options.endsInCr === true ? { record_delimiter: ["\r"] } : {}),
    delimiter: options.delimiter ?? ",",
    bom: true,
    relax_column_count: true,
    max_record_size: options.maxRecordBytes,
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
  const check = () => {
    if (failure != null) throw csvError(failure, line);
  };
  const taken = () => {
    const complete = records;
    records = [];
    return complete;
  };
  try {
    for await (const piece of pieces) {
      await new Promise((done) => parser.write(piece, done)).then(note);
      check();
      yield taken();
    }
    const ended = once(parser, "close");
    parser.end();
    parser.resume();
    await ended.catch(() => {});
    check();
    yield taken();
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
