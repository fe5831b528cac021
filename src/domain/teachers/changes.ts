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

/** Attempts at a change while other changes of the same record come between. */
const maxAttempts = 10;
const maxReasonLength = 500;

export type TeacherAction = Exclude<HistoryEntry["action"], "import" | "sweep">;

type ChangeDependencies = {
  readonly teachers: TeacherStore;
  readonly calendar: Calendar;
  readonly clock: Clock;
  readonly actor: string;
};

/** A change that took effect: the record after it, its statuses before and after, and its events. */
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
  const wanted = "a registration number of four segments (A/B/C/D) or a teacher id (digits)";
  throw new TvsError("USAGE", `${name} must be ${wanted}`);
}

/** @throws TvsError NOT_KNOWN when there is no such teacher */
export async function requireTeacher(teachers: TeacherStore, key: TeacherKey): Promise<StoredTeacher> {
  const teacher = await teachers.findStored(key);
  if (teacher === null)
    throw new TvsError("NOT_KNOWN", "no teacher has this registration number or teacher id");
  return teacher;
}

/**
 * Checks the reason of a change. The history keeps it, so what looks like a contact or a NIN is refused (decision D3.7).
 * @returns the reason without white space around it
 * @throws TvsError USAGE
 */
export function checkReason(text: string): string {
  // An exported reason must be read back as the same.
  const read = readText(text.trim(), maxReasonLength);
  if ("code" in read && read.code === "PERSONAL_DATA") {
    const personal = "an e-mail address, nor what may be a NIN or a phone number, grouped or not";
    throw new TvsError("USAGE", `--reason must not hold ${personal}; name the file or the decision`);
  }
  if (hasHiddenCharacter(text.trim()) || "code" in read || read.value === null || isFailedFormula(read.value))
    throw new TvsError("USAGE", `--reason must be 1 to ${maxReasonLength} printable characters, in one line`);
  return read.value;
}

/**
 * Changes the status of a teacher: the record, its history and its events in one commit, or nothing.
 *
 * The change is bound to the version of the record that it was computed from. If the record changed before the commit,
 * the change is computed again. What the calendar changed and nobody announced yet is announced first.
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
    const write = planChange(teacher, changedContent(teacher, { ...change, today }), {
      ...dependencies,
      ...change,
    });
    const [isApplied] = await teachers.apply([write]);
    if (!isApplied) continue;
    const stored = await readBack(teachers, { id: teacher.id, key, action: change.action });
    const [before, after] = [announcedStatuses(teacher), statusesOn(stored, today)];
    return { teacher: stored, before, after, events: write.events };
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

type ActionRule = {
  /** What the change sets. */
  readonly set: (
    teacher: StoredTeacher,
    by: { reason: string; today: CalendarDate },
  ) => Partial<TeacherContent>;
  /** Whether a record shows the change. */
  readonly isDone: (teacher: StoredTeacher) => boolean;
  /** Why the change makes no sense for a record; null when it does. */
  readonly refusal: (teacher: StoredTeacher) => string | null;
};

/** A deactivated teacher's licence can be revoked, and so can one that an extract has revoked: neither must come back. */
const rules: Readonly<Record<TeacherAction, ActionRule>> = {
  revoke: {
    set: ({ licenseRevokedOn: on }, { reason, today }) => ({
      licenseRevokedOn: on !== null && on < today ? on : today,
      licenseRevokedReason: reason,
      licenseRevokedBy: "operator",
    }),
    isDone: ({ licenseRevokedOn }) => licenseRevokedOn !== null,
    refusal({ licenseRevokedOn: on, licenseRevokedBy, licenseExpiryDate }) {
      if (licenseRevokedBy === "operator") return `the licence is revoked already, since ${on}`;
      return on === null && licenseExpiryDate === null ? "there is no licence to revoke" : null;
    },
  },
  reinstate: {
    set: () => ({ licenseRevokedOn: null, licenseRevokedReason: null, licenseRevokedBy: null }),
    isDone: ({ licenseRevokedOn }) => licenseRevokedOn === null,
    refusal: ({ licenseRevokedOn: on }) => (on === null ? "the licence is not revoked" : null),
  },
  deactivate: {
    set: () => ({ active: false }),
    isDone: ({ active }) => !active,
    refusal: ({ active }) => (active ? null : "the teacher is deactivated already"),
  },
  reactivate: {
    set: () => ({ active: true }),
    isDone: ({ active }) => active,
    refusal: ({ active }) => (active ? "the teacher is not deactivated" : null),
  },
  hide: {
    set: () => ({ hidden: true }),
    isDone: ({ hidden }) => hidden,
    refusal: ({ hidden }) => (hidden ? "the teacher is hidden already" : null),
  },
  unhide: {
    set: () => ({ hidden: false }),
    isDone: ({ hidden }) => !hidden,
    refusal: ({ hidden }) => (hidden ? null : "the teacher is not hidden"),
  },
};

function changedContent(
  teacher: StoredTeacher,
  { action, ...by }: { action: TeacherAction; reason: string; today: CalendarDate },
): TeacherContent {
  const refusal = rules[action].refusal(teacher);
  if (refusal !== null) throw new TvsError("REFUSED", refusal);
  return { ...teacher, ...rules[action].set(teacher, by) };
}

/** Reads the record after the commit. @throws TvsError STORE_CORRUPT when it does not show what was committed */
async function readBack(
  teachers: TeacherStore,
  { id, key, action }: { id: number; key: TeacherKey; action: TeacherAction },
): Promise<StoredTeacher> {
  const stored = await teachers.findStored(key);
  if (stored?.id === id && rules[action].isDone(stored)) return stored;
  throw new TvsError(
    "STORE_CORRUPT",
    `the change was committed and announced, but the record read back does not show it (${action}): ` +
      "tvs teachers history shows whether another change was made at the same time; if not, something in the database " +
      "undoes what is written, and tvs doctor --full looks for it",
  );
}

/** One line of what happened to a teacher: a change of the record, or an event that partners were told. */
export type HistoryLine =
  | ({ readonly type: "change" } & HistoryEntry)
  | ({ readonly type: "event"; readonly at: number } & Pick<TeacherEvent, "eventType" | "eventId">);

/** Lists changes and events in the order of time; an event stands at the time at which the status changed. */
export async function teacherHistory(teachers: TeacherStore, teacherId: number): Promise<HistoryLine[]> {
  const [changes, events] = await Promise.all([teachers.history(teacherId), teachers.events(teacherId)]);
  const lines: HistoryLine[] = [
    ...changes.map((entry) => ({ type: "change" as const, ...entry })),
    ...events.map(({ occurredAt: at, eventType, eventId }) => {
      return { type: "event" as const, at, eventType, eventId };
    }),
  ];
  return lines.sort((a, b) => a.at - b.at);
}
