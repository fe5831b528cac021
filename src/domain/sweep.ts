import { type Calendar, type CalendarDate, type Clock, dayAfter } from "./clock.ts";
import type { Configuration } from "./configuration.ts";
import { TvsError } from "./errors.ts";
import { actAndRest, repeat } from "./serial.ts";
import { planWrite, type TeacherStore, type TeacherWrite } from "./teachers/store.ts";
import type { StoredTeacher } from "./teachers/teachers.ts";

/** Records in one commit: some milliseconds, which a call that waits for the disk does not notice. */
const chunkRows = 50;
/** How often a running service looks at the date. */
const lookMs = 1_000;

/**
 * Announces what the calendar has changed since it was last announced, however many days ago that was.
 *
 * Every write is bound to the version of the record that it was computed from, so two sweeps at once, or a
 * sweep and a command, announce each change exactly once: whoever is second finds nothing left to do.
 * @param options `actor` stands in the history; `isStopped` ends the sweep early, between two commits;
 *   `onProgress` is told after each how many licences were announced; `announce` false tells partners nothing
 * @returns the date, licences that ended, licences that began, and how many events told of them
 * @throws TvsError INTERNAL when a record that is due cannot be written
 */
export async function sweep(
  teachers: TeacherStore,
  options: {
    calendar: Calendar;
    clock: Clock;
    actor: string;
    isStopped?: () => boolean;
    onProgress?: (announced: number) => void;
    announce?: boolean;
  },
) {
  const { calendar, clock, onProgress = () => {} } = options;
  const date = calendar.dateAt(clock.now());
  const counts = { expired: 0, started: 0, events: 0 };
  await announceEach(teachers, {
    next: (limit) => teachers.dueByCalendar(date, limit),
    plan: (teacher) => planCalendarStep(teacher, options),
    onApplied(writes) {
      for (const write of writes) count(counts, write);
      onProgress(counts.expired + counts.started);
    },
    isStopped: options.isStopped ?? (() => false),
    clock,
  });
  return { date, ...counts };
}

/**
 * Writes whatever is to be announced, some records in a commit, until nothing is left or it is stopped.
 * @param options `next` gives records that are to be announced, `onApplied` is told of those that were, after each commit
 * @throws TvsError INTERNAL when a record cannot be written
 */
export async function announceEach(
  teachers: Pick<TeacherStore, "apply">,
  options: {
    next: (limit: number) => Promise<readonly StoredTeacher[]>;
    plan: (teacher: StoredTeacher) => TeacherWrite;
    onApplied: (writes: readonly TeacherWrite[]) => void;
    isStopped: () => boolean;
    clock?: Clock;
  },
): Promise<void> {
  let refused = "";
  while (!options.isStopped()) {
    const due = await options.next(chunkRows);
    // A record that was not written has moved on by another's hand; one that has not can never be written.
    const first = due[0] === undefined ? "" : `${due[0].id} ${due[0].version}`;
    if (due.length === 0) return;
    if (first === refused)
      throw new TvsError("INTERNAL", "a licence that is due could not be written; run tvs doctor");
    const writes = due.map(options.plan);
    const applied = await actAndRest(() => teachers.apply(writes), options.clock);
    options.onApplied(writes.filter((_, index) => applied[index]));
    refused = applied.some(Boolean) ? "" : first;
  }
}

function count(counts: { expired: number; started: number; events: number }, write: TeacherWrite): void {
  if (write.announcedStatus === "EXPIRED") counts.expired++;
  if (write.announcedStatus === "VALID") counts.started++;
  counts.events += write.events.length;
}

/** True when the calendar has changed the licence since partners were told of it. */
export function isDueByCalendar(teacher: StoredTeacher, today: CalendarDate): boolean {
  const { announcedStatus, active, hidden, licenseIssueDate, licenseExpiryDate, licenseRevokedOn } = teacher;
  if (licenseExpiryDate === null) return false;
  if (announcedStatus === "VALID") return licenseExpiryDate < today;
  if (announcedStatus !== "NOT_FOUND" || !active || hidden || licenseRevokedOn !== null) return false;
  return licenseIssueDate !== null && licenseIssueDate <= today;
}

/**
 * The next step of a licence that is due, as of the day on which it came about: one that began and ended
 * while nobody swept is announced twice, in order. What is recorded carries the time of the recording; the
 * event carries the time at which the status changed.
 */
export function planCalendarStep(
  teacher: StoredTeacher,
  options: { calendar: Calendar; clock: Clock; actor: string; announce?: boolean },
): TeacherWrite {
  const { calendar, clock, actor, announce = true } = options;
  const at = clock.now();
  const begun = Math.min(at, calendar.startOfDay(stepDate(teacher)));
  // A day that somebody moved came about when it was moved.
  const occurredAt = Math.max(begun, calendar.movedAt);
  const change = { action: "sweep", actor, calendar, at: begun, occurredAt, announce } as const;
  const write = planWrite(teacher, teacher, change);
  return { ...write, at, history: write.history === null ? null : { ...write.history, at } };
}

function stepDate({ announcedStatus, licenseIssueDate, licenseExpiryDate }: StoredTeacher): CalendarDate {
  if (announcedStatus === "NOT_FOUND" && licenseIssueDate !== null) return licenseIssueDate;
  if (licenseExpiryDate !== null) return dayAfter(licenseExpiryDate);
  throw new TvsError("INTERNAL", "a licence without dates cannot be due");
}

/**
 * Sweeps now and after every local midnight: the date is looked at once a second, so that neither a clock that was set,
 * a sandbox's calendar that was moved nor a machine that slept can make a day go missing. A sweep that failed is tried
 * again at the next look.
 * @param dependencies `onError` is told of a sweep that failed
 * @returns stops it, when a sweep that is under way has ended
 */
export function startSweeping(dependencies: {
  teachers: TeacherStore;
  configuration: Configuration;
  clock: Clock;
  onError: (error: unknown) => void;
}): () => Promise<void> {
  const { teachers, configuration, clock, onError } = dependencies;
  let sweptFor = "";

  async function look(isStopped: () => boolean): Promise<void> {
    const { calendar } = configuration.current();
    // A time zone that was changed is another calendar: the same date may begin at another moment.
    const day = `${calendar.timeZone} ${calendar.dateAt(clock.now())}`;
    if (day === sweptFor) return;
    await sweep(teachers, { calendar, clock, actor: "service", isStopped });
    sweptFor = day;
  }

  return repeat(look, { everyMs: lookMs, onError, clock });
}
