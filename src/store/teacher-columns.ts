/** The columns of a teacher, from the domain's list of fields, and the rules of the domain that SQL needs too. */

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

/** A teacher as one JSON text: each further column that the native driver gives costs as much as reading the row. */
function packed(fields: readonly FieldName[]): string {
  return `json_object(${fields.map((field) => `'${field}', ${packedValue(field)}`).join(", ")})`;
}

/** A field's value as JSON has it; bytes, which it does not have, as hex. */
function packedValue(field: FieldName): string {
  const column = `teachers.${columnOf(field)}`;
  const { kind } = teacherFields[field];
  if (kind === "flag") return `json(iif(${column}, 'true', 'false'))`;
  if (kind === "json") return `json(${column})`;
  return kind === "bytes" ? `hex(${column})` : column;
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
/** A key as JSON has it; an index of bytes, which it does not have, as hex. */
export function keyInJson(key: UniqueKey): string | number {
  return key.by === "nin" ? Buffer.from(key.value).toString("hex") : key.value;
}

/** The domain's `licenseStatusOn`. @param today the parameter that holds the date; it stands there more than once */
export function licenseStatusOn(today: `?${number}`): string {
  return `CASE WHEN active = 0 OR hidden = 1 THEN 'NOT_FOUND'
    WHEN license_revoked_on IS NOT NULL THEN 'REVOKED'
    WHEN license_expiry_date IS NULL OR license_issue_date > ${today} THEN 'NOT_FOUND'
    WHEN license_expiry_date >= ${today} THEN 'VALID' ELSE 'EXPIRED' END`;
}

/** The domain's `isDueByCalendar` in two halves, each with an index of its own: licences that ended, and that began. */
export const endedBy = "announced_status = 'VALID' AND license_expiry_date < ?";
export const begunBy = `announced_status = 'NOT_FOUND' AND active = 1 AND ${isShown} AND license_issue_date IS NOT NULL
  AND license_issue_date <= ? AND license_revoked_on IS NULL AND license_expiry_date IS NOT NULL`;
