/**
 * Proposes a mapping for another system's file. Ambiguous columns, dates and words become questions and are never
 * guessed: a day that is read as a month would change the end of a licence (decision D7.12).
 */

import { certificateStatuses, sources } from "../../partner/contract.ts";
import { digitsOf, holdsPersonalData, personalDigits, withoutPersonalData } from "../personal-data.ts";
import { classifyColumnName, findNamePart, surnamePosition } from "./column-names.ts";
import { addCell, type ColumnProfile, newProfile, valueKinds } from "./column-profile.ts";
import type { TableRecord } from "./csv.ts";
import { columnOfField, type ImportField, normalizeName, type RawRow, UnreadableError } from "./fields.ts";
import { compileMapping, type Mapping } from "./mapping.ts";
import type { OpenedTable } from "./read.ts";
import { requiredFields } from "./rows.ts";
import {
  type Ask,
  type Chosen,
  chooseColumns,
  plainColumnName,
  type Question,
  toLabel,
} from "./suggested-columns.ts";
import {
  addDateReason,
  askForDateFields,
  askForEncoding,
  askForRevoked,
  askForStatuses,
  askForTexts,
  chooseDates,
  chooseNoDateValues,
  chooseWords,
} from "./suggested-words.ts";
import {
  type BelowHeader,
  findHeader,
  isTotal,
  joinLines,
  maxCellLength,
  maxColumns,
  readBelowHeader,
  readTable,
  refuseFlaws,
  tooManyColumns,
} from "./table.ts";
import { headerLines } from "./text.ts";
import { readCertificateStatus, readLicenseStatus, readSource } from "./values.ts";

export type Suggestion = Awaited<ReturnType<typeof suggestMapping>>;

const shownRows = 3;
/** Maximum rows with more or fewer cells than the header that are examined. */
const maxUneven = 100;

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
  const { beginning, header, profiles, first, rows, uneven, flawed } = await profile(table);
  const questions: Question[] = [];
  const ask: Ask = (about, question) => void questions.push({ about, question });
  const { chosen, parts, columns } = chooseColumns(profiles, ask);
  const read = new Set([...chosen.values(), ...parts]);
  for (const record of flawed) refuseFlaws(record, (column) => read.has(profiles[column] as ColumnProfile));
  const { dates, why } = chooseDates(chosen, ask);
  const values = merged(
    chooseWords(chosen, profiles, ask),
    chooseNoDateValues(chosen, ask),
    askForTexts(chosen, parts, ask),
  );
  askForStatuses(chosen, profiles, ask);
  askForRevoked(chosen, rows, ask);
  askForDateFields(chosen, profiles, ask);
  askForName(chosen, parts, profiles, ask);
  askForMissing(chosen, parts, ask);
  if (known.isEncodingGuessed === true) askForEncoding(chosen, parts, ask);
  const fields = new Map([...chosen].map(([field, column]) => [column.name, columnOfField[field]]));
  for (const [index, column] of parts.entries()) fields.set(column.name, `name.${index + 1}`);
  const proposed: Mapping = {
    columns: Object.fromEntries(fields),
    ignore: profiles
      .filter((column) => !fields.has(column.name) && plainColumnName(column) !== "")
      .map(({ name }) => name),
    values,
    constants: {},
    ...(dates === undefined ? {} : { dates }),
    ...(table.format === "csv" && table.delimiter !== "," ? { delimiter: table.delimiter } : {}),
    ...(encoding === undefined ? {} : { encoding }),
    ...(sheet === undefined ? {} : { sheet }),
    open: [],
  };
  // The first row is included: from it `readTable` learns whether every row has more empty cells than the header.
  const [top] = first;
  const records = [...first.slice(0, 1), ...uneven.filter(({ line }) => line !== top?.line)];
  if (uneven.length > 0) await askForUneven(table, { header, records, mapping: proposed }, ask);
  const open = [...new Set(questions.map(({ about }) => about))];
  // Sets `header` only if an import would not find the header itself: in the next file it may be on another line.
  const isFound = findHeader(beginning, compileMapping(proposed), true) === header;
  const mapping = { ...proposed, open, ...(isFound ? {} : { header: header.line }) };
  return {
    mapping,
    columns: columns.map((one) => addDateReason(one, why)),
    questions,
    /** The first rows as an import would read them, without NINs, e-mail addresses and phone numbers. */
    rows: await showRows(table, { header, records: first, mapping }),
  };
}

function merged(...all: readonly Mapping["values"][]): Mapping["values"] {
  const values: Mapping["values"] = {};
  for (const [field, words] of all.flatMap((one) => Object.entries(one)))
    values[field] = { ...values[field], ...words };
  return values;
}

async function profile(table: OpenedTable) {
  let found: Pick<BelowHeader, "header" | "beginning"> | undefined;
  let profiles: ColumnProfile[] = [];
  const first: TableRecord[] = [];
  let rows = 0;
  const uneven: TableRecord[] = [];
  const flawed: TableRecord[] = [];
  const add = ({ line, cells, flaws }: TableRecord) => {
    rows++;
    if (flaws !== undefined) flawed.push({ line, cells: [], flaws });
    if (cells.length !== profiles.length && uneven.length < maxUneven) uneven.push({ line, cells });
    if (first.length < shownRows) first.push({ line, cells });
    for (const [index, column] of profiles.entries())
      addCell(column, (cells[index] ?? "").slice(0, maxCellLength).trim(), line);
  };
  // Holds back the last row, which may be a total.
  let last: TableRecord | undefined;
  for await (const { header, beginning, records } of readBelowHeader(table.records, likelyHeader)) {
    if (found === undefined) {
      if (header.cells.length > maxColumns) throw new UnreadableError(header.line, tooManyColumns);
      profiles = header.cells.map((cell, index) => newProfile(joinLines(cell), index + 1));
      found = { header, beginning };
    }
    for (const record of records) {
      if (last !== undefined) add(last);
      last = record;
    }
  }
  if (last !== undefined && !last.cells.some(isTotal)) add(last);
  if (found === undefined || first.length === 0)
    throw new UnreadableError(1, "there is no row below the header");
  return { ...found, profiles, first, rows, uneven, flawed };
}

/** Chooses as header the line with most known column names; if no line has two, the line with most cells. */
function likelyHeader(records: readonly TableRecord[], isWhole: boolean): TableRecord | undefined {
  const [top] = records;
  if (top === undefined || !(isWhole || (records.at(-1)?.line ?? 0) > headerLines)) return undefined;
  const score = ({ cells }: TableRecord) =>
    cells.filter((cell) => classifyColumnName(cell.trim()).kind !== "unknown").length;
  const beginning = records.filter(({ line }) => line <= headerLines);
  const best = beginning.reduce((one, other) => (score(other) > score(one) ? other : one), top);
  if (score(best) >= 2) return best;
  const widths = beginning.map(({ cells }) => cells.filter((cell) => cell.trim() !== "").length);
  const widest = beginning[widths.indexOf(Math.max(...widths))] ?? top;
  const isPerson = widest.cells.some((cell) =>
    (["regNo", "nin", "email", "phone"] as const).some((field) => valueKinds[field]?.fits(cell.trim())),
  );
  if (isPerson)
    throw new UnreadableError(
      widest.line,
      `none of the first ${headerLines} lines names the columns; put a header above the rows, as tvs teachers import --template prints it`,
    );
  return widest;
}

async function askForUneven(
  table: OpenedTable,
  sample: Parameters<typeof readSample>[1],
  ask: Ask,
): Promise<void> {
  const rejected = (await readSample(table, sample)).filter(({ fault }) => fault?.code === "COLUMN_COUNT");
  const [first] = rejected;
  if (first === undefined) return;
  const many = rejected.length === maxUneven ? `${maxUneven} rows or more` : `${rejected.length} rows`;
  const count = rejected.length === 1 ? "1 row has" : `${many} have`;
  const where = `the first in line ${first.line}, and would be rejected`;
  ask(
    "rows",
    `${count} more or fewer cells than the header, ${where}; look there for a delimiter that is not inside quotes`,
  );
}

/** Asks whether a name's parts are in the right order, and whether a column `name` lacks the surname. */
function askForName(
  chosen: Chosen,
  parts: readonly ColumnProfile[],
  profiles: readonly ColumnProfile[],
  ask: Ask,
) {
  const whole = chosen.get("name");
  const joined = parts.map(toLabel).join(" and ");
  if (parts.length > 0)
    ask(
      "name",
      `the name is put together from ${joined}, in this order; if it is another, change the numbers of name.1 and name.2`,
    );
  const surname = profiles.find((column) => findNamePart(column.name) === surnamePosition);
  if (whole !== undefined && surname !== undefined && !/full|whole|complete/i.test(whole.name))
    ask(
      "name",
      `${toLabel(surname)} is left out; if ${toLabel(whole)} lacks the surname, take them for name.1 and name.2`,
    );
}

function askForMissing(chosen: Chosen, parts: readonly ColumnProfile[], ask: Ask) {
  for (const field of requiredFields.filter((one) => !chosen.has(one))) {
    if (field === "name" && parts.length > 0) continue;
    const values = field === "source" ? sources : field === "certificateStatus" ? certificateStatuses : null;
    const question =
      values === null
        ? "no column was found for it, and no teacher can be without it"
        : `no column says it; if all rows have the same, give it in \`constants\`, one of ${values.join(", ")}`;
    ask(columnOfField[field], question);
  }
  if (!chosen.has("licenseExpiryDate"))
    ask(columnOfField.licenseExpiryDate, "no column was found for it, so that nobody would have a licence");
}

/** Personal fields, which `tvs teachers map` never prints. */
const unshown: ReadonlySet<string> = new Set(["nin", "email", "phone"]);

type Sample = {
  readonly header: TableRecord;
  readonly records: readonly TableRecord[];
  readonly mapping: Mapping;
};

async function showRows(table: OpenedTable, sample: Sample): Promise<Record<string, string>[]> {
  const rows = await readSample(table, sample);
  return rows.map(({ cells }) =>
    Object.fromEntries(
      Object.entries(cells)
        .filter(([field, value]) => !unshown.has(field) && value !== "")
        .map(([field, value]) => [columnOfField[field as ImportField], shown(field, value)]),
    ),
  );
}

/** Reads rows of a table as an import would, even if the mapping has open questions. */
async function readSample(
  { format, delimiter }: OpenedTable,
  { header, records, mapping }: Sample,
): Promise<RawRow[]> {
  const compiled = compileMapping({ ...mapping, header: header.line });
  const unused = { fields: [], unknown: [], totals: [], unread: [] };
  // Blanks the second column of a name, because `readTable` refuses a header with a name twice.
  const normalizedNames = header.cells.map(normalizeName);
  const names = header.cells.map((name, at) =>
    normalizedNames.indexOf(normalizeName(name)) === at ? name : "",
  );
  const found = new Set(names.map((name) => compiled.fieldOf(name.trim())));
  const missing = requiredFields.filter((field) => !found.has(field));
  const filled = { ...compiled, constants: missing.map((field) => [field, ""] as const) };
  const pieces = (async function* () {
    yield [{ ...header, cells: names }, ...records];
  })();
  const rows = readTable(pieces, { format, delimiter, mapping: filled }, unused);
  return (await Array.fromAsync(rows)).flat();
}

function shown(field: string, text: string): string {
  const read = field in readers ? readers[field as keyof typeof readers](text) : null;
  // Shows words as the register would store them, such as VERIFIED for verified.
  const value = read !== null && "value" in read ? read.value : text;
  return field === "regNo" ? shownRegNo(value) : withoutPersonalData(value);
}

/** Hides a registration number that may be personal data, in a segment or, without letters, as a whole. */
function shownRegNo(regNo: string): string {
  const isNumber =
    /[@＠﹫]/.test(regNo) ||
    regNo.split("/").some((part) => holdsPersonalData(part)) ||
    (!/\p{L}/u.test(regNo) && digitsOf(regNo).length >= personalDigits && holdsPersonalData(regNo));
  return isNumber ? "[removed]" : regNo;
}

const readers = {
  source: readSource,
  certificateStatus: readCertificateStatus,
  licenseStatus: readLicenseStatus,
} as const;
