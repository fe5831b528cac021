import { Refusal, type RefusalReason } from "../../partner/reasons.ts";
import { isJsonObject, type JsonValue, readStrictJson } from "../../partner/strict-json.ts";
import { teacherFields } from "../teachers/teachers.ts";
import type { ExtractFindings, UnreadColumnTally } from "./arrival.ts";
import { countColumnWord, createUnreadColumnTally, findSimilarField, redactLabel } from "./arrival.ts";
import type { ExtractField, ImportField, RawRow } from "./fields.ts";
import { fieldOfMemberName, importFields, maxRowLength, recordFieldOf, UnreadableError } from "./fields.ts";
import type { RejectionCode } from "./report.ts";
import { maxCellLength } from "./table.ts";

/** A file is refused after this many lines if none of them is a JSON object. Blank lines are not counted. */
const maxLinesBeforeObject = 1000;
/** Replaces the beginning of a line that is too long, so that the line is rejected as invalid JSON. */
const invalidLineStart = "!";
/** Limits of unknown members: names in the report, names in memory, and letters of a name that are compared. */
const maxUnknown = { reported: 50, read: 10_000, letters: 64 } as const;

/**
 * Reads NDJSON: each line is a JSON object with the fields' names as members, and `profile`. The value null clears a
 * field. A line that is not a JSON object becomes a row with a fault.
 * @param names receives the names of all rows' members
 * @throws UnreadableError if the first thousand lines contain no object
 */
export async function* readNdjsonRows(
  text: AsyncIterable<string>,
  names: ExtractFindings,
): AsyncGenerator<RawRow[]> {
  const find = createNameFinder(names);
  const count = createWordCounter(names);
  let line = 0;
  let others = 0;
  let hasObject = false;
  for await (const lines of readLines(text)) {
    const rows: RawRow[] = [];
    for (const one of lines) {
      line++;
      if (one.trim() === "") continue;
      const reading = readObject(one);
      if (typeof reading === "string") rows.push(faultyRow({ field: null, code: reading, text: one }, line));
      else {
        rows.push(rowOf(reading, line, one));
        for (const [name, value] of Object.entries(reading)) {
          find(name);
          count(name, value);
        }
      }
      hasObject ||= reading !== "JSON_INVALID";
      if (!hasObject && ++others >= maxLinesBeforeObject) throw new UnreadableError(line, noNdjson);
    }
    yield rows;
  }
  if (!hasObject) throw new UnreadableError(line, noNdjson);
}

const noNdjson = "no line up to here is a JSON object; NDJSON has one on each line";

/** Creates a function that adds new names to the findings: all known or misspelled names, and 50 unknown names. */
function createNameFinder({ fields, unknown }: ExtractFindings): (name: string) => void {
  const seen = new Set<string>();
  let count = 0;
  return (name) => {
    const key = name.slice(0, maxUnknown.letters);
    const field = fieldOfMemberName(name);
    if (seen.has(key) || (field === undefined && seen.size >= maxUnknown.read)) return;
    seen.add(key);
    if (field !== undefined) {
      fields.push(field);
      return;
    }
    const near = findSimilarField(name);
    if (++count <= maxUnknown.reported || near !== null)
      unknown.push({ label: redactLabel(name, `member ${count}`), near });
  };
}

/** Limits of the search for licence statuses: levels of nested members, and different names of members. */
const maxSearched = { depth: 3, names: 500 } as const;

/** Yields each value inside a member, with the value's name. An array's element has the name of the array's member. */
function* valuesIn(
  name: string,
  value: unknown,
  depth = 0,
): Generator<readonly [name: string, value: unknown]> {
  if (typeof value !== "object" || value === null) yield [name, value];
  else if (depth < maxSearched.depth)
    for (const [inner, one] of Object.entries(value))
      yield* valuesIn(Array.isArray(value) ? name : inner, one, depth + 1);
}

function createWordCounter({ unread }: ExtractFindings): (name: string, value: unknown) => void {
  const columns = new Map<string, UnreadColumnTally>();
  return (member, members) => {
    const field = fieldOfMemberName(member);
    if (field !== undefined && field !== "licenseStatus") return;
    for (const [name, value] of valuesIn(member, members)) {
      if (value == null) continue;
      const key = name.slice(0, maxUnknown.letters);
      let column = columns.get(key);
      if (column === undefined) {
        if (columns.size >= maxSearched.names) continue;
        const isOwn = field !== undefined && value === members;
        column = createUnreadColumnTally(key, redactLabel(name, `member ${columns.size + 1}`), isOwn);
        columns.set(key, column);
        unread.push(column);
      }
      countColumnWord(column, String(value));
    }
  };
}

async function* readLines(pieces: AsyncIterable<string>): AsyncGenerator<string[]> {
  let rest = "";
  for await (const piece of pieces) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > maxRowLength) rest = invalidLineStart;
    yield lines;
  }
  if (rest !== "") yield [rest];
}

/** The strict JSON reader's refusals that reject a row. After another refusal, `JSON.parse` reads the line. */
const faultOf: Readonly<Partial<Record<RefusalReason, RejectionCode>>> = {
  JSON_MALFORMED: "JSON_INVALID",
  JSON_TOO_DEEP: "JSON_TOO_DEEP",
  JSON_DUPLICATE_MEMBER: "DUPLICATE_MEMBER",
};

/** Parses a line. @returns the members of the line's object, or the code that rejects the row */
function readObject(text: string): Readonly<Record<string, unknown>> | RejectionCode {
  const reading = readStrictJson(text);
  const code = reading instanceof Refusal ? faultOf[reading.reason] : undefined;
  if (code !== undefined) return code;
  // The decoder replaced invalid UTF-8 with U+FFFD.
  if (text.includes("\ufffd")) return "TEXT_INVALID";
  const value = reading instanceof Refusal ? (JSON.parse(text) as JsonValue) : reading;
  return isJsonObject(value) ? value : "JSON_INVALID";
}

function faultyRow(fault: NonNullable<RawRow["fault"]>, line: number): RawRow {
  return { line, format: "ndjson", cells: {}, fault };
}

function rowOf(found: Readonly<Record<string, unknown>>, line: number, written: string): RawRow {
  const members: Partial<Record<ExtractField, unknown>> = {};
  for (const [name, value] of Object.entries(found)) {
    const field = fieldOfMemberName(name);
    if (field === undefined) continue;
    if (field in members) return faultyRow({ field: null, code: "DUPLICATE_MEMBER", text: written }, line);
    members[field] = value;
  }
  const cells: Partial<Record<ImportField, string>> = {};
  for (const field of importFields) {
    const value = members[field];
    if (value === undefined) continue;
    const text = cellOf(field, value);
    if (text === null) return faultyRow({ field, code: "VALUE_TYPE_INVALID", text: written }, line);
    if (text.length > maxCellLength) return faultyRow({ field, code: "CELL_TOO_LONG", text: written }, line);
    cells[field] = text;
  }
  return { line, format: "ndjson", cells, profile: members.profile };
}

/** Converts a value to a cell. Only `tId` can be a number: a NIN would lose zeros. @returns null for a wrong type */
function cellOf(field: ImportField, value: unknown): string | null {
  if (value === null) return "";
  if (typeof value === "string") return value.trim();
  if (typeof value === "number") return field === "tId" ? String(value) : null;
  const isFlag = field !== "licenseStatus" && teacherFields[recordFieldOf[field]].kind === "flag";
  return typeof value === "boolean" && isFlag ? String(value) : null;
}
