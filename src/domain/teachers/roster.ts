import type { LicenseStatus, Purpose, Reason } from "../../partner/contract.ts";
import type { TeacherReader } from "../../store/teachers.ts";
import { eligibilityResult } from "../eligibility.ts";
import { TvsError } from "../errors.ts";
import { unguardedCell } from "../import/csv.ts";
import type { RejectionCode } from "../import/report.ts";
import { readNin, readRegNo, readTId } from "../import/values.ts";
import type { EvaluationContext, ListRequest } from "../statements.ts";
import { askedNumber, type Identifier, keyOf } from "./identifier.ts";
import { foldedName, maxNameRead } from "./name-search.ts";
import { meantTerm } from "./search-term.ts";
import { canonicalRegNo, type Teacher, type TeacherKey } from "./teachers.ts";

/** Why a row has no usable identifier: a code of imports, or one of its own. */
type RosterError = RejectionCode | "IDENTIFIER_MISSING" | "IDENTIFIERS_DISAGREE";

/** The answer to one row. For a NIN it has the record's registration number and teacher id, and not the NIN. */
export type RosterRow = {
  /** The physical line; the header is line 1. */
  readonly line: number;
  readonly regNo: string | null;
  readonly tId: number | null;
  readonly found: boolean;
  readonly status: LicenseStatus | null;
  readonly eligible: boolean;
  readonly reasons: readonly Reason[];
  readonly name: string | null;
  /** Whether the listed name can be the registered one; null without a listed name or a teacher. */
  readonly nameMatches: boolean | null;
  readonly error: RosterError | null;
};

const rosterColumns = ["reg_no", "t_id", "nin"] as const;
type RosterColumn = (typeof rosterColumns)[number];

export type RosterHeader = {
  /** The positions of the columns that are read, from 0. */
  readonly positions: ReadonlyMap<RosterColumn | "name", number>;
  readonly width: number;
};

/** @throws TvsError INPUT_UNREADABLE for a header without an identifying column, or with a column twice */
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

export type RosterDependencies = EvaluationContext & { readonly purpose: Purpose };

/** Looks up one row of a list and checks the eligibility, without an attestation. */
export async function checkRosterRow(
  cells: readonly string[],
  { header, line }: { header: RosterHeader; line: number },
  dependencies: RosterDependencies,
): Promise<RosterRow> {
  const named = readIdentifiers(cells, header);
  const keys = named.map((one) => (typeof one === "string" ? one : keyOf(one, dependencies.blindIndex)));
  const [key = "IDENTIFIER_MISSING"] = keys;
  if (typeof key === "string") return { ...nobody, line, error: key };
  const teacher = await dependencies.teachers.find(key);
  if (await namesAnother(teacher, keys.slice(1), dependencies.teachers))
    return { ...nobody, line, error: "IDENTIFIERS_DISAGREE" };
  const { found, status, ...eligibility } = eligibilityResult(teacher, dependencies);
  const answer = { line, found, status, error: null };
  const verdict = listedVerdict(eligibility, teacher, listedName(cells, header));
  if (teacher === null) return { ...answer, ...verdict, ...askedNumber(key), name: null };
  const { regNo, tId, name } = teacher;
  return { ...answer, ...verdict, regNo, tId, name };
}

/** Adds the check of the listed name: a teacher under another name than the registered one is not eligible. */
export function listedVerdict(
  { eligible, reasons }: { eligible: boolean; reasons: readonly Reason[] },
  teacher: Teacher | null,
  listed: string,
): { eligible: boolean; reasons: Reason[]; nameMatches: boolean | null } {
  const matches = teacher === null ? null : nameMatches(listed, teacher.name);
  if (matches !== false) return { eligible, reasons: [...reasons], nameMatches: matches };
  return { eligible: false, reasons: [...reasons, "NAME_DIFFERS"], nameMatches: matches };
}

function listedName(cells: readonly string[], { positions }: RosterHeader): string {
  return unguardedCell(cells[positions.get("name") ?? -1]?.trim() ?? "");
}

/** Reads one row for a statement over the list; null for a row in which {@link checkRosterRow} finds an error. */
export function listedTeacher(
  cells: readonly string[],
  header: RosterHeader,
): ListRequest["teachers"][number] | null {
  const [identifier = "IDENTIFIER_MISSING"] = readIdentifiers(cells, header);
  return typeof identifier === "string" ? null : { identifier, name: listedName(cells, header) || null };
}

const nobody: Omit<RosterRow, "line" | "error"> = {
  ...{ regNo: null, tId: null, found: false, status: null },
  ...{ eligible: false, reasons: [], name: null, nameMatches: null },
};

/** Whether another identifier of the row belongs to another teacher. */
async function namesAnother(
  teacher: Teacher | null,
  others: readonly (TeacherKey | RosterError)[],
  teachers: TeacherReader,
): Promise<boolean> {
  const keys = others.filter((key) => typeof key !== "string");
  const found = await Promise.all(keys.map((key) => teachers.find(key)));
  return found.some((other) => other !== null && other.id !== teacher?.id);
}

/** Reads the filled identifiers of a row; the first one counts. */
function readIdentifiers(cells: readonly string[], header: RosterHeader): (Identifier | RosterError)[] {
  // A comma in a name without quotes shifts the cells after it into wrong columns.
  if (cells.slice(header.width).some((cell) => cell !== "")) return ["COLUMN_COUNT"];
  return rosterColumns.flatMap((column) => {
    const text = cells[header.positions.get(column) ?? -1]?.trim() ?? "";
    return text === "" ? [] : [readIdentifier(column, text)];
  });
}

function readIdentifier(column: RosterColumn, text: string): Identifier | RosterError {
  if (column === "reg_no") {
    const read = readRegNo(canonicalRegNo(text) === null ? meantTerm(text) : text);
    return "code" in read ? read.code : { regNo: read.value };
  }
  const read = column === "t_id" ? readTId(text) : readNin(text);
  if ("code" in read) return read.code;
  if (read.value === null) return "IDENTIFIER_MISSING";
  return typeof read.value === "number" ? { tId: read.value } : { nin: read.value };
}

/** The share of eligible rows in percent, rounded down to one decimal. */
export function percentageOf(eligible: number, rows: number): number {
  return rows === 0 ? 0 : Math.floor((eligible * 1000) / rows) / 10;
}

/**
 * Whether a listed name can be the registered one. Case, diacritics, spaces, hyphens, apostrophes and the order are
 * ignored, an initial matches a name, and names between the first and the last may be missing.
 * @returns null for an empty name
 */
export function nameMatches(listed: string, registered: string): boolean | null {
  if (listed.length > maxNameRead) return false;
  const given = partsOf(listed);
  if (given.length === 0) return null;
  const known = partsOf(registered);
  // A double name may be one word.
  return orders(given).some((parts) => areAlike(parts, known) || parts.join("") === known.join(""));
}

/** The parts of a name, with the family name before a comma moved to the end. */
function partsOf(name: string): string[] {
  const comma = name.indexOf(",");
  const spoken = comma === -1 ? name : `${name.slice(comma + 1)} ${name.slice(0, comma)}`;
  return foldedName(spoken)
    .split(" ")
    .filter((part) => part !== "");
}

/** The name as written, and with the family name moved to the other end. */
function orders(parts: readonly string[]): string[][] {
  return [[...parts], [...parts.slice(1), ...parts.slice(0, 1)], [...parts.slice(-1), ...parts.slice(0, -1)]];
}

/** Whether the first and last parts agree, and the longer name has the middle parts of the shorter one in order. */
function areAlike(one: readonly string[], other: readonly string[]): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (short.length < 2) return long.length === short.length && isAlike(short[0], long[0]);
  if (!isAlike(short[0], long[0]) || !isAlike(short.at(-1), long.at(-1))) return false;
  const between = long.slice(1, -1);
  let at = 0;
  return short.slice(1, -1).every((part) => {
    while (at < between.length && !isAlike(part, between[at])) at++;
    return at++ < between.length;
  });
}

function isAlike(one = "", other = ""): boolean {
  if (one.length === 1 || other.length === 1) return one.charAt(0) === other.charAt(0);
  return one === other;
}
