import { isDeepStrictEqual } from "node:util";
import type { TeacherStore } from "../../store/teachers.ts";
import type { CalendarDate, Clock, TimeZoneCalendar } from "../clock.ts";
import { TvsError } from "../errors.ts";
import { announcedStatuses, statusesOn, type TeacherEvent } from "../events.ts";
import { isFailedFormula, readText } from "../import/values.ts";
import { hasHiddenCharacter } from "../plain-text.ts";
import { isAnnouncementDue, planLicenseAnnouncement } from "../sweep.ts";
import { type HistoryEntry, planTeacherWrite } from "./store.ts";
import type { StoredTeacher, TeacherContent, TeacherKey } from "./teachers.ts";
import { canonicalizeRegNo, maxTeacherId } from "./teachers.ts";

/** Attempts at a change before STORE_BUSY. An attempt fails if another process changes the record before its commit. */
const maxAttempts = 10;
const maxReasonLength = 500;

export type TeacherAction = Exclude<HistoryEntry["action"], "import" | "sweep">;

type ChangeDependencies = {
  readonly teachers: TeacherStore;
  readonly calendar: TimeZoneCalendar;
  readonly clock: Clock;
  readonly actor: string;
};

export type TeacherChangeResult = Awaited<ReturnType<typeof changeTeacher>>;

/**
 * Parses a reference to a teacher: a registration number or a teacher id.
 * @param name the operand's or option's name in the error message
 * @throws TvsError USAGE for another text, which the message does not repeat
 */
export function parseTeacherReference(text: string, name = "REF"): TeacherKey {
  if (/^\d{1,16}$/.test(text) && Number(text) <= maxTeacherId) return { by: "tId", value: Number(text) };
  const regNo = canonicalizeRegNo(text);
  if (regNo !== null) return { by: "regNo", value: regNo };
  const wanted = "a registration number of four segments (A/B/C/D) or a teacher id (digits)";
  throw new TvsError("USAGE", `${name} must be ${wanted}`);
}

/** Reads a teacher's record. @throws TvsError NOT_KNOWN if no teacher has the key */
export async function requireTeacher(teachers: TeacherStore, key: TeacherKey): Promise<StoredTeacher> {
  const teacher = await teachers.findStored(key);
  if (teacher === null)
    throw new TvsError("NOT_KNOWN", "no teacher has this registration number or teacher id");
  return teacher;
}

/**
 * Checks the reason of a change. The history stores the reason, so contacts and NINs are refused (decision D3.7).
 * @returns the trimmed reason
 * @throws TvsError USAGE for a reason that is refused
 */
export function checkChangeReason(text: string): string {
  // Uses the import's reader, so that an import accepts an exported reason unchanged.
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
 * Changes a teacher's status, and commits the record, its history and its events in one transaction.
 *
 * If another process changed the record before the commit, the change is computed again from the new version. A licence
 * that began or expired by its dates is announced to partners first.
 * @param change `reason` was checked by {@link checkChangeReason}
 * @throws TvsError NOT_KNOWN, REFUSED if the record does not allow the change, STORE_BUSY if the record keeps changing,
 *   STORE_CORRUPT if the record read after the commit does not show the change
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
    if (isAnnouncementDue(teacher, today)) {
      await teachers.apply([planLicenseAnnouncement(teacher, dependencies)]);
      continue;
    }
    const changed = changedFields(teacher, { ...change, today });
    const by = { ...dependencies, ...change, at: clock.now() };
    const write = planTeacherWrite(teacher, { ...teacher, ...changed }, by);
    const [isApplied] = await teachers.apply([write]);
    if (!isApplied) continue;
    const stored = await teachers.findStored(key);
    // A version above this write's shows that another change was committed after this write.
    const isLater = stored?.id === teacher.id && stored.version > teacher.version + 1;
    if (!isLater && (stored?.id !== teacher.id || !isDeepStrictEqual({ ...stored, ...changed }, stored)))
      throw undoneError(change.action);
    const [before, after] = [announcedStatuses(teacher), statusesOn(stored, today)];
    return { teacher: stored, before, after, events: write.events };
  }
  throw new TvsError("STORE_BUSY", "the record kept changing at the same time; try again");
}

type ActionRule = {
  readonly set: (
    teacher: StoredTeacher,
    by: { reason: string; today: CalendarDate },
  ) => Partial<TeacherContent>;
  /** Why the record does not allow the change; null if it does. */
  readonly refusal: (teacher: StoredTeacher) => string | null;
};

function flagRule(field: "active" | "hidden", value: boolean, refusal: string): ActionRule {
  return {
    set: () => ({ [field]: value }),
    refusal: (teacher) => (teacher[field] === value ? refusal : null),
  };
}

/** The rules of each action. `revoke` makes an extract's revocation the operator's, so no later extract lifts it. */
const rules: Readonly<Record<TeacherAction, ActionRule>> = {
  revoke: {
    set: ({ licenseRevokedOn: on }, { reason, today }) => ({
      licenseRevokedOn: on !== null && on < today ? on : today,
      licenseRevokedReason: reason,
      licenseRevokedBy: "operator",
    }),
    refusal({ licenseRevokedOn: on, licenseRevokedBy, licenseExpiryDate }) {
      if (licenseRevokedBy === "operator") return `the licence is revoked already, since ${on}`;
      return on === null && licenseExpiryDate === null ? "there is no licence to revoke" : null;
    },
  },
  reinstate: {
    set: () => ({ licenseRevokedOn: null, licenseRevokedReason: null, licenseRevokedBy: null }),
    refusal: ({ licenseRevokedOn: on }) => (on === null ? "the licence is not revoked" : null),
  },
  deactivate: flagRule("active", false, "the teacher is deactivated already"),
  reactivate: flagRule("active", true, "the teacher is not deactivated"),
  hide: flagRule("hidden", true, "the teacher is hidden already"),
  unhide: flagRule("hidden", false, "the teacher is not hidden"),
};

function changedFields(
  teacher: StoredTeacher,
  { action, ...by }: { action: TeacherAction; reason: string; today: CalendarDate },
): Partial<TeacherContent> {
  const refusal = rules[action].refusal(teacher);
  if (refusal !== null) throw new TvsError("REFUSED", refusal);
  return rules[action].set(teacher, by);
}

function undoneError(action: TeacherAction): TvsError {
  return new TvsError(
    "STORE_CORRUPT",
    `the change was committed and announced, but the record read back does not show it (${action}): ` +
      "tvs teachers history shows whether another change was made at the same time; if not, something in the database " +
      "undoes what is written, and tvs doctor --full looks for it",
  );
}

/** A line of a teacher's history: a change of the record, or an event for partners. */
export type HistoryLine =
  | ({ readonly type: "change" } & HistoryEntry)
  | ({ readonly type: "event"; readonly at: number } & Pick<TeacherEvent, "eventType" | "eventId">);

/** Lists a teacher's changes and events by time. An event's time is that of the status change, not of the delivery. */
export async function readTeacherHistory(teachers: TeacherStore, teacherId: number): Promise<HistoryLine[]> {
  const [changes, events] = await Promise.all([teachers.history(teacherId), teachers.events(teacherId)]);
  const changeLines = changes.map((entry): HistoryLine => ({ type: "change", ...entry }));
  const eventLines = events.map(({ occurredAt: at, eventType, eventId }): HistoryLine => {
    return { type: "event", at, eventType, eventId };
  });
  return [...changeLines, ...eventLines].sort((a, b) => a.at - b.at);
}
