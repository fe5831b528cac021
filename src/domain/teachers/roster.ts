import type { LicenseStatus, Purpose, Reason } from "../../partner/contract.ts";
import type { TeacherReader } from "../../store/teachers.ts";
import { evaluateEligibility } from "../eligibility.ts";
import { TvsError } from "../errors.ts";
import { type TableRecord, unescapeFormula } from "../import/csv.ts";
import type { RejectionCode } from "../import/report.ts";
import { readNin, readRegNo, readTeacherId } from "../import/values.ts";
import type { ListEvaluationInput } from "../statements.ts";
import { echoedIdentifierOf, type Identifier, keyOfIdentifier } from "./identifier.ts";
import { foldName, maxComparedCharacters } from "./name-search.ts";
import { correctTypingErrors } from "./search-term.ts";
import { canonicalizeRegNo, type Teacher, type TeacherKey } from "./teachers.ts";

/** Why a row has no usable identifier. Imports use the codes of `RejectionCode` too, only lists use the other two. */
type RosterError = RejectionCode | "IDENTIFIER_MISSING" | "IDENTIFIERS_DISAGREE";

/** The result of one row, without a NIN: for a teacher found by NIN it has the registration number and teacher id. */
export type RosterRowResult = {
  /** The number of the file's line on which the row begins, from 1. */
  readonly line: number;
  readonly regNo: string | null;
  readonly tId: number | null;
  readonly found: boolean;
  readonly status: LicenseStatus | null;
  readonly eligible: boolean;
  readonly reasons: readonly Reason[];
  readonly name: string | null;
  /** Whether the listed name can be the registered name; null if the row has no name or no teacher was found. */
  readonly nameMatches: boolean | null;
  readonly error: RosterError | null;
};

const rosterColumns = ["reg_no", "t_id", "nin"] as const;
type RosterColumn = (typeof rosterColumns)[number];

export type RosterHeader = {
  /** The indexes of the columns that are read. */
  readonly positions: ReadonlyMap<RosterColumn | "name", number>;
  readonly width: number;
};

/** Reads a list's header. @throws TvsError INPUT_UNREADABLE without an identifying column, or with a column twice */
export function readRosterHeader(cells: readonly string[]): RosterHeader {
  const names = cells.map((cell) => cell.trim().toLowerCase());
  const positions = new Map<RosterColumn | "name", number>();
  for (const column of [...rosterColumns, "name"] as const) {
    const position = names.indexOf(column);
    if (position === -1) continue;
    if (names.lastIndexOf(column) !== position)
      throw new TvsError("INPUT_UNREADABLE", `the header names the column ${column} twice`);
    positions.set(column, position);
  }
  if (rosterColumns.some((column) => positions.has(column))) return { positions, width: cells.length };
  const message = `the first line must be a header, separated by commas, with a column ${rosterColumns.join(" or ")}`;
  throw new TvsError("INPUT_UNREADABLE", message);
}

export type RosterDependencies = ListEvaluationInput & { readonly purpose: Purpose };

/** A parsed row. `identifiers` has the order of `rosterColumns`, with an error code for each unusable identifier. */
type ParsedRow = {
  readonly line: number;
  readonly identifiers: readonly (Identifier | RosterError)[];
  readonly name: string;
};

export function readRosterRow({ line, cells }: TableRecord, { positions, width }: RosterHeader): ParsedRow {
  const cellOf = (column: RosterColumn | "name") => cells[positions.get(column) ?? -1]?.trim() ?? "";
  // Refuses surplus cells: an unquoted comma in a name moves the cells after the name into wrong columns.
  const isSurplus = cells.slice(width).some((cell) => cell !== "");
  const read = rosterColumns.flatMap((column) => {
    const text = cellOf(column);
    return text === "" ? [] : [readIdentifier(column, text)];
  });
  const identifiers = isSurplus ? ["COLUMN_COUNT" as const] : read;
  return { line, identifiers, name: unescapeFormula(cellOf("name")) };
}

/** Looks up the teacher of one row and checks the eligibility. Signs no attestation. */
export async function checkRosterRow(
  { line, identifiers, name: listed }: ParsedRow,
  dependencies: RosterDependencies,
): Promise<RosterRowResult> {
  const [key = "IDENTIFIER_MISSING", ...others] = identifiers.map((one) =>
    typeof one === "string" ? one : keyOfIdentifier(one, dependencies.blindIndex),
  );
  if (typeof key === "string") return { ...notFoundRow, line, error: key };
  const teacher = await dependencies.teachers.find(key);
  if (await namesAnother(teacher, others, dependencies.teachers))
    return { ...notFoundRow, line, error: "IDENTIFIERS_DISAGREE" };
  const { found, status, ...eligibility } = evaluateEligibility(teacher, dependencies);
  const verdict = applyNameCheck(eligibility, teacher, listed);
  const { regNo, tId, name } = teacher ?? { ...echoedIdentifierOf(key), name: null };
  return { line, found, status, error: null, ...verdict, regNo, tId, name };
}

/** Adds the comparison of names: a teacher who is listed under another name than the registered one is not eligible. */
export function applyNameCheck(
  { eligible, reasons }: { eligible: boolean; reasons: readonly Reason[] },
  teacher: Teacher | null,
  listed: string,
): { eligible: boolean; reasons: Reason[]; nameMatches: boolean | null } {
  const matches = teacher === null ? null : matchesRegisteredName(listed, teacher.name);
  if (matches !== false) return { eligible, reasons: [...reasons], nameMatches: matches };
  return { eligible: false, reasons: [...reasons, "NAME_DIFFERS"], nameMatches: matches };
}

const notFoundRow: Omit<RosterRowResult, "line" | "error"> = {
  ...{ regNo: null, tId: null, found: false, status: null },
  ...{ eligible: false, reasons: [], name: null, nameMatches: null },
};

/** Whether one of the row's further identifiers belongs to another teacher than the first identifier. */
async function namesAnother(
  teacher: Teacher | null,
  others: readonly (TeacherKey | RosterError)[],
  teachers: TeacherReader,
): Promise<boolean> {
  const keys = others.filter((key) => typeof key !== "string");
  const found = await Promise.all(keys.map((key) => teachers.find(key)));
  return found.some((other) => other !== null && other.id !== teacher?.id);
}

function readIdentifier(column: RosterColumn, text: string): Identifier | RosterError {
  if (column === "reg_no") {
    const read = readRegNo(canonicalizeRegNo(text) === null ? correctTypingErrors(text) : text);
    return "code" in read ? read.code : { regNo: read.value };
  }
  const read = column === "t_id" ? readTeacherId(text) : readNin(text);
  if ("code" in read) return read.code;
  if (read.value === null) return "IDENTIFIER_MISSING";
  return typeof read.value === "number" ? { tId: read.value } : { nin: read.value };
}

/** Computes the percentage of eligible rows, rounded down to one decimal. */
export function computeEligiblePercentage(eligible: number, rows: number): number {
  return rows === 0 ? 0 : Math.floor((eligible * 1000) / rows) / 10;
}

/**
 * Whether a listed name can be the registered name. Case, diacritics, spaces, hyphens and apostrophes are ignored. The
 * family name may be first or last, an initial matches a name, and middle names may be missing.
 * @returns null if the listed name is empty
 */
export function matchesRegisteredName(listed: string, registered: string): boolean | null {
  if (listed.length > maxComparedCharacters) return false;
  const given = partsOf(listed);
  if (given.length === 0) return null;
  const known = partsOf(registered);
  // Joins the parts too, because a double name may be written as one word.
  return ordersOf(given).some((parts) => haveAlikeParts(parts, known) || parts.join("") === known.join(""));
}

/** Splits a name into its parts. A family name before a comma is moved to the end. */
function partsOf(name: string): string[] {
  const comma = name.indexOf(",");
  const spoken = comma === -1 ? name : `${name.slice(comma + 1)} ${name.slice(0, comma)}`;
  return foldName(spoken)
    .split(" ")
    .filter((part) => part !== "");
}

/** Lists the possible orders of a name's parts: as written, first part last, and last part first. */
function ordersOf(parts: readonly string[]): string[][] {
  return [[...parts], [...parts.slice(1), ...parts.slice(0, 1)], [...parts.slice(-1), ...parts.slice(0, -1)]];
}

/** Whether first and last parts match, and the longer name contains the shorter one's middle parts in order. */
function haveAlikeParts(one: readonly string[], other: readonly string[]): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (short.length < 2) return long.length === short.length && isPartAlike(short[0], long[0]);
  if (!isPartAlike(short[0], long[0]) || !isPartAlike(short.at(-1), long.at(-1))) return false;
  const between = long.slice(1, -1);
  let at = 0;
  return short.slice(1, -1).every((part) => {
    while (at < between.length && !isPartAlike(part, between[at])) at++;
    return at++ < between.length;
  });
}

function isPartAlike(one = "", other = ""): boolean {
  if (one.length === 1 || other.length === 1) return one.charAt(0) === other.charAt(0);
  return one === other;
}
