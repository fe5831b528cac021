import { expect, test } from "bun:test";
import { formatDayInWords, formatUnixSeconds, parseDateTime } from "../../src/partner/date-time.ts";

test.each([
  ["2026-03-01T09:30:00Z", "2026-03-01T09:30:00.000Z"],
  ["2026-03-01T09:30:00.25Z", "2026-03-01T09:30:00.250Z"],
  ["2026-03-01T09:30:00.999999999Z", "2026-03-01T09:30:00.999Z"],
  ["2026-03-01T10:30:00+01:00", "2026-03-01T09:30:00.000Z"],
  ["2026-03-01T00:30:00-23:59", "2026-03-02T00:29:00.000Z"],
  ["2024-02-29T23:59:59Z", "2024-02-29T23:59:59.000Z"],
  ["1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"],
])("parseDateTime reads %s", (text, expected) => expect(parseDateTime(text)).toBe(Date.parse(expected)));

// biome-ignore format: a list reads better in rows
test.each([
  "", "2026-03-01", "2026-03-01 09:30:00Z", "2026-03-01T09:30:00", "2026-03-01T09:30Z",
  "2026-03-01T09:30:00.Z", "2026-03-01T09:30:00z", "2026-03-01T24:00:00Z", "2026-03-01T09:60:00Z",
  "2026-03-01T09:30:60Z", "2026-02-29T09:30:00Z", "2026-13-01T09:30:00Z", "2026-00-10T09:30:00Z",
  "2026-03-01T09:30:00+24:00", "2026-03-01T09:30:00+01:60", "1969-12-31T23:59:59Z",
  "2026-03-01T09:30:00+0100", " 2026-03-01T09:30:00Z", "2026-03-01T09:30:00Z\n", "1 March 2026",
])("parseDateTime refuses %p", (text) => expect(parseDateTime(text)).toBeNull());

test("formatUnixSeconds writes whole seconds, and returns null for a time beyond the range of Date", () => {
  expect(formatUnixSeconds(1772357400)).toBe("2026-03-01T09:30:00Z");
  expect(formatUnixSeconds(Number.MAX_SAFE_INTEGER)).toBeNull();
});

test("formatDayInWords writes the day of a date, and returns any other text unchanged", () => {
  expect(formatDayInWords("2092-02-29")).toBe("29 February 2092");
  expect(formatDayInWords("2026-03-01T23:59:59-23:00", "de")).toBe("1. März 2026");
  expect(formatDayInWords("2026-02-30")).toBe("2026-02-30");
});
