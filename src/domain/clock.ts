/** The only source of the date and the time of day. Tests use a clock that they set. */
export type Clock = {
  /** Milliseconds since the Unix epoch. */
  now(): number;
};

export const systemClock: Clock = { now: () => Date.now() };

/** A calendar date, `YYYY-MM-DD`. */
export type CalendarDate = string;

export type Calendar = ReturnType<typeof createCalendar>;

const quarterHourMs = 15 * 60_000;
const dayMs = 86_400_000;
/** No time zone is further from UTC than this. */
const maxOffsetMs = 16 * 3_600_000;
/** The largest step by which a time zone has set its clocks back, in quarter hours. Whole days do not count. */
const maxSetBackQuarters = 12;

/**
 * Makes the calendar of a time zone. UTC offsets change only at a quarter hour, so one date is cached per quarter hour.
 * @param timeZone IANA name, for example `Africa/Lagos`
 * @throws RangeError for an unknown time zone
 */
export function createCalendar(timeZone: string) {
  // Swedish dates have the form YYYY-MM-DD.
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" });
  let remembered = { quarter: Number.NaN, date: "" };

  function dateAt(nowMs: number): CalendarDate {
    const quarter = Math.floor(nowMs / quarterHourMs);
    if (quarter !== remembered.quarter)
      remembered = { quarter, date: format.format(quarter * quarterHourMs) };
    return remembered.date;
  }

  /** Finds a day's start, in milliseconds since the epoch. If the clocks skip midnight, the day starts after the gap. */
  function startOfDay(date: CalendarDate): number {
    const reached = (quarter: number) => format.format(quarter * quarterHourMs) >= date;
    let before = Math.floor((Date.parse(date) - maxOffsetMs) / quarterHourMs);
    let after = Math.ceil((Date.parse(date) + maxOffsetMs) / quarterHourMs);
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (reached(middle)) after = middle;
      else before = middle;
    }
    // If clocks go back just after midnight, the day begins twice; its first beginning is returned.
    let first = after;
    for (let back = 1; back <= maxSetBackQuarters; back++) if (reached(after - back)) first = after - back;
    return first * quarterHourMs;
  }

  return { timeZone, dateAt, startOfDay };
}

/** Adds days to a date; negative `days` give an earlier date. */
export function addDays(date: CalendarDate, days: number): CalendarDate {
  return new Date(Date.parse(date) + days * dayMs).toISOString().slice(0, 10);
}

/** Counts the calendar days from one date to another; negative if `to` is earlier. */
export function daysBetween(from: CalendarDate, to: CalendarDate): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / dayMs);
}

/** True for a date that exists, written `YYYY-MM-DD`. */
export function isCalendarDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** Formats Unix seconds, such as an envelope's `iat`, as ISO 8601 without milliseconds. */
export function isoFromSeconds(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}

/** The newest time that was formatted. Many answers are given in the same millisecond. */
let formatted = { ms: Number.NaN, text: "" };

/** Formats milliseconds since the epoch as ISO 8601 with milliseconds; null stays null. */
export function isoTime(ms: number): string;
export function isoTime(ms: number | null): string | null;
export function isoTime(ms: number | null): string | null {
  if (ms === null) return null;
  if (ms !== formatted.ms) formatted = { ms, text: new Date(ms).toISOString() };
  return formatted.text;
}

/** Formats each member of an object of times, as {@link isoTime} does. */
export function isoTimes<Times extends Readonly<Record<string, number | null>>>(times: Times) {
  const named = Object.entries(times).map(([name, ms]) => [name, isoTime(ms)]);
  return Object.fromEntries(named) as { readonly [Name in keyof Times]: string | Extract<Times[Name], null> };
}

/** Formats a duration in one unit: 40 s, 12 min, 5 h, 3 days. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

/** Reads the time in a UUIDv7 (RFC 9562, 5.7), in milliseconds since the epoch. @returns null if `id` is not a UUIDv7 */
export function timeOfUuid(id: string): number | null {
  const match = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.exec(id);
  return match === null ? null : Number.parseInt(`${match[1]}${match[2]}`, 16);
}

/** Makes the UUIDv7 that sorts before all ids made at `time` (milliseconds since the epoch) or later. */
export function lowestUuidAt(time: number): string {
  const hex = time.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** Parses a duration such as `30s`, `5m`, `24h` or `7d`. @returns milliseconds; null for a text of another form */
export function parseDurationMs(text: string): number | null {
  const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  return match === null ? null : Number(match[1]) * (units[match[2] ?? "s"] ?? 0);
}
