import type { Calendar } from "../clock.ts";
import type { Statuses, TeacherEvent } from "../events.ts";
import { createEvents, statusesBefore, statusesOn } from "../events.ts";
import type { StoredTeacher, Teacher, TeacherContent } from "./teachers.ts";

/** How much the register holds of what an import must not lose unnoticed, on a date. */
export type Holdings = {
  readonly validLicenses: number;
  readonly verifiedCertificates: number;
  readonly revocations: number;
};

/** One line of a teacher's history, for the operator. */
export type HistoryEntry = {
  readonly at: number;
  readonly action:
    | "import"
    | "revoke"
    | "reinstate"
    | "deactivate"
    | "reactivate"
    | "hide"
    | "unhide"
    | "sweep";
  readonly actor: string;
  readonly reason: string | null;
  readonly before: Statuses | null;
  readonly after: Statuses;
};

/** A change computed from one version of a record; it is applied to that version or not at all. */
export type TeacherWrite = {
  /** Null for a teacher who is new. */
  readonly replaces: { id: number; version: number } | null;
  readonly content: TeacherContent;
  readonly announcedStatus: Teacher["announcedStatus"];
  readonly history: HistoryEntry | null;
  readonly events: readonly TeacherEvent[];
  readonly at: number;
  /** The fields that it changes, null for a new teacher; the others are not written again. Absent: all are written. */
  readonly changed?: readonly (keyof TeacherContent)[] | null;
};

/** Computes what a change means: statuses and events. @param change `announce` false for a baseline, which causes none */
export function planWrite(
  before: StoredTeacher | null,
  content: TeacherContent,
  change: {
    action: HistoryEntry["action"];
    actor: string;
    reason?: string | null;
    calendar: Calendar;
    at: number;
    announce?: boolean;
  },
): TeacherWrite {
  const after = statusesOn(content, change.calendar.dateAt(change.at));
  const known = statusesBefore(before, after);
  const subject = { tId: content.tId, regNo: content.regNo, occurredAt: change.at };
  const moved =
    before === null ||
    known.license !== after.license ||
    known.certificate !== after.certificate ||
    known.active !== after.active ||
    known.hidden !== after.hidden;
  const { action, actor, reason = null, at } = change;
  return {
    replaces: before === null ? null : { id: before.id, version: before.version },
    content,
    announcedStatus: after.license,
    history: moved ? { at, action, actor, reason, before: before === null ? null : known, after } : null,
    events: change.announce === false ? [] : createEvents(known, after, subject),
    at,
  };
}
