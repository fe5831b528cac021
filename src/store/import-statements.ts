import { hexOf } from "../domain/import/patch.ts";
import type { ImportWrite } from "../domain/import/store.ts";
import type { RowsTarget, Statement, Value } from "./driver/driver.ts";
import { eventsOf } from "./events.ts";
import { byteColumns, columnOf, writtenFields, writtenValue } from "./teacher-columns.ts";
import { historyColumns, historyValues } from "./teacher-history.ts";

/** How many rows go into one JSON text: its parsed form is held in memory beside it. */
const sliceRows = 500;

/**
 * A whole chunk in a handful of statements, whatever its size: the rows travel as JSON texts, which are small.
 *
 * Nothing here is conditional. A new teacher whose number, teacher id or NIN is taken violates a constraint,
 * and so does a change of a record that has moved on, because its version would become NULL: the whole
 * commit fails, the import's progress with it, and the chunk is planned anew.
 * @param firstNewId the id of the first new teacher, above all that there are: so history and events name their
 *   teacher without looking for it; if another import was faster, the id is taken and the commit fails
 */
export function chunkStatements(writes: readonly ImportWrite[], firstNewId: number): Statement[] {
  let newId = firstNewId;
  const identified = writes.map((write) => ({ ...write, id: write.replaces?.id ?? newId++ }));
  const statements: Statement[] = [];
  for (let start = 0; start < identified.length; start += sliceRows) {
    statements.push(...sliceStatements(identified.slice(start, start + sliceRows)));
  }
  return statements;
}

type IdentifiedWrite = ImportWrite & { readonly id: number };

function sliceStatements(writes: readonly IdentifiedWrite[]): Statement[] {
  return [
    ...insertTeachers(writes.filter((write) => write.replaces === null)),
    ...updateTeachers(writes.filter((write) => write.replaces !== null)),
    ...insertHistory(writes),
    ...eventsOf(writes),
  ];
}

const teachersTarget: RowsTarget = {
  table: "teachers",
  columns: ["id", ...writtenFields.map(columnOf), "version"],
  bytes: byteColumns,
};

function insertTeachers(writes: readonly IdentifiedWrite[]): Statement[] {
  return rowsStatement(
    teachersTarget,
    writes.map((write) => [
      write.id,
      ...writtenFields.map((field) => jsonable(writtenValue(write, field))),
      1,
    ]),
  );
}

function rowsStatement(insert: RowsTarget, rows: readonly (readonly unknown[])[]): Statement[] {
  return rows.length === 0 ? [] : [{ insert, rows: JSON.stringify(rows) }];
}

/**
 * Sets only what any of the rows changes. A column that is set is written to its indexes again even when
 * its value stays, and the indexes of blind indexes cost most: each entry is on another page of the disk.
 */
function updateTeachers(writes: readonly IdentifiedWrite[]): Statement[] {
  if (writes.length === 0) return [];
  const changed = new Set<string>(["announcedStatus", "updatedAt"]);
  for (const write of writes) for (const field of write.changed ?? []) changed.add(field);
  const fields = writtenFields.filter((field) => changed.has(field));
  const rows = writes.map((write) => [
    write.id,
    write.replaces?.version,
    ...fields.map((field) => jsonable(writtenValue(write, field))),
  ]);
  const sql = `UPDATE teachers SET ${fields.map((field, index) => `${columnOf(field)} = ${valueAt(columnOf(field), index + 2)}`).join(", ")},
    version = CASE WHEN version = value ->> 1 THEN version + 1 END
    FROM json_each(?) WHERE teachers.id = value ->> 0`;
  return [{ sql, args: [JSON.stringify(rows)] }];
}

/** The history of newcomers, taken from their records: nothing was before them. */
const newcomersHistory = `INSERT INTO history (teacher_id, at, action, actor, reason, license_to, certificate_to, active_to)
  SELECT id, updated_at, ?, ?, ?, announced_status, certificate_status, active
  FROM teachers WHERE id BETWEEN ? AND ? ORDER BY id`;

const historyTarget: RowsTarget = { table: "history", columns: historyColumns };

function insertHistory(writes: readonly IdentifiedWrite[]): Statement[] {
  const [first] = writes;
  const last = writes.at(-1);
  if (first === undefined || last === undefined) return [];
  const { action, actor, reason } = first.history ?? {};
  const areNewcomers = writes.every(
    ({ replaces, history: entry }) =>
      replaces === null && entry?.action === action && entry?.actor === actor && entry?.reason === reason,
  );
  // The ids of a slice of newcomers follow one another.
  if (areNewcomers && action !== undefined && actor !== undefined)
    return [{ sql: newcomersHistory, args: [action, actor, reason ?? null, first.id, last.id] }];
  const entries = writes.flatMap(({ id, history: entry }) => (entry === null ? [] : [{ id, entry }]));
  return rowsStatement(
    historyTarget,
    entries.map(({ id, entry }) => [id, ...historyValues(entry).map(jsonable)]),
  );
}

function valueAt(column: string, place: number): string {
  return byteColumns.includes(column) ? `unhex(value ->> ${place})` : `value ->> ${place}`;
}

function jsonable(value: Value): null | number | string {
  if (value instanceof Uint8Array) return hexOf(value);
  return typeof value === "boolean" ? Number(value) : value;
}
