/** The day of a sandbox, which a partner's engineer may move to see licences begin and end (decision D9.3). */

import { type CalendarDate, type Clock, createCalendar, daysBetween, isCalendarDate } from "../clock.ts";
import { TvsError } from "../errors.ts";
import type { SettingsStore } from "../settings.ts";
import { announceEach, sweep } from "../sweep.ts";
import { planWrite, type TeacherStore } from "../teachers/store.ts";
import { writeDay } from "./state.ts";

/** Dates are compared as text, and the made-up licences end long before the last of these. */
const firstDate = "1950-01-01";
const lastDate = "2199-12-31";

type ClockDependencies = {
  readonly settings: SettingsStore;
  readonly teachers: TeacherStore;
  readonly timeZone: string;
  readonly clock: Clock;
  readonly actor: string;
};

/** What became of the licences when the day was moved. */
export type MovedClock = Awaited<ReturnType<typeof moveClock>>;

/**
 * Reads where the day is to be moved: `real`, a date, or so many days on from the sandbox's present day.
 * @returns by how many days it is then ahead of the real day
 * @throws TvsError USAGE
 */
export function parseClock(text: string, days: { real: CalendarDate; present: CalendarDate }): number {
  if (text === "real") return 0;
  const on = /^\+(\d{1,5})d$/.exec(text)?.[1];
  const aheadDays =
    on !== undefined
      ? daysBetween(days.real, days.present) + Number(on)
      : isCalendarDate(text)
        ? daysBetween(days.real, text)
        : undefined;
  if (aheadDays === undefined)
    throw new TvsError(
      "USAGE",
      "say +30d (days from the sandbox's day on), a date such as 2027-01-31, or real",
    );
  const earliest = daysBetween(days.real, firstDate);
  const latest = daysBetween(days.real, lastDate);
  if (aheadDays >= earliest && aheadDays <= latest) return aheadDays;
  throw new TvsError("USAGE", `a sandbox's day is from ${firstDate} to ${lastDate}`);
}

/**
 * Moves the day, and announces what it changes as the real calendar would: licences end and begin. Moved back, licences
 * that had ended are valid again, and partners are told that too, so that what they were told stays what they would be
 * answered.
 * @param options `announce` false tells partners nothing
 */
export async function moveClock(
  dependencies: ClockDependencies,
  aheadDays: number,
  options: { announce?: boolean } = {},
) {
  const { settings, teachers, timeZone, clock, actor } = dependencies;
  const day = { aheadDays, movedAt: clock.now() };
  await writeDay(settings, day);
  const calendar = createCalendar(timeZone, day);
  const { announce = true } = options;
  const back = await takeBack({ ...dependencies, calendar, announce });
  const swept = await sweep(teachers, { calendar, clock, actor, announce });
  // Taken back: licences that had been announced for a day that is to come again.
  return { ...swept, aheadDays, takenBack: back.licenses, events: back.events + swept.events };
}

type Moved = ClockDependencies & { calendar: ReturnType<typeof createCalendar>; announce: boolean };

/** Puts licences back that were announced for a day which is to come again. */
async function takeBack({ teachers, clock, actor, calendar, announce }: Moved) {
  const counts = { licenses: 0, events: 0 };
  await announceEach(teachers, {
    next: (limit) => teachers.announcedAhead(calendar.dateAt(clock.now()), limit),
    plan: (teacher) =>
      planWrite(teacher, teacher, { action: "sweep", actor, calendar, at: clock.now(), announce }),
    onApplied(writes) {
      counts.licenses += writes.length;
      counts.events += writes.reduce((sum, { events }) => sum + events.length, 0);
    },
    isStopped: () => false,
  });
  return counts;
}
