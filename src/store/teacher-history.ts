/** The history of a teacher's record: one line a change, written in the commit of the change itself. */

import type { Statuses } from "../domain/events.ts";
import type { HistoryEntry } from "../domain/teachers/store.ts";
import type { CertificateStatus, LicenseStatus } from "../partner/contract.ts";
import type { Row, Value } from "./driver/driver.ts";
import { flag, integer, text, textOrNull } from "./driver/rows.ts";

/** The columns behind the teacher's id, each with what is written into it. */
const written: Readonly<Record<string, (entry: HistoryEntry) => Value>> = {
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

export const historyColumns = ["teacher_id", ...Object.keys(written)];

/** What {@link historyColumns} hold behind the teacher's id. */
export function historyValues(entry: HistoryEntry): Value[] {
  return Object.values(written).map((read) => read(entry));
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
