import type { Calendar } from "../clock.ts";
import type { Statuses, TeacherEvent } from "../events.ts";
import { createEvents, statusesBefore, statusesOn } from "../events.ts";
import type { TeacherListStore } from "./list.ts";
import type {
  StoredTeacher,
  Teacher,
  TeacherContent,
  TeacherKey,
  TeacherReader,
  UniqueKey,
} from "./teachers.ts";

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
};

export type TeacherStore = TeacherReader &
  TeacherListStore & {
    findStored(key: TeacherKey): Promise<StoredTeacher | null>;
    /** As `findEach`, with hidden teachers: whose each number is. */
    findOwners(keys: readonly UniqueKey[]): Promise<(Teacher | null)[]>;
    /** Records by registration number, in one read: what an import compares with. */
    findMany(regNos: readonly string[]): Promise<StoredTeacher[]>;
    /**
     * Applies changes, each with its history and events, in one commit.
     * @returns for each change whether it took effect; not when the record has moved on since it was read,
     *   or when another record holds its number, teacher id or NIN
     */
    apply(writes: readonly TeacherWrite[]): Promise<boolean[]>;
    history(teacherId: number): Promise<HistoryEntry[]>;
    events(teacherId: number): Promise<TeacherEvent[]>;
    /** Teachers whose licence changed by the calendar alone and was not announced yet, oldest first. */
    dueByCalendar(today: string, limit: number): Promise<StoredTeacher[]>;
    /** How many `dueByCalendar` would give without a limit. */
    countDue(today: string): Promise<number>;
    countHoldings(today: string): Promise<Holdings>;
    isEmpty(): Promise<boolean>;
    /** Whether an extract was applied to its end: without one, nobody is answered as not found. */
    isLoaded(): Promise<boolean>;
  };

/**
 * Computes what a change of a record means: its statuses before and after, and the events.
 * @param change `announce` false for a baseline import, which tells partners nothing
 */
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
