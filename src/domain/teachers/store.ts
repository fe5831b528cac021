import type { TimeZoneCalendar } from "../clock.ts";
import type { Statuses, TeacherEvent } from "../events.ts";
import { eventsOfChange, statusesBefore, statusesOn } from "../events.ts";
import type { StoredTeacher, Teacher, TeacherContent } from "./teachers.ts";

/** Counts in a register that the brake protects: imports may lower each count only by `maxLostPercent` percent. */
export type ProtectedCounts = {
  readonly validLicenses: number;
  readonly verifiedCertificates: number;
  readonly revocations: number;
};

type OperatorAction = "revoke" | "reinstate" | "deactivate" | "reactivate" | "hide" | "unhide";

export type HistoryEntry = {
  readonly at: number;
  readonly action: OperatorAction | "import" | "sweep";
  readonly actor: string;
  readonly reason: string | null;
  readonly before: Statuses | null;
  readonly after: Statuses;
};

/** A change of a record. The store applies the change only if the record still has the version in `replaces`. */
export type TeacherWrite = {
  /** The record's id and version before the change; null for a new teacher. */
  readonly replaces: { id: number; version: number } | null;
  readonly content: TeacherContent;
  readonly announcedStatus: Teacher["announcedStatus"];
  readonly history: HistoryEntry | null;
  readonly events: readonly TeacherEvent[];
  readonly at: number;
  /** The content fields that an update writes; all if absent or null. An import gives null for a new teacher. */
  readonly changed?: readonly (keyof TeacherContent)[] | null;
};

/** Computes the statuses, history and events of a change. @param change if `announce` is false, there are no events */
export function planTeacherWrite(
  before: StoredTeacher | null,
  content: TeacherContent,
  change: {
    action: HistoryEntry["action"];
    actor: string;
    reason?: string | null;
    calendar: TimeZoneCalendar;
    at: number;
    announce?: boolean;
  },
): TeacherWrite {
  const after = statusesOn(content, change.calendar.dateAt(change.at));
  const known = statusesBefore(before, after);
  const subject = { tId: content.tId, regNo: content.regNo, occurredAt: change.at };
  const statuses = ["license", "certificate", "active", "hidden"] as const;
  const moved = before === null || statuses.some((one) => known[one] !== after[one]);
  const { action, actor, reason = null, at } = change;
  // An operator's change is recorded even if no status changes, as when a deactivated teacher is revoked.
  const isRecorded = moved || (action !== "import" && action !== "sweep");
  return {
    replaces: before === null ? null : { id: before.id, version: before.version },
    content,
    announcedStatus: after.license,
    history: isRecorded ? { at, action, actor, reason, before: before === null ? null : known, after } : null,
    events: change.announce === false ? [] : eventsOfChange(known, after, subject),
    at,
  };
}
