/** SQL for a teacher's columns, made from the domain's list of fields, and for the domain's licence rules. */

import { Buffer } from "node:buffer";
import type { TeacherWrite } from "../domain/teachers/store.ts";
import type { StoredTeacher, TeacherKey, UniqueKey } from "../domain/teachers/teachers.ts";
import { teacherFields } from "../domain/teachers/teachers.ts";
import type { Row, SqlValue } from "./driver/driver.ts";
import { text } from "./driver/rows.ts";

type FieldName = keyof StoredTeacher;

const allFields = Object.keys(teacherFields) as FieldName[];
const byteFields = allFields.filter((field) => teacherFields[field].kind === "bytes");

/** The fields that a write sets. The store itself sets the id and the version. */
export const writableFields = allFields.filter((field) => field !== "id" && field !== "version");

export function columnOf(field: FieldName): string {
  return teacherFields[field].column;
}

/** The columns with bytes, which are hexadecimal in JSON. */
export const byteColumns = byteFields.map(columnOf);

export function writtenValueOf({ content, announcedStatus, at }: TeacherWrite, field: FieldName): SqlValue {
  const record: Partial<Record<FieldName, unknown>> = content;
  const value = field === "announcedStatus" ? announcedStatus : field === "updatedAt" ? at : record[field];
  if (value === null || teacherFields[field].kind !== "json") return value as SqlValue;
  return JSON.stringify(value);
}

/** Makes SQL for a teacher as one JSON text. In the native driver, each further column costs as much as a row. */
function packed(fields: readonly FieldName[]): string {
  return `json_object(${fields.map((field) => `'${field}', ${packedValue(field)}`).join(", ")})`;
}

/** Makes SQL for a field's value in JSON. Bytes are hexadecimal. */
function packedValue(field: FieldName): string {
  const column = `teachers.${columnOf(field)}`;
  const { kind } = teacherFields[field];
  if (kind === "flag") return `json(iif(${column}, 'true', 'false'))`;
  if (kind === "json") return `json(${column})`;
  return kind === "bytes" ? `hex(${column})` : column;
}

/** SQL for a `Teacher` as JSON, for lookups. */
export const teacherJsonSql = packed(allFields.filter((field) => teacherFields[field].inLookups));

/** SQL for a `TeacherRow` as JSON, for lists. */
export const teacherRowJsonSql = packed([
  ...allFields.filter((field) => teacherFields[field].inLookups),
  "updatedAt",
]);

/** SQL for a teacher as JSON with every field, for writers; {@link unpackStoredTeacher} parses it. */
export const storedTeacherJsonSql = packed(allFields);

export function unpackStoredTeacher(row: Row): StoredTeacher {
  const record = JSON.parse(text(row, "teacher")) as Record<FieldName, unknown>;
  for (const field of byteFields) {
    const hex = String(record[field]);
    record[field] = hex === "" ? null : new Uint8Array(Buffer.from(hex, "hex"));
  }
  return record as StoredTeacher;
}

/** SQL condition: the teacher is not hidden. Lookups find no hidden teacher. */
export const isNotHiddenSql = "hidden = 0";

export const teacherKeyColumns = {
  regNo: columnOf("regNo"),
  tId: columnOf("tId"),
  nin: columnOf("ninIndex"),
  email: columnOf("emailIndex"),
  phone: columnOf("phoneIndex"),
};

/** Makes one SQL text for each kind of key, with the column that has the keys of that kind. */
export function sqlByKeyKind(sqlOf: (column: string) => string): Readonly<Record<TeacherKey["by"], string>> {
  const { regNo, tId, nin, email, phone } = teacherKeyColumns;
  return { regNo: sqlOf(regNo), tId: sqlOf(tId), nin: sqlOf(nin), email: sqlOf(email), phone: sqlOf(phone) };
}

export const uniqueKeyKinds = ["regNo", "tId", "nin"] as const satisfies readonly UniqueKey["by"][];

/** Converts a key for JSON. The bytes of a blind index become hexadecimal. */
export function formatKeyForJson({ value }: TeacherKey): string | number {
  return typeof value === "object" ? Buffer.from(value).toString("hex") : value;
}

/** Makes SQL for the domain's `licenseStatusOn`. @param today the date's parameter, numbered because it occurs twice */
export function licenseStatusSql(today: `?${number}`): string {
  return `CASE WHEN active = 0 OR hidden = 1 THEN 'NOT_FOUND'
    WHEN license_revoked_on IS NOT NULL THEN 'REVOKED'
    WHEN license_expiry_date IS NULL OR license_issue_date > ${today} THEN 'NOT_FOUND'
    WHEN license_expiry_date >= ${today} THEN 'VALID' ELSE 'EXPIRED' END`;
}

/** SQL conditions: a licence has ended, or has begun, by the calendar, without an event yet. Each has its own index. */
export const licenseEndedSql = "announced_status = 'VALID' AND license_expiry_date < ?";
export const licenseBegunSql = `announced_status = 'NOT_FOUND' AND active = 1 AND ${isNotHiddenSql} AND license_issue_date IS NOT NULL
  AND license_issue_date <= ? AND license_revoked_on IS NULL AND license_expiry_date IS NOT NULL`;
