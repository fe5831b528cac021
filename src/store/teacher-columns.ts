import { Buffer } from "node:buffer";
import type { TeacherWrite } from "../domain/teachers/store.ts";
import {
  type ReadTeacher,
  type StoredTeacher,
  type TeacherKey,
  teacherFields,
  type UniqueKey,
} from "../domain/teachers/teachers.ts";
import { allOf, type Condition } from "./conditions.ts";
import type { Row, Value } from "./driver/driver.ts";
import { text } from "./driver/rows.ts";

/**
 * The columns of a teacher, and the rules of the domain that are also needed in SQL. Names, values and readers follow
 * from the domain's list of fields: no value is told apart by where it stands.
 */

type FieldName = keyof StoredTeacher;

const allFields = Object.keys(teacherFields) as FieldName[];
const byteFields = allFields.filter((field) => teacherFields[field].kind === "bytes");

/** The fields that a write sets; the id is the database's, and the version moves by itself. */
export const writtenFields = allFields.filter((field) => field !== "id" && field !== "version");

export function columnOf(field: FieldName): string {
  return teacherFields[field].column;
}

/** The columns that hold bytes: through JSON they travel as hex. */
export const byteColumns = byteFields.map(columnOf);

/** What a write puts into a field's column. */
export function writtenValue({ content, announcedStatus, at }: TeacherWrite, field: FieldName): Value {
  const record: Partial<Record<FieldName, unknown>> = content;
  const value = field === "announcedStatus" ? announcedStatus : field === "updatedAt" ? at : record[field];
  if (value === null || teacherFields[field].kind !== "json") return value as Value;
  return JSON.stringify(value);
}

/**
 * A teacher as one JSON text, an object of its fields: each further column that comes out of the native driver costs
 * as much as reading the row did. The order of the members means nothing.
 */
function packed(fields: readonly FieldName[]): string {
  return `json_object(${fields.map((field) => `'${field}', ${packedValue(field)}`).join(", ")})`;
}

/** A field's value as JSON has it; bytes, which it does not have, as hex. */
function packedValue(field: FieldName): string {
  const column = `teachers.${columnOf(field)}`;
  switch (teacherFields[field].kind) {
    case "flag":
      return `json(iif(${column}, 'true', 'false'))`;
    case "json":
      return `json(${column})`;
    case "bytes":
      return `hex(${column})`;
    default:
      return column;
  }
}

/** A teacher as lookups read it: parsed, it is a `Teacher`. */
export const packedTeacher = packed(allFields.filter((field) => teacherFields[field].inLookups));

/** A teacher as lists read it: parsed, it is a `TeacherRow`. */
export const packedRow = packed([
  ...allFields.filter((field) => teacherFields[field].inLookups),
  "updatedAt",
]);

/** A teacher as writers read it, with every field: {@link unpackStoredTeacher} makes a record of it. */
export const packedStoredTeacher = packed(allFields);

export function unpackStoredTeacher(row: Row): StoredTeacher {
  const record = JSON.parse(text(row, "teacher")) as Record<FieldName, unknown>;
  for (const field of byteFields) {
    const hex = String(record[field]);
    record[field] = hex === "" ? null : new Uint8Array(Buffer.from(hex, "hex"));
  }
  return record as StoredTeacher;
}

/** Whom lookups find; a hidden teacher is nobody to them. */
export const isShown = "hidden = 0";

const isAtVersionIn = (id: string, version: string) =>
  `EXISTS (SELECT 1 FROM teachers WHERE id = ${id} AND version = ${version})`;
const isAtVersion = isAtVersionIn("?", "?");
const areAtVersions = `NOT EXISTS (SELECT 1 FROM json_each(?) AS read
  LEFT JOIN teachers ON teachers.id = read.value ->> 0 WHERE teachers.version IS NOT read.value ->> 1)`;

const keyColumns = {
  regNo: columnOf("regNo"),
  tId: columnOf("tId"),
  nin: columnOf("ninIndex"),
  email: columnOf("emailIndex"),
  phone: columnOf("phoneIndex"),
};

/** SQL for each kind of key, by which teachers are looked up in its column. */
export function byKey(sqlOf: (column: string) => string): Readonly<Record<TeacherKey["by"], string>> {
  const { regNo, tId, nin, email, phone } = keyColumns;
  return { regNo: sqlOf(regNo), tId: sqlOf(tId), nin: sqlOf(nin), email: sqlOf(email), phone: sqlOf(phone) };
}

export const uniqueKinds = ["regNo", "tId", "nin"] as const satisfies readonly UniqueKey["by"][];
type KeyKind = UniqueKey["by"];
const nobodyHasIn = (by: KeyKind, value: string) =>
  `NOT EXISTS (SELECT 1 FROM teachers WHERE ${keyColumns[by]} = ${value} AND ${isShown})`;
const nobodyHas = (by: KeyKind) => nobodyHasIn(by, "?");
const nobodyHasAny = (by: KeyKind) => `NOT EXISTS (SELECT 1 FROM json_each(?) AS read
  CROSS JOIN teachers ON ${keyColumns[by]} = ${by === "nin" ? "unhex(read.value)" : "read.value"} AND ${isShown})`;

/** Lookups would read the same now: records at their versions, and nobody where nobody was. */
export function stillAsRead(read: readonly ReadTeacher[]): Condition {
  const [only] = read;
  if (only !== undefined && read.length === 1) {
    if ("by" in only) return { sql: nobodyHas(only.by), args: [only.value] };
    return { sql: isAtVersion, args: [only.id, only.version] };
  }
  const conditions: Condition[] = [];
  const records = read.flatMap((one) => ("by" in one ? [] : [[one.id, one.version]]));
  if (records.length > 0) conditions.push({ sql: areAtVersions, args: [JSON.stringify(records)] });
  for (const by of uniqueKinds) {
    const keys = read.flatMap((one) => ("by" in one && one.by === by ? [keyInJson(one)] : []));
    if (keys.length > 0) conditions.push({ sql: nobodyHasAny(by), args: [JSON.stringify(keys)] });
  }
  return allOf(conditions);
}

/** How one lookup was answered, as a row of JSON has it: by its id and version, or by the key that nobody had. */
export const readColumns = ["id", "version", "regNo", "tId", "nin"] as const;

/** The values of {@link readColumns}. */
export function readInJson(read: ReadTeacher): (string | number | null)[] {
  if (!("by" in read)) return [read.id, read.version, null, null, null];
  return readColumns.map((name) => (name === read.by ? keyInJson(read) : null));
}

/** {@link stillAsRead} of one lookup that stands in a row of JSON. @param at SQL for a value in the row */
export function isAsReadIn(at: (name: (typeof readColumns)[number]) => string): string {
  const absent = [
    nobodyHasIn("regNo", at("regNo")),
    nobodyHasIn("tId", at("tId")),
    nobodyHasIn("nin", `unhex(${at("nin")})`),
  ];
  return `iif(${at("id")} IS NULL, ${absent.join(" AND ")}, ${isAtVersionIn(at("id"), at("version"))})`;
}

/** A key as JSON has it; an index of bytes, which it does not have, as hex. */
export function keyInJson(key: UniqueKey): string | number {
  return key.by === "nin" ? Buffer.from(key.value).toString("hex") : key.value;
}

/**
 * The rule `licenseStatusOn` of the domain, over rows that are counted and not read.
 * @param today the parameter that holds the date; it stands there more than once
 */
export function licenseStatusOn(today: `?${number}`): string {
  return `CASE WHEN active = 0 OR hidden = 1 THEN 'NOT_FOUND'
    WHEN license_revoked_on IS NOT NULL THEN 'REVOKED'
    WHEN license_expiry_date IS NULL OR license_issue_date > ${today} THEN 'NOT_FOUND'
    WHEN license_expiry_date >= ${today} THEN 'VALID' ELSE 'EXPIRED' END`;
}

/**
 * The rule `isDueByCalendar` of the domain, in its two halves: licences that ended and licences that began by a date,
 * and partners were not told. Each half is written so that an index of its own serves it.
 */
export const endedBy = "announced_status = 'VALID' AND license_expiry_date < ?";
export const begunBy = `announced_status = 'NOT_FOUND' AND active = 1 AND ${isShown} AND license_issue_date IS NOT NULL
  AND license_issue_date <= ? AND license_revoked_on IS NULL AND license_expiry_date IS NOT NULL`;
