import type { LicenseStatus, Purpose, Reason } from "../../partner/contract.ts";
import type { TeacherReader } from "../../store/teachers.ts";
import { eligibilityResult } from "../eligibility.ts";
import { TvsError } from "../errors.ts";
import { unguardedCell } from "../import/csv.ts";
import type { RejectionCode } from "../import/report.ts";
import { readNin, readRegNo, readTId } from "../import/values.ts";
import type { AskedList, Evaluation } from "../statements.ts";
import { askedNumber, type Identifier, keyOf } from "./identifier.ts";
import { foldedName, maxNameRead } from "./name-search.ts";
import { meantTerm } from "./search-term.ts";
import { canonicalRegNo, type Teacher, type TeacherKey } from "./teachers.ts";

/** Why a row names nobody that could be looked up, with the code of an import where it has one. */
type RosterError = RejectionCode | "IDENTIFIER_MISSING" | "IDENTIFIERS_DISAGREE";

/** One row's answer. A row that was looked up by NIN shows the record's own numbers, never the NIN. */
export type RosterRow = {
  /** The physical line, the header being 1. */
  readonly line: number;
  readonly regNo: string | null;
  readonly tId: number | null;
  readonly found: boolean;
  readonly status: LicenseStatus | null;
  readonly eligible: boolean;
  readonly reasons: readonly Reason[];
  readonly name: string | null;
  /** Whether the listed name can be the registered one; null where none is listed or nobody was found. */
  readonly nameMatches: boolean | null;
  readonly error: RosterError | null;
};

const rosterColumns = ["reg_no", "t_id", "nin"] as const;
type RosterColumn = (typeof rosterColumns)[number];

/** Where each identifying column and the names stand, and how many columns there are. */
export type RosterHeader = {
  readonly places: ReadonlyMap<RosterColumn | "name", number>;
  readonly width: number;
};

/** @throws TvsError INPUT_UNREADABLE when no column identifies a teacher, or one does twice */
export function readRosterHeader(cells: readonly string[]): RosterHeader {
  const names = cells.map((cell) => cell.trim().toLowerCase());
  const places = new Map<RosterColumn | "name", number>();
  for (const column of [...rosterColumns, "name"] as const) {
    const place = names.indexOf(column);
    if (place === -1) continue;
    if (names.lastIndexOf(column) !== place)
      throw new TvsError("INPUT_UNREADABLE", `the header names the column ${column} twice`);
    places.set(column, place);
  }
  if (rosterColumns.some((column) => places.has(column))) return { places, width: cells.length };
  const message = `the first line must be a header, separated by commas, with a column ${rosterColumns.join(" or ")}`;
  throw new TvsError("INPUT_UNREADABLE", message);
}

export type RosterDependencies = Evaluation & { readonly purpose: Purpose };

/** Judges one row of a list. Nothing is attested: this is the operator's own lookup. */
export async function judgeRosterRow(
  cells: readonly string[],
  place: { header: RosterHeader; line: number },
  dependencies: RosterDependencies,
): Promise<RosterRow> {
  const named = readIdentifiers(cells, place.header);
  const keys = named.map((one) => (typeof one === "string" ? one : keyOf(one, dependencies.blindIndex)));
  const [key = "IDENTIFIER_MISSING"] = keys;
  const { line } = place;
  if (typeof key === "string") return { ...nobody, line, error: key };
  const teacher = await dependencies.teachers.find(key);
  if (await namesAnother(teacher, keys.slice(1), dependencies.teachers))
    return { ...nobody, line, error: "IDENTIFIERS_DISAGREE" };
  const { found, status, ...judged } = eligibilityResult(teacher, dependencies);
  const answer = { line, found, status, error: null };
  const verdict = listedVerdict(judged, teacher, listedName(cells, place.header));
  if (teacher === null) return { ...answer, ...verdict, ...askedNumber(key), name: null };
  const { regNo, tId, name } = teacher;
  return { ...answer, ...verdict, regNo, tId, name };
}

/** The verdict on a teacher as one row lists them: under another name than the registered one nobody is eligible. */
export function listedVerdict(
  { eligible, reasons }: { eligible: boolean; reasons: readonly Reason[] },
  teacher: Teacher | null,
  listed: string,
): { eligible: boolean; reasons: Reason[]; nameMatches: boolean | null } {
  const matches = teacher === null ? null : nameMatches(listed, teacher.name);
  if (matches !== false) return { eligible, reasons: [...reasons], nameMatches: matches };
  return { eligible: false, reasons: [...reasons, "NAME_DIFFERS"], nameMatches: matches };
}

function listedName(cells: readonly string[], { places }: RosterHeader): string {
  return unguardedCell(cells[places.get("name") ?? -1]?.trim() ?? "");
}

/** Whom one row names, for a statement over the list; null for a row that {@link judgeRosterRow} finds an error in. */
export function listedTeacher(
  cells: readonly string[],
  header: RosterHeader,
): AskedList["teachers"][number] | null {
  const [identifier = "IDENTIFIER_MISSING"] = readIdentifiers(cells, header);
  return typeof identifier === "string" ? null : { identifier, name: listedName(cells, header) || null };
}

const nobody: Omit<RosterRow, "line" | "error"> = {
  ...{ regNo: null, tId: null, found: false, status: null },
  ...{ eligible: false, reasons: [], name: null, nameMatches: null },
};

/** Whether a further identifier of the row belongs to somebody else: one person's number must not speak for another. */
async function namesAnother(
  teacher: Teacher | null,
  others: readonly (TeacherKey | RosterError)[],
  teachers: TeacherReader,
): Promise<boolean> {
  const keys = others.filter((key) => typeof key !== "string");
  const found = await Promise.all(keys.map((key) => teachers.find(key)));
  return found.some((other) => other !== null && other.id !== teacher?.id);
}

/** What the row's columns name, in the order in which they count; empty cells left out. */
function readIdentifiers(cells: readonly string[], header: RosterHeader): (Identifier | RosterError)[] {
  // A comma inside a name that is not quoted moves every cell behind it into the wrong column.
  if (cells.slice(header.width).some((cell) => cell !== "")) return ["COLUMN_COUNT"];
  return rosterColumns.flatMap((column) => {
    const text = cells[header.places.get(column) ?? -1]?.trim() ?? "";
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

/** The share of eligible rows in percent, to one decimal, never rounded up to what it is not. */
export function percentageOf(eligible: number, rows: number): number {
  return rows === 0 ? 0 : Math.floor((eligible * 1000) / rows) / 10;
}

/**
 * Whether a listed name can be the registered one. Case, marks, spaces, hyphens, apostrophes and the order say nothing,
 * a letter stands for a name, and names left out between the first and the last are forgiven.
 * @returns null when no name is listed
 */
export function nameMatches(listed: string, registered: string): boolean | null {
  if (listed.length > maxNameRead) return false;
  const given = partsOf(listed);
  if (given.length === 0) return null;
  const known = partsOf(registered);
  // A double name may be written as one word, too.
  return orders(given).some((parts) => areAlike(parts, known) || parts.join("") === known.join(""));
}

/** The parts of a name in the order in which it is spoken. */
function partsOf(name: string): string[] {
  const comma = name.indexOf(",");
  const spoken = comma === -1 ? name : `${name.slice(comma + 1)} ${name.slice(0, comma)}`;
  return foldedName(spoken)
    .split(" ")
    .filter((part) => part !== "");
}

/** As it stands, and with the family name at the other end. */
function orders(parts: readonly string[]): string[][] {
  return [[...parts], [...parts.slice(1), ...parts.slice(0, 1)], [...parts.slice(-1), ...parts.slice(0, -1)]];
}

/** Whether first and last agree, and what stands between them in the shorter name is in the longer one, in its order. */
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
