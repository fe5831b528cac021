import type { TeacherStore } from "../store/teachers.ts";
import { addDays, type CalendarDate, type Clock, type TimeZoneCalendar } from "./clock.ts";
import type { Configuration } from "./configuration.ts";
import { TvsError } from "./errors.ts";
import { runAndPause, startRepeating } from "./serial.ts";
import { planTeacherWrite, type TeacherWrite } from "./teachers/store.ts";
import type { StoredTeacher } from "./teachers/teachers.ts";

/** The most teachers in one commit, which then takes a few milliseconds and hardly delays other writes. */
const chunkRows = 50;
const pollIntervalMs = 1_000;

/**
 * Announces licences that ended or began since the last sweep. A write requires that its record is unchanged, so
 * concurrent sweeps and commands announce each licence once.
 * @param options `isStopped` ends the sweep between two commits; `onProgress` gets the number of announced licences
 * @returns the date, and the numbers of ended licences, begun licences and events
 * @throws TvsError INTERNAL if a due record cannot be written
 */
export async function sweepLicenses(
  teachers: TeacherStore,
  options: {
    calendar: TimeZoneCalendar;
    clock: Clock;
    actor: string;
    isStopped?: () => boolean;
    onProgress?: (announced: number) => void;
  },
) {
  const { calendar, clock, isStopped = () => false, onProgress = () => {} } = options;
  const date = calendar.dateAt(clock.now());
  const counts = { expired: 0, started: 0, events: 0 };
  let refused = "";
  while (!isStopped()) {
    const due = await teachers.dueByCalendar(date, chunkRows);
    if (due[0] === undefined) break;
    // A write is refused if its record changed after the read. If an unchanged record is refused, retries would not end.
    const first = `${due[0].id} ${due[0].version}`;
    if (first === refused)
      throw new TvsError("INTERNAL", "a licence that is due could not be written; run tvs doctor");
    const writes = due.map((teacher) => planLicenseAnnouncement(teacher, options));
    const applied = await runAndPause(() => teachers.apply(writes));
    for (const [index, write] of writes.entries()) if (applied[index]) count(counts, write);
    onProgress(counts.expired + counts.started);
    refused = applied.some(Boolean) ? "" : first;
  }
  return { date, ...counts };
}

function count(counts: { expired: number; started: number; events: number }, write: TeacherWrite): void {
  if (write.announcedStatus === "EXPIRED") counts.expired++;
  if (write.announcedStatus === "VALID") counts.started++;
  counts.events += write.events.length;
}

/** True if the licence has ended or begun since its status was announced. */
export function isAnnouncementDue(teacher: StoredTeacher, today: CalendarDate): boolean {
  const { announcedStatus, active, hidden, licenseIssueDate, licenseExpiryDate, licenseRevokedOn } = teacher;
  if (licenseExpiryDate === null) return false;
  if (announcedStatus === "VALID") return licenseExpiryDate < today;
  if (announcedStatus !== "NOT_FOUND" || !active || hidden || licenseRevokedOn !== null) return false;
  return licenseIssueDate !== null && licenseIssueDate <= today;
}

/**
 * Plans the next announcement of a due licence. A licence that began and ended between two sweeps needs two plans.
 * The history gets the time of the sweep, the event the time at which the licence began or ended.
 */
export function planLicenseAnnouncement(
  teacher: StoredTeacher,
  options: { calendar: TimeZoneCalendar; clock: Clock; actor: string },
): TeacherWrite {
  const { calendar, clock, actor } = options;
  const at = clock.now();
  const begun = Math.min(at, calendar.startOfDay(stepDate(teacher)));
  const write = planTeacherWrite(teacher, teacher, { action: "sweep", actor, calendar, at: begun });
  return { ...write, at, history: write.history === null ? null : { ...write.history, at } };
}

function stepDate({ announcedStatus, licenseIssueDate, licenseExpiryDate }: StoredTeacher): CalendarDate {
  if (announcedStatus === "NOT_FOUND" && licenseIssueDate !== null) return licenseIssueDate;
  if (licenseExpiryDate !== null) return addDays(licenseExpiryDate, 1);
  throw new TvsError("INTERNAL", "a licence without dates cannot be due");
}

/**
 * Sweeps now and after every local midnight. The date is read once a second, so that no day is missed if the clock is
 * set or the machine sleeps. A failed sweep is retried a second later.
 * @returns a function that stops the sweeps, and resolves when the current sweep has ended
 */
export function startLicenseSweeps(dependencies: {
  teachers: TeacherStore;
  configuration: Configuration;
  clock: Clock;
  onError: (error: unknown) => void;
}): () => Promise<void> {
  const { teachers, configuration, clock, onError } = dependencies;
  let sweptFor = "";

  async function look(isStopped: () => boolean): Promise<void> {
    const { calendar } = configuration.current();
    // The time zone belongs to the day: in another zone the same date begins at another moment.
    const day = `${calendar.timeZone} ${calendar.dateAt(clock.now())}`;
    if (day === sweptFor) return;
    await sweepLicenses(teachers, { calendar, clock, actor: "service", isStopped });
    sweptFor = day;
  }

  return startRepeating(look, { everyMs: pollIntervalMs, onError });
}
