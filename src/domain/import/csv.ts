import { once } from "node:events";
import { parse } from "csv-parse";
import { type ArrivedNames, nameLabel, nearField } from "./arrival.ts";
import { requiredFields } from "./columns.ts";
import {
  columnOfField,
  fieldNamed,
  type ImportField,
  maxRowLength,
  type RawRow,
  UnreadableError,
} from "./fields.ts";

/** A record of CSV: its cells, and the physical line on which it begins, the first one being 1. */
export type CsvRecord = { readonly line: number; readonly cells: readonly string[] };

/** What is wrong with a text that is no CSV, in the record that begins at a line. Nothing of the text is repeated. */
export class CsvError extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.name = "CsvError";
    this.line = line;
  }
}

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
};

const rules = {
  strict: { record_delimiter: ["\n", "\r\n"] },
  lenient: { relax_quotes: true, trim: true },
};

/**
 * Reads CSV in UTF-8, with a byte order mark or without, as many records at a time as a piece of it completes. Rows may
 * be of different lengths; an empty line is a record of one empty cell.
 * @throws CsvError
 */
export async function* readCsv(
  pieces: AsyncIterable<Uint8Array>,
  options: CsvOptions,
): AsyncGenerator<CsvRecord[]> {
  let records: CsvRecord[] = [];
  let line = 1;
  const parser = parse({
    ...rules[options.rules],
    bom: true,
    relax_column_count: true,
    max_record_size: options.maxRecordBytes,
    // Lines are counted here, because the parser counts one that ends in CRLF within quotes twice. Nothing is handed
    // on through the stream: to iterate over it costs as much again as to parse.
    on_record(cells: string[]) {
      records.push({ line, cells });
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
    return new CsvError(line, "the row is too long; look for a quote that is not closed");
  return new CsvError(line, "the quotes of the row that begins here do not match");
}

/**
 * Reads an extract in CSV, with a header that names the columns in any order.
 * @param bytes the file in pieces, UTF-8
 * @param names is added to
 * @throws UnreadableError, CsvError
 */
export async function* readCsvRows(
  bytes: AsyncIterable<Uint8Array>,
  names: ArrivedNames,
): AsyncGenerator<RawRow[]> {
  let header: Header | undefined;
  for await (const records of readCsv(bytes, { maxRecordBytes: maxRowLength, rules: "strict" })) {
    const rows: RawRow[] = [];
    for (const record of records) {
      if (isBlank(record.cells)) continue;
      if (header === undefined) header = readHeader(record, names);
      else rows.push(rowOf(record, header));
    }
    yield rows;
  }
  if (header === undefined) throw new UnreadableError(1, "the file holds no header");
}

/** Whether a row is blank: spreadsheets leave rows of commas behind. */
function isBlank(cells: readonly string[]): boolean {
  return cells.every((cell) => cell.trim() === "");
}

/** The field of each column; null for one that is not known. */
type Header = readonly (ImportField | null)[];

function readHeader({ line, cells }: CsvRecord, { fields: found, unknown }: ArrivedNames): Header {
  const names = cells.map((cell) => cell.trim());
  const fields = names.map((name) => fieldNamed(name) ?? null);
  const twice = fields.find((field, index) => field !== null && fields.indexOf(field) !== index);
  if (twice != null)
    throw new UnreadableError(line, `the header names the column ${columnOfField[twice]} twice`);
  const absent = requiredFields
    .filter((field) => !fields.includes(field))
    .map((field) => columnOfField[field]);
  if (absent.length > 0) {
    const columns = absent.length === 1 ? "column" : "columns";
    const message = `the header, separated by commas, lacks the required ${columns} ${absent.join(", ")}`;
    throw new UnreadableError(line, message);
  }
  for (const [index, name] of names.entries()) {
    const field = fields[index];
    if (field != null) found.push(field);
    else unknown.push({ label: nameLabel(name, `column ${index + 1}`), near: nearField(name) });
  }
  return fields;
}

/**
 * Whether a cell begins and ends as the rest of one row and the beginning of another do: where two rows lack a quote
 * each in one column, what lies between is a cell to every reader, and rows would be lost without a word.
 */
function holdsRows(cell: string, index: number, columns: number): boolean {
  if (!cell.includes("\n")) return false;
  const commas = (text: string) => text.split(",").length - 1;
  const [first, last] = [cell.slice(0, cell.indexOf("\n")), cell.slice(cell.lastIndexOf("\n"))];
  return commas(first) === columns - 1 - index && commas(last) === index;
}

function rowOf({ line, cells }: CsvRecord, fields: Header): RawRow {
  const row: Partial<Record<ImportField, string>> = {};
  if (cells.length !== fields.length) {
    return { line, format: "csv", cells: row, fault: { field: null, code: "COLUMN_COUNT" } };
  }
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index];
    if (holdsRows(cells[index] ?? "", index, fields.length)) {
      return { line, format: "csv", cells: {}, fault: { field: field ?? null, code: "ROWS_IN_A_CELL" } };
    }
    if (field != null) row[field] = unguardedCell((cells[index] ?? "").trim());
  }
  return { line, format: "csv", cells: row };
}
