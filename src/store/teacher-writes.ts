/** Stores changes of teachers. A change, its history and its events are in one commit. */

import type { Statuses } from "../domain/events.ts";
import type { HistoryEntry, TeacherWrite } from "../domain/teachers/store.ts";
import type { TeacherContent } from "../domain/teachers/teachers.ts";
import type { CertificateStatus, LicenseStatus } from "../partner/contract.ts";
import { createChangeRecorder } from "./changes.ts";
import type { Row, SqlStatement, SqlValue, Transaction } from "./driver/driver.ts";
import { bind, formatRowsAsJson, makeInserts } from "./driver/driver.ts";
import { boolean, integer, text, textOrNull } from "./driver/rows.ts";
import { makeEventStatements } from "./events.ts";
import { nextTeacherIdSql } from "./status-lists.ts";
import { byteColumns, columnOf, writableFields, writtenValueOf } from "./teacher-columns.ts";

type IdentifiedWrite = TeacherWrite & { readonly id: number };

/** The most rows in one statement. SQLite has the rows' JSON text and its parsed form in memory. */
const sliceRows = 500;

const selectId = `SELECT ${nextTeacherIdSql} AS id`;

/** Stores writes that the caller has checked for conflicts. New teachers get consecutive ids. */
export async function storeCheckedWrites(tx: Transaction, writes: readonly TeacherWrite[]): Promise<void> {
  if (writes.length === 0) return;
  const [next = {}] = await tx.query(selectId);
  let newId = integer(next, "id");
  const identified = writes.map((write) => ({ ...write, id: write.replaces?.id ?? newId++ }));
  for (let start = 0; start < identified.length; start += sliceRows)
    await tx.batch(sliceStatements(identified.slice(start, start + sliceRows)));
}

/**
 * Stores each write whose record still has the version that was read, and whose identifiers no other record has.
 * @returns for each write whether it was stored
 */
export async function applyWrites(tx: Transaction, writes: readonly TeacherWrite[]): Promise<boolean[]> {
  const { versions, owners } = await readRecords(tx, writes);
  const isApplied = writes.map(({ replaces, content }) => {
    const owner = replaces?.id ?? "new";
    const keys = keysOf(content);
    const isFree = keys.every((key) => (owners.get(key) ?? replaces?.id) === replaces?.id);
    if (!isFree || (replaces !== null && versions.get(replaces.id) !== replaces.version)) return false;
    for (const key of keys) owners.set(key, owner);
    if (replaces !== null) versions.delete(replaces.id);
    return true;
  });
  const applied = writes.filter((_, index) => isApplied[index]);
  await storeCheckedWrites(tx, applied);
  await tx.batch(applied.flatMap(operatorsChange));
  return isApplied;
}

const keysOf = ({ regNo, tId, ninIndex }: TeacherContent): string[] => [
  `regNo ${regNo}`,
  ...(tId === null ? [] : [`tId ${tId}`]),
  ...(ninIndex === null ? [] : [`nin ${ninIndex.toHex()}`]),
];

const selectCurrent = `SELECT id, version, reg_no, t_id, lower(hex(nin_index)) AS nin FROM teachers
  WHERE id IN (SELECT value FROM json_each(?1)) OR reg_no IN (SELECT value FROM json_each(?2))
    OR t_id IN (SELECT value FROM json_each(?3)) OR nin_index IN (SELECT unhex(value) FROM json_each(?4))`;

/** Reads the versions of the records that the writes replace, and the owners of the identifiers that the writes set. */
async function readRecords(tx: Transaction, writes: readonly TeacherWrite[]) {
  const listOf = (pick: (write: TeacherWrite) => number | string | null | undefined) =>
    JSON.stringify(writes.map(pick).filter((value) => value !== null && value !== undefined));
  const rows = await tx.query(selectCurrent, [
    listOf(({ replaces }) => replaces?.id),
    listOf(({ content }) => content.regNo),
    listOf(({ content }) => content.tId),
    listOf(({ content }) => content.ninIndex?.toHex()),
  ]);
  return {
    versions: new Map(rows.map((row) => [integer(row, "id"), integer(row, "version")])),
    owners: new Map<string, number | "new">(rows.flatMap(ownedKeys)),
  };
}

function ownedKeys(row: Row): [string, number][] {
  const [tId, nin] = [row.t_id, textOrNull(row, "nin")];
  const keys = [`regNo ${row.reg_no}`, `tId ${tId}`, `nin ${nin}`];
  return keys.map((key) => [key, integer(row, "id")]);
}
function operatorsChange({ history, content }: TeacherWrite): SqlStatement[] {
  if (history === null || history.action === "import" || history.action === "sweep") return [];
  const { action, actor, at } = history;
  const recorded = createChangeRecorder({ actor, clock: { now: () => at } });
  return [recorded({ action, kind: "teacher", id: content.regNo })];
}

function sliceStatements(writes: readonly IdentifiedWrite[]): SqlStatement[] {
  return [
    ...insertTeachers(writes.filter((write) => write.replaces === null)),
    ...updateTeachers(writes.filter((write) => write.replaces !== null)),
    ...insertHistory(writes),
    ...makeEventStatements(writes),
  ];
}

const teacherColumns = ["id", ...writableFields.map(columnOf), "version"];

function insertTeachers(writes: readonly IdentifiedWrite[]): SqlStatement[] {
  const valuesOf = (write: IdentifiedWrite) => writableFields.map((field) => writtenValueOf(write, field));
  const rows = writes.map((write) => [write.id, ...valuesOf(write), 1]);
  return makeInserts("teachers", teacherColumns, rows);
}

/** Updates only columns that some row changes, because SQLite rewrites the indexes of each column that is set. */
function updateTeachers(writes: readonly IdentifiedWrite[]): SqlStatement[] {
  if (writes.length === 0) return [];
  const changed = new Set<string>(["announcedStatus", "updatedAt"]);
  for (const write of writes) for (const field of write.changed ?? writableFields) changed.add(field);
  const fields = writableFields.filter((field) => changed.has(field));
  const rows = writes.map((write) => [write.id, ...fields.map((field) => writtenValueOf(write, field))]);
  const set = fields.map(columnOf).map((column, index) => {
    const value = `value ->> ${index + 1}`;
    return `${column} = ${byteColumns.includes(column) ? `unhex(${value})` : value}`;
  });
  const sql = `UPDATE teachers SET ${set.join(", ")}, version = version + 1
    FROM json_each(?) WHERE teachers.id = value ->> 0`;
  return [bind(sql, [formatRowsAsJson(rows)])];
}

function insertHistory(writes: readonly IdentifiedWrite[]): SqlStatement[] {
  const entries = writes.flatMap(({ id, history: entry }) =>
    entry === null ? [] : [[id, ...Object.values(written).map((read) => read(entry))]],
  );
  return makeInserts("history", ["teacher_id", ...Object.keys(written)], entries);
}

/** The history's columns after the teacher's id, each with a function that takes its value from an entry. */
const written: Readonly<Record<string, (entry: HistoryEntry) => SqlValue>> = {
  at: ({ at }) => at,
  action: ({ action }) => action,
  actor: ({ actor }) => actor,
  reason: ({ reason }) => reason,
  license_from: ({ before }) => before?.license ?? null,
  license_to: ({ after }) => after.license,
  certificate_from: ({ before }) => before?.certificate ?? null,
  certificate_to: ({ after }) => after.certificate,
  active_from: ({ before }) => before?.active ?? null,
  active_to: ({ after }) => after.active,
};

export function readHistoryEntry(row: Row): HistoryEntry {
  const side = (end: "from" | "to"): Statuses => ({
    license: text(row, `license_${end}`) as LicenseStatus,
    certificate: text(row, `certificate_${end}`) as CertificateStatus,
    active: boolean(row, `active_${end}`),
  });
  return {
    at: integer(row, "at"),
    action: text(row, "action") as HistoryEntry["action"],
    actor: text(row, "actor"),
    reason: textOrNull(row, "reason"),
    before: row.license_from === null ? null : side("from"),
    after: side("to"),
  };
}
