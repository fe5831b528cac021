import { type CsvRecord, readCsv, unguardedCell } from "../csv.ts";
import { nameLabel, nearField, type UnknownName } from "./arrival.ts";
import {
  type ArrivedField,
  columnOfField,
  fieldNamed,
  type ImportField,
  maxRowLength,
  type RawRow,
  requiredFields,
  UnreadableError,
} from "./fields.ts";

type Header = { readonly fields: readonly (ImportField | null)[] };

/** Is told which fields the file brings, and once of each name that is not known. */
export type NameListener = {
  onField(field: ArrivedField): void;
  onUnknown(name: UnknownName): void;
};

/**
 * Reads an extract in CSV, with a header that names the columns in any order.
 * @param bytes the file in pieces, UTF-8
 * @throws UnreadableError, CsvError
 */
export async function* readCsvRows(
  bytes: AsyncIterable<Uint8Array>,
  listener: NameListener,
): AsyncGenerator<RawRow[]> {
  let header: Header | undefined;
  for await (const records of readCsv(bytes, { maxRecordBytes: maxRowLength, rules: "strict" })) {
    const rows: RawRow[] = [];
    for (const record of records) {
      if (isBlank(record.cells)) continue;
      if (header === undefined) header = readHeader(record, listener);
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

function readHeader({ line, cells }: CsvRecord, { onField, onUnknown }: NameListener): Header {
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
    if (field != null) onField(field);
    else onUnknown({ label: nameLabel(name, `column ${index + 1}`), near: nearField(name) });
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
    if (field != null) row[field] = unguardedCell((cells[index] ?? "").trim());
  }
  return { line, format: "csv", cells: row };
}
