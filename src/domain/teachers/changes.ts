import type { TeacherStore } from "../../store/teachers.ts";
import type { Calendar, CalendarDate, Clock } from "../clock.ts";
import { TvsError } from "../errors.ts";
import { announcedStatuses, statusesOn, type TeacherEvent } from "../events.ts";
import { isFailedFormula, readText } from "../import/values.ts";
import { hasHiddenCharacter } from "../plain-text.ts";
import { isDueByCalendar, planCalendarStep } from "../sweep.ts";
import { type HistoryEntry, planWrite, type TeacherWrite } from "./store.ts";
import {
  canonicalRegNo,
  maxTId,
  type StoredTeacher,
  type TeacherContent,
  type TeacherKey,
} from "./teachers.ts";

/** How often a change is computed anew because another one of the same record came between. */
const maxAttempts = 10;
const maxReasonLength = 500;

export type TeacherAction = Exclude<HistoryEntry["action"], "import" | "sweep">;

type ChangeDependencies = {
  readonly teachers: TeacherStore;
  readonly calendar: Calendar;
  readonly clock: Clock;
  readonly actor: string;
};

/** A change that took effect: the record after it, what it moved, and what partners are told of it. */
export type TeacherChange = Awaited<ReturnType<typeof changeTeacher>>;

/**
 * Reads a reference to a teacher: a registration number, or else a teacher id.
 * @param name what the operator calls it: the operand, or an option
 * @throws TvsError USAGE when the text is neither; the message does not repeat it
 */
export function teacherKeyOf(text: string, name = "REF"): TeacherKey {
  if (/^\d{1,16}$/.test(text) && Number(text) <= maxTId) return { by: "tId", value: Number(text) };
  const regNo = canonicalRegNo(text);
  if (regNo !== null) return { by: "regNo", value: regNo };
  throw new TvsError(
    "USAGE",
    `${name} must be a registration number of four segments (A/B/C/D) or a teacher id (digits)`,
  );
}

/** @throws TvsError NOT_KNOWN when there is no such teacher */
export async function requireTeacher(teachers: TeacherStore, key: TeacherKey): Promise<StoredTeacher> {
  const teacher = await teachers.findStored(key);
  if (teacher === null)
    throw new TvsError("NOT_KNOWN", "no teacher has this registration number or teacher id");
  return teacher;
}

/**
 * Checks why a change is made. The reason stays in the history for ever, so what looks like a contact or a
 * NIN is refused: none of them is ever stored (decision D3.7).
 * @returns the reason without white space around it
 * @throws TvsError USAGE
 */
export function checkReason(text: string): string {
  // As an extract's text is read, so that one that was exported is read back as the same.
  const read = readText(text.trim(), maxReasonLength);
  if ("code" in read && read.code === "PERSONAL_DATA") {
    const message =
      "--reason must not hold an e-mail address, nor what may be a NIN or a phone number, grouped or not; " +
      "name the file or the decision";
    throw new TvsError("USAGE", message);
  }
  if (hasHiddenCharacter(text.trim()) || "code" in read || read.value === null || isFailedFormula(read.value))
    throw new TvsError("USAGE", `--reason must be 1 to ${maxReasonLength} printable characters, in one line`);
  return read.value;
}

/**
 * Changes the status of a teacher: the record, its history and its events in one commit, or nothing.
 *
 * The change is bound to the version of the record that it was decided on. When another change comes
 * between, it is decided again on what is there now, so that none is lost and none is announced twice.
 * What the calendar changed and nobody announced yet is announced first: it happened first.
 * @param change `reason` for the history, checked by {@link checkReason}
 * @throws TvsError NOT_KNOWN, REFUSED when the change makes no sense for the record, STORE_BUSY when the
 *   record keeps changing
 */
export async function changeTeacher(
  dependencies: ChangeDependencies,
  key: TeacherKey,
  change: { action: TeacherAction; reason: string },
) {
  const { teachers, calendar, clock } = dependencies;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const teacher = await requireTeacher(teachers, key);
    const today = calendar.dateAt(clock.now());
    if (isDueByCalendar(teacher, today)) {
      await teachers.apply([planCalendarStep(teacher, dependencies)]);
      continue;
    }
    const content = changedContent(teacher, { ...change, today });
    const write = planChange(teacher, content, { ...dependencies, ...change });
    const [applied] = await teachers.apply([write]);
    if (applied) {
      const stored = await readBack(teachers, { id: teacher.id, key, action: change.action });
      const { events } = write;
      return {
        teacher: stored,
        before: announcedStatuses(teacher),
        after: statusesOn(stored, today),
        events,
      };
    }
  }
  throw new TvsError("STORE_BUSY", "the record kept changing at the same time; try again");
}

/** Every command leaves a line in the history, even where no status moves: a deactivated teacher's revocation. */
function planChange(
  teacher: StoredTeacher,
  content: TeacherContent,
  change: ChangeDependencies & { action: TeacherAction; reason: string },
): TeacherWrite {
  const { calendar, clock, action, actor, reason } = change;
  const at = clock.now();
  const write = planWrite(teacher, content, { action, actor, reason, calendar, at });
  const unmoved = announcedStatuses(teacher);
  return {
    ...write,
    history: write.history ?? { at, action, actor, reason, before: unmoved, after: unmoved },
  };
}

/** What a record says when a change has taken effect. */
const outcomes: Readonly<Record<TeacherAction, (teacher: StoredTeacher) => boolean>> = {
  revoke: ({ licenseRevokedOn }) => licenseRevokedOn !== null,
  reinstate: ({ licenseRevokedOn }) => licenseRevokedOn === null,
  deactivate: ({ active }) => !active,
  reactivate: ({ active }) => active,
  hide: ({ hidden }) => hidden,
  unhide: ({ hidden }) => !hidden,
};

/**
 * The record as the database gives it after the commit: what it holds is what everybody is told from now on.
 * @throws TvsError STORE_CORRUPT when it does not say what was committed
 */
async function readBack(
  teachers: TeacherStore,
  { id, key, action }: { id: number; key: TeacherKey; action: TeacherAction },
): Promise<StoredTeacher> {
  const stored = await teachers.findStored(key);
  if (stored?.id === id && outcomes[action](stored)) return stored;
  throw new TvsError(
    "STORE_CORRUPT",
    `the change was committed and announced, but the record read back does not show it (${action}): ` +
      "tvs teachers history shows whether another change was made at the same time; if not, something in the database " +
      "undoes what is written, and tvs doctor --full looks for it",
  );
}

function changedContent(
  teacher: StoredTeacher,
  { action, reason, today }: { action: TeacherAction; reason: string; today: string },
): TeacherContent {
  const refusal = refusals[action](teacher);
  if (refusal !== null) throw new TvsError("REFUSED", refusal);
  switch (action) {
    case "revoke":
      return {
        ...teacher,
        licenseRevokedOn: earlier(teacher.licenseRevokedOn, today),
        licenseRevokedReason: reason,
        licenseRevokedBy: "operator",
      };
    case "reinstate":
      return { ...teacher, licenseRevokedOn: null, licenseRevokedReason: null, licenseRevokedBy: null };
    case "deactivate":
      return { ...teacher, active: false };
    case "reactivate":
      return { ...teacher, active: true };
    case "hide":
      return { ...teacher, hidden: true };
    case "unhide":
      return { ...teacher, hidden: false };
  }
}

function earlier(date: CalendarDate | null, today: CalendarDate): CalendarDate {
  return date !== null && date < today ? date : today;
}

/**
 * What makes no sense, and why. A deactivated teacher's licence can be revoked: a reactivation must not bring it
 * back. So can one that an extract has revoked: the next extract must not bring that back either.
 */
const refusals: Readonly<Record<TeacherAction, (teacher: StoredTeacher) => string | null>> = {
  revoke({ licenseRevokedOn, licenseRevokedBy, licenseExpiryDate }) {
    if (licenseRevokedBy === "operator") return `the licence is revoked already, since ${licenseRevokedOn}`;
    return licenseRevokedOn === null && licenseExpiryDate === null ? "there is no licence to revoke" : null;
  },
  reinstate: ({ licenseRevokedOn }) => (licenseRevokedOn === null ? "the licence is not revoked" : null),
  deactivate: ({ active }) => (active ? null : "the teacher is deactivated already"),
  reactivate: ({ active }) => (active ? "the teacher is not deactivated" : null),
  hide: ({ hidden }) => (hidden ? "the teacher is hidden already" : null),
  unhide: ({ hidden }) => (hidden ? null : "the teacher is not hidden"),
};

/** One line of what happened to a teacher: a change of the record, or an event that partners were told. */
export type HistoryLine =
  | ({ readonly type: "change" } & HistoryEntry)
  | {
      readonly type: "event";
      readonly at: number;
      readonly eventType: TeacherEvent["eventType"];
      readonly eventId: string;
    };

/**
 * Changes and events in the order of time. An event stands at the time at which the status changed, so an
 * expiry that was announced late stands before the sweep that announced it.
 */
export async function teacherHistory(teachers: TeacherStore, teacherId: number): Promise<HistoryLine[]> {
  const [changes, events] = await Promise.all([teachers.history(teacherId), teachers.events(teacherId)]);
  const lines: HistoryLine[] = [
    ...changes.map((entry) => ({ type: "change" as const, ...entry })),
    ...events.map(({ occurredAt, eventType, eventId }) => ({
      type: "event" as const,
      at: occurredAt,
      eventType,
      eventId,
    })),
  ];
  return lines.sort((a, b) => a.at - b.at);
}
