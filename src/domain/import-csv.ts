import { pipeline, Readable } from "node:stream";
import { parse } from "csv-parse";
import { columnOfField, type ImportField, importFields, type RawRow, requiredFields } from "./import-fields.ts";
import { maxRowBytes, type RowSource, UnreadableError } from "./import-source.ts";

type Line = { readonly line: number; readonly cells: readonly string[] };
type Header = { readonly fields: readonly (ImportField | null)[] };

/**
 * Reads CSV (RFC 4180): UTF-8 with or without a mark, LF or CRLF, a header that names the columns in any
 * order. Quoting is read strictly, because a quote in the wrong place moves every cell behind it.
 * @throws UnreadableError
 */
export async function* readCsvRows(source: RowSource): AsyncGenerator<RawRow> {
  let header: Header | undefined;
  for await (const { line, cells } of readLines(source.bytes)) {
    if (isBlank(cells)) continue;
    if (header === undefined) header = readHeader({ line, cells }, source.onUnknown);
    else yield rowOf({ line, cells }, header);
  }
  if (header === undefined) throw new UnreadableError(1, "the file holds no header");
}

/**
 * The parser's own count of lines is off after a CRLF within quotes, so they are counted here. Its
 * messages repeat what it read, so only the place is passed on.
 */
async function* readLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let nextLine = 1;
  // Where the rows begin that are parsed and not yet read: the parser is ahead by what it buffers.
  const begins: number[] = [];
  const parser = parse({
    bom: true,
    relax_column_count: true,
    record_delimiter: ["\r\n", "\n", "\r"],
    max_record_size: maxRowBytes,
    on_record(cells) {
      begins.push(nextLine);
      nextLine += 1 + cells.reduce((sum, cell) => sum + lineBreaks(cell), 0);
      return cells;
    },
  });
  try {
    // A failure of the input ends the parser too, which hands it on to whoever reads the rows.
    const records: AsyncIterable<string[]> = pipeline(Readable.from(bytes, { objectMode: false }), parser, () => {});
    for await (const cells of records) yield { line: begins.shift() ?? nextLine, cells };
  } catch (error) {
    const code = String((error as { code?: unknown } | null)?.code ?? "");
    if (!/^(CSV_|INVALID_)/.test(code)) throw error;
    const message = code === "CSV_MAX_RECORD_SIZE" ? "the row is too long; look for a quote that is not closed" : badQuotes;
    throw new UnreadableError(nextLine, message);
  }
}

const badQuotes = "the quotes of the row that begins here do not match";

/** Spreadsheets leave rows of commas behind. */
function isBlank(cells: readonly string[]): boolean {
  return cells.every((cell) => cell.trim() === "");
}

function lineBreaks(cell: string): number {
  if (!cell.includes("\n") && !cell.includes("\r")) return 0;
  return cell.match(/\r\n|\r|\n/g)?.length ?? 0;
}

function readHeader({ line, cells }: Line, onUnknown: (label: string) => void): Header {
  const names = cells.map((cell) => cell.trim().toLowerCase());
  const fields = names.map((name) => importFields.find((field) => columnOfField[field] === name) ?? null);
  const twice = names.find((name, index) => fields[index] !== null && names.indexOf(name) !== index);
  if (twice !== undefined) throw new UnreadableError(line, `the header names the column ${twice} twice`);
  const absent = requiredFields.filter((field) => !fields.includes(field)).map((field) => columnOfField[field]);
  if (absent.length > 0) {
    const message = `the header, separated by commas, lacks the required column ${absent.join(", ")}`;
    throw new UnreadableError(line, message);
  }
  for (const [index, field] of fields.entries()) {
    // What stands there may be anything, a person's data in a file without a header for example.
    if (field === null) onUnknown(/^[a-z][a-z_]{0,39}$/.test(names[index] ?? "") ? (names[index] ?? "") : `column ${index + 1}`);
  }
  return { fields };
}

function rowOf({ line, cells }: Line, { fields }: Header): RawRow {
  const row: Partial<Record<ImportField, string>> = {};
  if (cells.length !== fields.length) {
    return { line, format: "csv", cells: row, fault: { field: null, code: "COLUMN_COUNT" } };
  }
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index];
    if (field != null) row[field] = (cells[index] ?? "").trim();
  }
  return { line, format: "csv", cells: row };
}
