/** Reads `Retry-After` (RFC 9110, 10.2.3): seconds, or a date in one of the three forms of 5.6.7. */

/** More than any schedule waits; keeps an absurd number out of arithmetic and storage. */
const maxRetryAfterSeconds = 366 * 24 * 3600;

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const time = "(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)";
const imfFixdate = new RegExp(
  `^[A-Z][a-z]{2}, (?<day>\\d\\d) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4}) ${time} GMT$`,
);
const rfc850Date = new RegExp(
  `^[A-Z][a-z]{5,8}, (?<day>\\d\\d)-(?<month>[A-Z][a-z]{2})-(?<year>\\d\\d) ${time} GMT$`,
);
const asctimeDate = new RegExp(
  `^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[\\d ]\\d) ${time} (?<year>\\d{4})$`,
);

/**
 * @param value the header as received, or undefined
 * @param nowMs the time a date is relative to, in milliseconds since the Unix epoch
 * @returns whole seconds from now, 0 for a date in the past, null when absent or unreadable
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) return Math.min(Number(text), maxRetryAfterSeconds);
  const dateMs = parseHttpDate(text, nowMs);
  if (dateMs === null) return null;
  const seconds = Math.ceil((dateMs - nowMs) / 1000);
  return Math.min(Math.max(seconds, 0), maxRetryAfterSeconds);
}

function parseHttpDate(text: string, nowMs: number): number | null {
  const match = imfFixdate.exec(text) ?? rfc850Date.exec(text) ?? asctimeDate.exec(text);
  const { year = "", month = "", day = "", hour, minute, second } = match?.groups ?? {};
  const monthIndex = months.indexOf(month);
  if (monthIndex < 0) return null;
  const fullYear = year.length === 2 ? centuryOf(Number(year), nowMs) : Number(year);
  return Date.UTC(fullYear, monthIndex, Number(day), Number(hour), Number(minute), Number(second));
}

/** A two-digit year that seems more than 50 years ahead means the past one with those digits. */
function centuryOf(year: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const candidate = thisYear - (thisYear % 100) + year;
  return candidate > thisYear + 50 ? candidate - 100 : candidate;
}
