/** Reads a table as the rows of an extract: finds its header, and the field of each column. */

import type { ExtractFindings, UnreadColumnTally } from "./arrival.ts";
import { countColumnWord, createUnreadColumnTally, findSimilarField, redactLabel } from "./arrival.ts";
import { type TableRecord, unescapeFormula } from "./csv.ts";
import type { ImportField, ImportFormat, RawRow } from "./fields.ts";
import { columnOfField, fieldOfColumnName, UnreadableError } from "./fields.ts";
import type { CellTranslator, CompiledMapping } from "./mapping.ts";
import type { RejectionCode } from "./report.ts";
import { requiredFields } from "./rows.ts";
import { type Delimiter, maxHeaderLine } from "./text.ts";

export type TableLayout = {
  readonly format: Exclude<ImportFormat, "ndjson">;
  /** The delimiter of CSV. Messages name it, and the search for missing quotes needs it. */
  readonly delimiter: Delimiter;
  /** The mapping; null if the columns have the register's own names. */
  readonly mapping: CompiledMapping | null;
};

export const tooManyColumnsMessage = "the row has more than 256 columns; remove what is no teacher's data";

type Column = {
  readonly field: ImportField | null;
  /** Which part of a person's name the column holds, from 1; null if the column holds a whole field. */
  readonly part: number | null;
  /** Counts the words of an unknown column, or of `license_status` without a mapping; null for other columns. */
  readonly unread: UnreadColumnTally | null;
  readonly translate: CellTranslator;
};
type Header = ReturnType<typeof readHeader>;

/** Finds a column's field by mapping, else by name. @returns null for an ignored column, undefined if unknown */
export function findField(name: string, mapping: CompiledMapping | null): ImportField | null | undefined {
  const mapped = mapping?.fieldOf(name);
  if (mapped !== undefined) return mapped;
  const field = fieldOfColumnName(name);
  // Accepts `license_status` only with an underscore: the words of another system's "Licence Status" need a mapping.
  return field === "licenseStatus" && !/^licen[cs]e_status$/i.test(name) ? undefined : field;
}

/**
 * Finds the header: the line that the mapping names, else the first line with two known columns, else the first line
 * that is not blank. Without a mapping's line, only the first twenty lines are searched.
 * @param isWhole whether `records` has all rows of the table
 * @returns undefined if the header may follow in rows that were not read yet
 */
export function findHeader(
  records: readonly TableRecord[],
  mapping: CompiledMapping | null,
  isWhole: boolean,
): TableRecord | undefined {
  const filled = records.filter(isFilled);
  const isPast = (line: number) => isWhole || (filled.at(-1)?.line ?? 0) > line;
  if (mapping?.header !== undefined) {
    const found = filled.find(({ line }) => line === mapping.header);
    const words = "the mapping says that the header is here, and the line is empty";
    if (found === undefined && isPast(mapping.header)) throw new UnreadableError(mapping.header, words);
    return found;
  }
  const known = (record: TableRecord) =>
    record.cells.filter((name) => findField(name.trim(), mapping) != null).length;
  const first = filled.find((record) => record.line <= maxHeaderLine && known(record) >= 2);
  return first ?? (isPast(maxHeaderLine) ? filled[0] : undefined);
}

export type RowsBelowHeader = {
  readonly header: TableRecord;
  /** The table's first rows, which include the header. */
  readonly beginning: readonly TableRecord[];
  /** The next rows below the header. */
  readonly records: readonly TableRecord[];
};

/**
 * Yields the rows below a table's header, without blank rows.
 * @param find finds the header among the first rows, or returns undefined if the header may follow in later rows
 * @param firstLine rows above this line are dropped, so that a long text above the table needs no memory
 * @throws UnreadableError if the table has no header
 */
export async function* readRowsBelowHeader(
  tables: AsyncIterable<readonly TableRecord[]>,
  find: (records: readonly TableRecord[], isWhole: boolean) => TableRecord | undefined,
  firstLine = 1,
): AsyncGenerator<RowsBelowHeader> {
  let beginning: TableRecord[] = [];
  let header: TableRecord | undefined;
  const below = (found: TableRecord) => {
    return { header: found, beginning, records: beginning.filter(({ line }) => line > found.line) };
  };
  for await (const all of tables) {
    const records = all.filter((record) => record.line >= firstLine && isFilled(record));
    if (header !== undefined) yield { header, beginning, records };
    else {
      beginning = beginning.concat(records);
      header = find(beginning, false);
      if (header !== undefined) yield below(header);
    }
  }
  if (header !== undefined) return;
  header = find(beginning, true);
  if (header === undefined) throw new UnreadableError(1, "the file holds no header");
  yield below(header);
}

/** Reads a table's rows. @throws UnreadableError if the header lacks a required column or has a column twice */
export async function* readTableRows(
  tables: AsyncIterable<readonly TableRecord[]>,
  layout: TableLayout,
  names: ExtractFindings,
): AsyncGenerator<RawRow[]> {
  const { mapping } = layout;
  const find = (records: readonly TableRecord[], isWhole: boolean) => findHeader(records, mapping, isWhole);
  let header: Header | undefined;
  let total: TableRecord | undefined;
  for await (const piece of readRowsBelowHeader(tables, find, mapping?.header)) {
    header ??= readHeader(piece.header, layout, names);
    const rows: RawRow[] = [];
    for (const record of piece.records) {
      // Holds back a row that looks like a total, which is a total only if no row follows.
      if (total !== undefined) rows.push(rowOf(total, header, layout));
      total = looksLikeTotal(record, header) ? record : undefined;
      if (total === undefined) rows.push(rowOf(record, header, layout));
    }
    yield rows;
  }
  if (total !== undefined) names.totals.push(total.line);
}

function isFilled({ cells, flaws }: TableRecord): boolean {
  return cells.some((cell) => cell.trim() !== "") || flaws?.some(([, flaw]) => flaw !== "merged") === true;
}

/** Whether a row looks like a total: a cell says so, and the registration number is missing. */
function looksLikeTotal({ cells }: TableRecord, { columns }: Header): boolean {
  const regNo = columns.findIndex(({ field }) => field === "regNo");
  const number = (cells[regNo] ?? "").trim();
  return (number === "" || isTotalCell(number)) && cells.some(isTotalCell);
}

export function isTotalCell(cell: string): boolean {
  return /^(?:grand|sub)?[\s-]*totals?\b/i.test(cell.trim().slice(0, 40));
}

function readHeader({ line, cells }: TableRecord, layout: TableLayout, names: ExtractFindings) {
  const { mapping, format, delimiter } = layout;
  const constants = mapping?.constants ?? [];
  if (cells.length > maxColumns) throw new UnreadableError(line, tooManyColumnsMessage);
  const columns = cells.map((cell, index): Column => {
    const name = collapseWhitespace(cell);
    const field = findField(name, mapping);
    const label = redactLabel(name, `column ${index + 1}`);
    if (field != null) names.fields.push(field);
    else if (field === undefined && (name !== "" || format === "csv"))
      names.unknown.push({ label, near: findSimilarField(name) });
    const isOwn = field === "licenseStatus" && mapping?.fieldOf(name) === undefined;
    const unread = field === undefined || isOwn ? createUnreadColumnTally(name, label, isOwn) : null;
    if (unread !== null) names.unread.push(unread);
    const translate = field == null ? null : (mapping?.translationOf(field) ?? null);
    return { field: field ?? null, part: mapping?.partOf(name) ?? null, unread, translate };
  });
  const fields = columns.map(({ field }) => field);
  const keys = columns.map(({ field, part }) => field && `${field} ${part}`);
  const twice = fields.find((field, index) => field !== null && keys.indexOf(keys[index] ?? "") !== index);
  const both = constants.find(([field]) => fields.includes(field));
  const refusal = (field: ImportField, why: string) =>
    new UnreadableError(line, `the header names the column ${columnOfField[field]}${why}`);
  if (twice != null) throw refusal(twice, " twice");
  if (both !== undefined) throw refusal(both[0], ", and the mapping gives it as a constant");
  for (const [field] of constants) names.fields.push(field);
  const absent = requiredFields
    .filter((field) => !names.fields.includes(field))
    .map((field) => columnOfField[field]);
  if (absent.length > 0) {
    const columns = absent.length === 1 ? "column" : "columns";
    const parted = format === "csv" ? `, separated by ${delimiterNames[delimiter]},` : "";
    const remedy = "tvs teachers map FILE proposes how another system's columns are read";
    const words = `the header${parted} lacks the required ${columns} ${absent.join(", ")}; ${remedy}`;
    throw new UnreadableError(line, words);
  }
  return { line, columns, constants, widths: { format, width: columns.length } as Widths };
}

export function collapseWhitespace(name: string): string {
  return name.trim().replace(/\s+/g, " ");
}

export const delimiterNames: Readonly<Record<Delimiter, string>> = {
  ",": "commas",
  ";": "semicolons",
  "\t": "tab characters",
  "|": "vertical bars",
};

/** Whether a cell holds the end of one row and the beginning of a later row, because each row lacks a quote. */
function spansRows(cell: string, index: number, columns: number, delimiter: Delimiter): boolean {
  if (!cell.includes("\n")) return false;
  const parts = (text: string) => text.split(delimiter).length - 1;
  const [first, last] = [cell.slice(0, cell.indexOf("\n")), cell.slice(cell.lastIndexOf("\n"))];
  return parts(first) === columns - 1 - index && parts(last) === index;
}

const flawWords = {
  formula: "formulas without results; open the file in a spreadsheet and save it there",
  error: "an error value such as #REF!; correct the cell in a spreadsheet and save the file",
  merged: "merged cells, of which one row alone has the value; split them in a spreadsheet and save the file",
} as const;

/** Refuses a cell whose value cannot be known, in a column that is read. @throws UnreadableError */
export function refuseCellFlaws(
  { line, flaws = [] }: TableRecord,
  isRead: (column: number) => boolean,
): void {
  const found = flaws.find(([column]) => isRead(column));
  if (found !== undefined)
    throw new UnreadableError(line, `column ${found[0] + 1} has ${flawWords[found[1]]}`);
}

export const maxCellLength = 32_767;
export const maxColumns = 256;

type Widths = Pick<TableLayout, "format"> & {
  readonly width: number;
  /** The number of empty cells that the first row has after the header's columns; undefined before the first row. */
  surplus?: number;
};

/** Whether a row fits the header. Workbook rows may be shorter. CSV rows may end with `surplus` extra empty cells. */
export function hasHeaderWidth({ cells }: TableRecord, widths: Widths): boolean {
  const { format, width } = widths;
  if (format !== "csv") return cells.length <= width;
  const isEmpty = cells.slice(width).every((cell) => cell.trim() === "");
  widths.surplus ??= isEmpty ? Math.max(0, cells.length - width) : 0;
  return isEmpty && cells.length === width + widths.surplus;
}

function rowOf(record: TableRecord, header: Header, { format, delimiter }: TableLayout): RawRow {
  const { line, cells } = record;
  const { columns, constants } = header;
  const row: Partial<Record<ImportField, string>> = {};
  const joined: string[] = [];
  const fault = (field: ImportField | null, code: RejectionCode): RawRow => {
    return { line, format, cells: {}, fault: { field, code, text: cells.join("\u001f") } };
  };
  refuseCellFlaws(record, (column) => columns[column]?.field != null);
  if (cells.some((cell) => cell.length > maxCellLength)) return fault(null, "CELL_TOO_LONG");
  if (!hasHeaderWidth(record, header.widths)) return fault(null, "COLUMN_COUNT");
  for (let index = 0; index < columns.length; index++) {
    const { field, part, unread, translate } = columns[index] as Column;
    const cell = cells[index] ?? "";
    if (format === "csv" && spansRows(cell, index, columns.length, delimiter))
      return fault(field, "ROWS_IN_A_CELL");
    if (unread !== null) countColumnWord(unread, unescapeFormula(cell.trim()));
    if (field === null) continue;
    const text = unescapeFormula(cell.trim());
    const value = translate === null ? text : translate(text);
    if (part === null) row[field] = value;
    else joined[part] = value;
  }
  if (joined.length > 0) row.name = joined.filter((part) => part !== undefined && part !== "").join(" ");
  for (const [field, value] of constants) row[field] = value;
  return { line, format, cells: row };
}
