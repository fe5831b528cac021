/** Converts the dates of an extract to YYYY-MM-DD. */

import { isCalendarDate } from "../clock.ts";

/** Function that converts a date to YYYY-MM-DD. It returns null if the text is not a date in the reader's form. */
export type DateReader = (text: string) => string | null;

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const parts = {
  DD: "(?<day>\\d{1,2})",
  D: "(?<day>\\d{1,2})",
  MMM: "(?<name>[A-Za-z]{3,9})\\.?",
  MM: "(?<month>\\d{1,2})",
  M: "(?<month>\\d{1,2})",
  YYYY: "(?<year>\\d{4})",
  YY: "(?<year>\\d{2})",
} as const;
const token = /YYYY|YY|MMM|MM|M|DD|D/g;
/** Pattern of a time of day after a date, which spreadsheets add. Readers of dates ignore the time. */
const timeOfDay = "(?:[ T]+\\d{1,2}:\\d{2}(?::\\d{2}(?:\\.\\d+)?)?(?: ?[AaPp][Mm])?)?";
/** The two-digit years 70 to 99 mean 1970 to 1999, and 00 to 69 mean 2000 to 2069 (decision D7.11). */
const firstYearOf1900s = 70;

/**
 * Creates a reader of dates in a form such as `D/M/YYYY`. A form has a day (`D`, `DD`), a month (`M`, `MM`, or `MMM`
 * for its English name), a year (`YY`, `YYYY`) and separators. The form `excel` means the number of days since 1900.
 * Every reader also accepts YYYY-MM-DD.
 * @returns null if the form does not have exactly one day, one month and one year
 */
export function createDateReader(form: string): DateReader | null {
  if (form === "excel") return (text) => (isCalendarDate(text) ? text : dateOfSerial(text));
  const named = [...form.matchAll(token)].map(([name]) => name[0]).sort();
  if (named.join("") !== "DMY" || /[^DMY\s/.,-]/.test(form)) return null;
  const pattern = form
    .split(/(YYYY|YY|MMM|MM|M|DD|D|[.])/)
    .map((part) =>
      part in parts ? parts[part as keyof typeof parts] : part === "." ? "\\." : part.replace(/\s+/g, "\\s+"),
    )
    .join("");
  const whole = new RegExp(`^${pattern}${timeOfDay}$`);
  return (text) => (isCalendarDate(text) ? text : dateOf(whole.exec(text)?.groups));
}

function dateOf(found: Readonly<Record<string, string | undefined>> | undefined): string | null {
  if (found === undefined) return null;
  const { day = "", name, year = "" } = found;
  const month = name === undefined ? Number(found.month) : 1 + months.indexOf(name.slice(0, 3).toLowerCase());
  const full = year.length === 4 ? year : `${Number(year) >= firstYearOf1900s ? 19 : 20}${year}`;
  const date = `${full}-${String(month).padStart(2, "0")}-${day.padStart(2, "0")}`;
  return isCalendarDate(date) ? date : null;
}

/** Forms in which `tvs teachers map` tries to read the dates of a file. */
export const knownDateForms = [
  ...["/", "-", ".", " "].flatMap((gap) => [
    ...[`D${gap}M${gap}YYYY`, `M${gap}D${gap}YYYY`, `YYYY${gap}M${gap}D`],
    ...[`D${gap}M${gap}YY`, `M${gap}D${gap}YY`],
    ...[`D${gap}MMM${gap}YYYY`, `D${gap}MMM${gap}YY`, `MMM${gap}D${gap}YYYY`],
  ]),
  "MMM D, YYYY",
  "excel",
] as const;

const dayMs = 86_400_000;

/** Converts a spreadsheet's day number. Numbers from 60 on are one too high: spreadsheets count a 29 February 1900. */
export function convertDaysSince1900(serial: number): string | null {
  return isoDate(Date.UTC(1899, 11, serial < 61 ? 31 : 30) + Math.floor(serial) * dayMs);
}

export function convertDaysSince1904(serial: number): string | null {
  return isoDate(Date.UTC(1904, 0, 1) + Math.floor(serial) * dayMs);
}

function isoDate(ms: number): string | null {
  const isInRange = ms >= Date.UTC(1900, 0, 1) && ms < Date.UTC(10_000, 0, 1);
  return isInRange ? new Date(ms).toISOString().slice(0, 10) : null;
}

function dateOfSerial(text: string): string | null {
  return /^\d{1,7}(?:[.,]\d+)?$/.test(text) && Number.parseInt(text, 10) > 0
    ? convertDaysSince1900(Number.parseInt(text, 10))
    : null;
}

/** Matches a date in digits with the year first or last. A time of day may follow. */
const numeric =
  /^(?:(?<year>\d{4})[-/. ](?<one>\d{1,2})[-/. ](?<two>\d{1,2})|(?<three>\d{1,2})[-/. ](?<four>\d{1,2})[-/. ](?<end>\d{4}))(?:[ T].{0,20})?$/;

/** Whether a year is too early or too late for a licence. Programs write `0001-01-01` or `9999-12-31` for "no date". */
const isUnusedYear = (year: number) => year < 1902 || year >= 2900;
/** Whether a date is day 0 of Unix time (1970-01-01) or of spreadsheets on the Mac (1904-01-01). */
const isDayZero = (year: number, day: string) => (year === 1970 || year === 1904) && day === "1 1";

/** Whether a date means "no date", as `0000-00-00`, `1900-01-01` and `31/12/9999` do. */
export function isNoDatePlaceholder(cell: string): boolean {
  const found = numeric.exec(cell.slice(0, 40))?.groups;
  if (found === undefined) return false;
  const year = Number(found.year ?? found.end);
  const day = [found.one ?? found.three, found.two ?? found.four].map(Number).join(" ");
  return day.split(" ").includes("0") || isUnusedYear(year) || isDayZero(year, day);
}
