import {
  columnOfField,
  type ImportField,
  importFields,
  maxRowLength,
  type RawRow,
  type RowSource,
  requiredFields,
  UnreadableError,
} from "./fields.ts";

type CsvRecord = { readonly line: number; readonly cells: readonly string[] };
type Header = { readonly fields: readonly (ImportField | null)[] };

/**
 * Reads CSV (RFC 4180) with LF or CRLF and a header that names the columns in any order.
 *
 * Half of an import's checking would be spent in a general parser, and the ones there are count lines
 * wrongly after a CRLF within quotes; this one knows commas and double quotes and nothing else. Quoting is
 * read strictly, because a quote in the wrong place moves every cell behind it.
 * @throws UnreadableError
 */
export async function* readCsvRows(source: RowSource): AsyncGenerator<RawRow[]> {
  let header: Header | undefined;
  for await (const records of readRecords(source.text)) {
    const rows: RawRow[] = [];
    for (const record of records) {
      if (isBlank(record.cells)) continue;
      if (header === undefined) header = readHeader(record, source.onUnknown);
      else rows.push(rowOf(record, header));
    }
    yield rows;
  }
  if (header === undefined) throw new UnreadableError(1, "the file holds no header");
}

/** Spreadsheets leave rows of commas behind. */
function isBlank(cells: readonly string[]): boolean {
  return cells.every((cell) => cell.trim() === "");
}

/** The records of a text that comes in pieces, as many at a time as are complete. */
async function* readRecords(pieces: AsyncIterable<string>): AsyncGenerator<CsvRecord[]> {
  let rest = "";
  let line = 1;
  for await (const piece of pieces) {
    const read = splitRecords(rest + piece, { line, final: false });
    ({ rest, line } = read);
    if (rest.length > maxRowLength)
      throw new UnreadableError(line, "the row is too long; look for a quote that is not closed");
    yield read.records;
  }
  if (rest !== "") yield splitRecords(rest, { line, final: true }).records;
}

/**
 * Splits off the complete records. What is left may be half a record, and is all there is if `final`.
 * @throws UnreadableError
 */
export function splitRecords(
  text: string,
  { line: firstLine, final }: { line: number; final: boolean },
): { records: CsvRecord[]; rest: string; line: number } {
  const records: CsvRecord[] = [];
  let line = firstLine;
  let start = 0;
  while (start < text.length) {
    const found = text.indexOf("\n", start);
    if (found === -1 && !final) break;
    const end = found === -1 ? text.length : found;
    const plain = text.slice(start, text[end - 1] === "\r" && end > start ? end - 1 : end);
    if (!plain.includes('"')) {
      records.push({ line, cells: plain.split(",") });
      line++;
      start = end + 1;
      continue;
    }
    const quoted = readQuoted(text, start, { line, final });
    if (quoted === null) break;
    records.push({ line, cells: quoted.cells });
    line += quoted.lines;
    start = quoted.next;
  }
  return { records, rest: text.slice(start), line };
}

type Cell = {
  readonly value: string /** Where the character behind the cell stands. */;
  readonly end: number;
};

/** A record with quotes in it. @returns null when the text ends before it does */
function readQuoted(
  text: string,
  start: number,
  place: { line: number; final: boolean },
): { cells: string[]; next: number; lines: number } | null {
  const cells: string[] = [];
  for (let at = start; ; ) {
    const cell = text[at] === '"' ? readQuotedCell(text, at, place) : readPlainCell(text, at, place);
    if (cell === null) return null;
    cells.push(cell.value);
    if (text[cell.end] === ",") {
      at = cell.end + 1;
      continue;
    }
    const next = cell.end + (text[cell.end] === "\r" ? 2 : 1);
    return {
      cells,
      next,
      lines: text.slice(start, next).split("\n").length - (text[next - 1] === "\n" ? 1 : 0),
    };
  }
}

function readPlainCell(
  text: string,
  start: number,
  { line, final }: { line: number; final: boolean },
): Cell | null {
  let end = start;
  while (end < text.length && text[end] !== "," && text[end] !== "\n") {
    if (text[end] === '"') throw new UnreadableError(line, badQuotes);
    end++;
  }
  if (end === text.length && !final) return null;
  const carriage = text[end] !== "," && text[end - 1] === "\r" && end > start;
  return {
    value: text.slice(start, carriage ? end - 1 : end),
    end: carriage && end < text.length ? end - 1 : end,
  };
}

function readQuotedCell(
  text: string,
  start: number,
  { line, final }: { line: number; final: boolean },
): Cell | null {
  let close = text.indexOf('"', start + 1);
  while (close !== -1 && text[close + 1] === '"') close = text.indexOf('"', close + 2);
  // A quote at the very end may be the first half of an escaped one, and a CR of a line end.
  const undecided = close === -1 || close + 2 >= text.length;
  if (undecided && !final) return null;
  if (close === -1) throw new UnreadableError(line, badQuotes);
  const end = close + 1;
  const closed =
    end >= text.length ||
    text[end] === "," ||
    text[end] === "\n" ||
    /^\r(\n|$)/.test(text.slice(end, end + 2));
  if (!closed) throw new UnreadableError(line, badQuotes);
  return { value: text.slice(start + 1, close).replaceAll('""', '"'), end };
}

const badQuotes = "the quotes of the row that begins here do not match";

function readHeader({ line, cells }: CsvRecord, onUnknown: (label: string) => void): Header {
  const names = cells.map((cell) => cell.trim().toLowerCase());
  const fields = names.map((name) => importFields.find((field) => columnOfField[field] === name) ?? null);
  const twice = names.find((name, index) => fields[index] !== null && names.indexOf(name) !== index);
  if (twice !== undefined) throw new UnreadableError(line, `the header names the column ${twice} twice`);
  const absent = requiredFields
    .filter((field) => !fields.includes(field))
    .map((field) => columnOfField[field]);
  if (absent.length > 0) {
    const columns = absent.length === 1 ? "column" : "columns";
    const message = `the header, separated by commas, lacks the required ${columns} ${absent.join(", ")}`;
    throw new UnreadableError(line, message);
  }
  for (const [index, field] of fields.entries()) {
    // What stands there may be anything, a person's data in a file without a header for example.
    if (field === null)
      onUnknown(
        /^[a-z][a-z_]{0,39}$/.test(names[index] ?? "") ? (names[index] ?? "") : `column ${index + 1}`,
      );
  }
  return { fields };
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

function rowOf({ line, cells }: CsvRecord, { fields }: Header): RawRow {
  const row: Partial<Record<ImportField, string>> = {};
  if (cells.length !== fields.length) {
    return { line, format: "csv", cells: row, fault: { field: null, code: "COLUMN_COUNT" } };
  }
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index];
    if (holdsRows(cells[index] ?? "", index, fields.length)) {
      return { line, format: "csv", cells: {}, fault: { field: field ?? null, code: "ROWS_IN_A_CELL" } };
    }
    if (field != null) row[field] = (cells[index] ?? "").trim();
  }
  return { line, format: "csv", cells: row };
}
