/** Reads and writes date-times. Reading is strict (RFC 3339): `Date.parse` would accept local times and free text too. */

const pattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

function offsetMinutes(text: string): number | null {
  if (text === "Z") return 0;
  const hours = Number(text.slice(1, 3));
  const minutes = Number(text.slice(4, 6));
  if (hours > 23 || minutes > 59) return null;
  return (text[0] === "-" ? -1 : 1) * (hours * 60 + minutes);
}

/**
 * Reads a date-time of RFC 3339 (section 5.6), in upper case and without leap seconds.
 * @returns whole milliseconds since the Unix epoch; null for any other text
 */
export function parseDateTime(text: string): number | null {
  const match = pattern.exec(text);
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const offset = offsetMinutes(match[8] ?? "");
  if (offset === null || year < 1970 || hour > 23 || minute > 59 || second > 59) return null;
  const date = new Date(Date.UTC(year, month - 1, day));
  // Date.UTC turns 30 February into a day in March. Month and day stay the same only for a date that exists.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const ms = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  return date.getTime() + ((hour * 60 + minute - offset) * 60 + second) * 1000 + ms;
}

/** Writes seconds since the Unix epoch as `YYYY-MM-DDTHH:MM:SSZ`; null if beyond the range of Date. */
export function formatUnixSeconds(seconds: number): string | null {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? null : `${date.toISOString().slice(0, -5)}Z`;
}

/** Date formats by locale, cached because creating a format costs much more than using it. */
const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * Writes a day in words: `2092-02-29` is "29 February 2092".
 * @param date a day, or a time in UTC, of which only the day is written; any other text is returned unchanged
 * @param locale a BCP 47 language tag
 */
export function formatDayInWords(date: string, locale = "en-GB"): string {
  const dayMs = parseDateTime(`${date.slice(0, 10)}T00:00:00Z`);
  if (dayMs === null) return date;
  let format = formats.get(locale);
  if (format === undefined) {
    const options = { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" } as const;
    format = new Intl.DateTimeFormat(locale, options);
    formats.set(locale, format);
  }
  return format.format(dayMs);
}
