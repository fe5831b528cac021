/** The history of a teacher's record: one line a change, written in the commit of the change itself. */

import type { Statuses } from "../domain/events.ts";
import type { HistoryEntry } from "../domain/teacher-store.ts";
import type { CertificateStatus, LicenseStatus } from "../partner/contract.ts";
import type { Row, Statement } from "./driver/driver.ts";
import { flag, integer, text, textOrNull } from "./driver/rows.ts";

/** Runs only if the statement before it, the change itself, changed a row. */
const insertHistory = `INSERT INTO history (teacher_id, at, action, actor, reason,
    license_from, license_to, certificate_from, certificate_to, active_from, active_to)
  SELECT (SELECT id FROM teachers WHERE reg_no = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE changes() = 1`;

export function historyStatement(regNo: string, entry: HistoryEntry): Statement {
  const { before, after } = entry;
  // biome-ignore format: the order of the columns
  const args = [
    regNo, entry.at, entry.action, entry.actor, entry.reason,
    before?.license ?? null, after.license, before?.certificate ?? null, after.certificate,
    before?.active ?? null, after.active,
  ];
  return { sql: insertHistory, args };
}

export function historyEntry(row: Row): HistoryEntry {
  const side = (end: "from" | "to"): Statuses => ({
    license: text(row, `license_${end}`) as LicenseStatus,
    certificate: text(row, `certificate_${end}`) as CertificateStatus,
    active: flag(row, `active_${end}`),
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
