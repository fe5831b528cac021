/**
 * Proposes a mapping for another system's file. Ambiguous columns, dates and words become questions and are never
 * guessed: a day that is read as a month would change the end of a licence (decision D7.12).
 */

import { certificateStatuses, teacherSources } from "../../partner/contract.ts";
import { asciiDigitsOf, holdsPersonalData, minPersonalDigits, redactPersonalData } from "../personal-data.ts";
import { classifyColumnName, findPersonNamePart, surnamePosition } from "./column-names.ts";
import { addCellToProfile, type ColumnProfile, createColumnProfile, valueTests } from "./column-profile.ts";
import { type TableRecord, unescapeFormula } from "./csv.ts";
import { columnOfField, type ImportField, UnreadableError } from "./fields.ts";
import { compileMapping, type Mapping } from "./mapping.ts";
import type { OpenedTable } from "./read.ts";
import { requiredFields } from "./rows.ts";
import type { AskOperator, MappingQuestion } from "./suggested-columns.ts";
import { chooseColumns, cleanColumnName, labelOf } from "./suggested-columns.ts";
import { addDateFormReason, proposeTranslations } from "./suggested-words.ts";
import {
  collapseWhitespace,
  findHeader,
  hasHeaderWidth,
  isTotalCell,
  maxCellLength,
  maxColumns,
  type RowsBelowHeader,
  readRowsBelowHeader,
  refuseCellFlaws,
  tooManyColumnsMessage,
} from "./table.ts";
import { maxHeaderLine } from "./text.ts";
import { readCertificateStatus, readLicenseStatus, readSource } from "./values.ts";

export type MappingSuggestion = Awaited<ReturnType<typeof suggestMapping>>;

const shownRows = 3;

/** All columns of a table (`profiles`), and the columns that were `chosen` for fields or are `parts` of the name. */
export type ColumnChoice = Pick<ReturnType<typeof chooseColumns>, "chosen" | "parts"> & {
  readonly profiles: readonly ColumnProfile[];
  readonly rows: number;
};

/**
 * Reads a whole table and proposes a mapping.
 * @param known options of the command, which are copied into the mapping
 * @throws UnreadableError if the table has no header or no rows
 */
export async function suggestMapping(
  table: OpenedTable,
  known: Pick<Mapping, "encoding" | "sheet"> & { readonly isEncodingGuessed?: boolean },
) {
  const { encoding, sheet } = known;
  const { beginning, header, profiles, first, rows, uneven, flawed } = await profileTable(table);
  const questions: MappingQuestion[] = [];
  const ask: AskOperator = (about, question) => void questions.push({ about, question });
  const { columns, ...choice } = chooseColumns(profiles, ask);
  const found: ColumnChoice = { ...choice, profiles, rows };
  const { chosen, parts } = found;
  const read = new Set([...chosen.values(), ...parts]);
  for (const record of flawed)
    refuseCellFlaws(record, (column) => read.has(profiles[column] as ColumnProfile));
  const { values, dates, why } = proposeTranslations(found, ask);
  askForName(found, ask);
  askForMissing(found, ask);
  if (known.isEncodingGuessed === true)
    ask("encoding", "the file is not UTF-8 and is read as windows-1252; if that is wrong, give --encoding");
  if (uneven.rows > 0) ask("rows", describeUneven(uneven));
  const fields = new Map([...chosen].map(([field, column]) => [column.name, columnOfField[field]]));
  for (const [index, column] of parts.entries()) fields.set(column.name, `name.${index + 1}`);
  const proposed: Mapping = {
    columns: Object.fromEntries(fields),
    ignore: profiles
      .filter((column) => !fields.has(column.name) && cleanColumnName(column) !== "")
      .map(({ name }) => name),
    values,
    constants: {},
    ...(dates === undefined ? {} : { dates }),
    ...(table.format === "csv" && table.delimiter !== "," ? { delimiter: table.delimiter } : {}),
    ...(encoding === undefined ? {} : { encoding }),
    ...(sheet === undefined ? {} : { sheet }),
    open: [...new Set(questions.map(({ about }) => about))],
  };
  // Names the header's line only if an import could not find the header. A later file may have another header line.
  const isFound = findHeader(beginning, compileMapping(proposed), true) === header;
  return {
    mapping: { ...proposed, ...(isFound ? {} : { header: header.line }) },
    columns: columns.map((one) => addDateFormReason(one, why)),
    questions,
    /** The first rows as an import would read them, without NINs, e-mail addresses and phone numbers. */
    rows: first.map((record) => showRow(record, found, proposed)),
  };
}

async function profileTable({ records: tables, format }: OpenedTable) {
  let found: Pick<RowsBelowHeader, "header" | "beginning"> | undefined;
  let profiles: ColumnProfile[] = [];
  const first: TableRecord[] = [];
  let rows = 0;
  let widths: Parameters<typeof hasHeaderWidth>[1] = { format, width: 0 };
  const uneven = { rows: 0, firstLine: 0 };
  const flawed: TableRecord[] = [];
  const add = (record: TableRecord) => {
    const { line, cells, flaws } = record;
    rows++;
    if (flaws !== undefined) flawed.push({ line, cells: [], flaws });
    const isEven = hasHeaderWidth(record, widths);
    if (!isEven && ++uneven.rows === 1) uneven.firstLine = line;
    if (first.length < shownRows) first.push(isEven ? record : { line, cells: [] });
    for (const [index, column] of profiles.entries())
      addCellToProfile(column, (cells[index] ?? "").slice(0, maxCellLength).trim(), line);
  };
  // Adds a row only when another row follows, because the last row may be a total.
  let last: TableRecord | undefined;
  for await (const { header, beginning, records } of readRowsBelowHeader(tables, likelyHeader)) {
    if (found === undefined) {
      if (header.cells.length > maxColumns) throw new UnreadableError(header.line, tooManyColumnsMessage);
      profiles = header.cells.map((cell, index) => createColumnProfile(collapseWhitespace(cell), index + 1));
      widths = { format, width: profiles.length };
      found = { header, beginning };
    }
    for (const record of records) {
      if (last !== undefined) add(last);
      last = record;
    }
  }
  if (last !== undefined && !last.cells.some(isTotalCell)) add(last);
  if (found === undefined || rows === 0) throw new UnreadableError(1, "there is no row below the header");
  return { ...found, profiles, first, rows, uneven, flawed };
}

/** Finds the header: the line with the most known column names or, if no line has two, with the most filled cells. */
function likelyHeader(records: readonly TableRecord[], isWhole: boolean): TableRecord | undefined {
  const [top] = records;
  if (top === undefined || !(isWhole || (records.at(-1)?.line ?? 0) > maxHeaderLine)) return undefined;
  const score = ({ cells }: TableRecord) =>
    cells.filter((cell) => classifyColumnName(cell.trim()).kind !== "unknown").length;
  const beginning = records.filter(({ line }) => line <= maxHeaderLine);
  const best = beginning.reduce((one, other) => (score(other) > score(one) ? other : one), top);
  if (score(best) >= 2) return best;
  const widths = beginning.map(({ cells }) => cells.filter((cell) => cell.trim() !== "").length);
  const widest = beginning[widths.indexOf(Math.max(...widths))] ?? top;
  const isPerson = widest.cells.some((cell) =>
    (["regNo", "nin", "email", "phone"] as const).some((field) => valueTests[field]?.fits(cell.trim())),
  );
  if (isPerson)
    throw new UnreadableError(
      widest.line,
      `none of the first ${maxHeaderLine} lines names the columns; put a header above the rows, as tvs teachers import --template prints it`,
    );
  return widest;
}

function describeUneven({ rows, firstLine }: { rows: number; firstLine: number }): string {
  const count = rows === 1 ? "1 row has" : `${rows} rows have`;
  const where = `the first in line ${firstLine}, and would be rejected`;
  return `${count} more or fewer cells than the header, ${where}; look there for a delimiter that is not inside quotes`;
}

/** Asks whether a name's parts are in the right order, and whether a column `name` lacks the surname. */
function askForName({ chosen, parts, profiles }: ColumnChoice, ask: AskOperator) {
  const whole = chosen.get("name");
  const joined = parts.map(labelOf).join(" and ");
  if (parts.length > 0)
    ask(
      "name",
      `the name is put together from ${joined}, in this order; if it is another, change the numbers of name.1 and name.2`,
    );
  const surname = profiles.find((column) => findPersonNamePart(column.name) === surnamePosition);
  if (whole !== undefined && surname !== undefined && !/full|whole|complete/i.test(whole.name))
    ask(
      "name",
      `${labelOf(surname)} is left out; if ${labelOf(whole)} lacks the surname, take them for name.1 and name.2`,
    );
}

function askForMissing({ chosen, parts }: ColumnChoice, ask: AskOperator) {
  for (const field of requiredFields.filter((one) => !chosen.has(one))) {
    if (field === "name" && parts.length > 0) continue;
    const values =
      field === "source" ? teacherSources : field === "certificateStatus" ? certificateStatuses : null;
    const question =
      values === null
        ? "no column was found for it, and no teacher can be without it"
        : `no column says it; if all rows have the same, give it in \`constants\`, one of ${values.join(", ")}`;
    ask(columnOfField[field], question);
  }
  if (!chosen.has("licenseExpiryDate"))
    ask(columnOfField.licenseExpiryDate, "no column was found for it, so that nobody would have a licence");
}

/** Fields of personal data, which `tvs teachers map` never prints. */
const unshown: ReadonlySet<ImportField> = new Set(["nin", "email", "phone"]);

function showRow({ cells }: TableRecord, { chosen, parts, profiles }: ColumnChoice, mapping: Mapping) {
  const { translationOf } = compileMapping(mapping);
  const fields = new Map([...chosen].map(([field, column]) => [column, field]));
  const row: Record<string, string> = {};
  const cellOf = (field: ImportField, column: ColumnProfile) => {
    const text = unescapeFormula((cells[column.position - 1] ?? "").trim());
    return translationOf(field)?.(text) ?? text;
  };
  const show = (field: ImportField, text: string) => {
    if (text !== "" && !unshown.has(field)) row[columnOfField[field]] = formatShownValue(field, text);
  };
  for (const column of profiles) {
    const field = fields.get(column);
    if (field !== undefined) show(field, cellOf(field, column));
  }
  if (parts.length > 0)
    show(
      "name",
      parts
        .map((column) => cellOf("name", column))
        .filter((part) => part !== "")
        .join(" "),
    );
  return row;
}

function formatShownValue(field: ImportField, text: string): string {
  const read = field in readers ? readers[field as keyof typeof readers](text) : null;
  // Shows words as the register would store them, such as VERIFIED for verified.
  const value = read !== null && "value" in read ? read.value : text;
  return field === "regNo" ? shownRegNo(value) : redactPersonalData(value);
}

/** Hides a registration number if a segment, or the whole of a number without letters, may be personal data. */
function shownRegNo(regNo: string): string {
  const isNumber =
    /[@＠﹫]/.test(regNo) ||
    regNo.split("/").some((part) => holdsPersonalData(part)) ||
    (!/\p{L}/u.test(regNo) && asciiDigitsOf(regNo).length >= minPersonalDigits && holdsPersonalData(regNo));
  return isNumber ? "[removed]" : regNo;
}

const readers = {
  source: readSource,
  certificateStatus: readCertificateStatus,
  licenseStatus: readLicenseStatus,
} as const;
