/** The columns of a teacher, made from the domain's list of fields, and domain rules that SQL repeats. */

import { Buffer } from "node:buffer";
import type { TeacherWrite } from "../domain/teachers/store.ts";
import {
  type StoredTeacher,
  type TeacherKey,
  teacherFields,
  type UniqueKey,
} from "../domain/teachers/teachers.ts";
import type { Row, Value } from "./driver/driver.ts";
import { text } from "./driver/rows.ts";

type FieldName = keyof StoredTeacher;

const allFields = Object.keys(teacherFields) as FieldName[];
const byteFields = allFields.filter((field) => teacherFields[field].kind === "bytes");

/** The fields that a write sets. The database assigns the id and raises the version. */
export const writtenFields = allFields.filter((field) => field !== "id" && field !== "version");

export function columnOf(field: FieldName): string {
  return teacherFields[field].column;
}

/** The columns that hold bytes, which are hex in JSON. */
export const byteColumns = byteFields.map(columnOf);

/** The value that a write stores in a field's column. */
export function writtenValue({ content, announcedStatus, at }: TeacherWrite, field: FieldName): Value {
  const record: Partial<Record<FieldName, unknown>> = content;
  const value = field === "announcedStatus" ? announcedStatus : field === "updatedAt" ? at : record[field];
  if (value === null || teacherFields[field].kind !== "json") return value as Value;
  return JSON.stringify(value);
}

/** A teacher as one JSON text: each further column of the native driver costs as much as reading the row. */
function packed(fields: readonly FieldName[]): string {
  return `json_object(${fields.map((field) => `'${field}', ${packedValue(field)}`).join(", ")})`;
}

/** SQL for a field's value in JSON; bytes are hex. */
function packedValue(field: FieldName): string {
  const column = `teachers.${columnOf(field)}`;
  const { kind } = teacherFields[field];
  if (kind === "flag") return `json(iif(${column}, 'true', 'false'))`;
  if (kind === "json") return `json(${column})`;
  return kind === "bytes" ? `hex(${column})` : column;
}

/** The JSON of a `Teacher`, for lookups. */
export const packedTeacher = packed(allFields.filter((field) => teacherFields[field].inLookups));

/** The JSON of a `TeacherRow`, for lists. */
export const packedRow = packed([
  ...allFields.filter((field) => teacherFields[field].inLookups),
  "updatedAt",
]);

/** The JSON of a teacher with every field, for writers; {@link unpackStoredTeacher} parses it. */
export const packedStoredTeacher = packed(allFields);

export function unpackStoredTeacher(row: Row): StoredTeacher {
  const record = JSON.parse(text(row, "teacher")) as Record<FieldName, unknown>;
  for (const field of byteFields) {
    const hex = String(record[field]);
    record[field] = hex === "" ? null : new Uint8Array(Buffer.from(hex, "hex"));
  }
  return record as StoredTeacher;
}

/** Lookups find no hidden teacher. */
export const isShown = "hidden = 0";

export const keyColumns = {
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
/** A key in JSON; the bytes of a NIN's index are hex. */
export function keyInJson(key: UniqueKey): string | number {
  return key.by === "nin" ? Buffer.from(key.value).toString("hex") : key.value;
}

/** The domain's `licenseStatusOn` in SQL. @param today the numbered parameter of the date, which occurs twice */
export function licenseStatusOn(today: `?${number}`): string {
  return `CASE WHEN active = 0 OR hidden = 1 THEN 'NOT_FOUND'
    WHEN license_revoked_on IS NOT NULL THEN 'REVOKED'
    WHEN license_expiry_date IS NULL OR license_issue_date > ${today} THEN 'NOT_FOUND'
    WHEN license_expiry_date >= ${today} THEN 'VALID' ELSE 'EXPIRED' END`;
}

/** The domain's `isDueByCalendar` in two halves, each with its own index: licences that ended, and that began. */
export const endedBy = "announced_status = 'VALID' AND license_expiry_date < ?";
export const begunBy = `announced_status = 'NOT_FOUND' AND active = 1 AND ${isShown} AND license_issue_date IS NOT NULL
  AND license_issue_date <= ? AND license_revoked_on IS NULL AND license_expiry_date IS NOT NULL`;
