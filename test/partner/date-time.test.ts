import { describe, expect, test } from "bun:test";
import { formatSeconds, parseDateTime } from "../../src/partner/date-time.ts";

describe("parseDateTime", () => {
  test.each([
    ["2026-03-01T09:30:00Z", "2026-03-01T09:30:00.000Z"],
    ["2026-03-01T09:30:00.25Z", "2026-03-01T09:30:00.250Z"],
    ["2026-03-01T09:30:00.999999999Z", "2026-03-01T09:30:00.999Z"],
    ["2026-03-01T10:30:00+01:00", "2026-03-01T09:30:00.000Z"],
    ["2026-03-01T00:30:00-23:59", "2026-03-02T00:29:00.000Z"],
    ["2024-02-29T23:59:59Z", "2024-02-29T23:59:59.000Z"],
  ])("reads %s", (text, expected) => expect(parseDateTime(text)).toBe(Date.parse(expected)));

  test.each([
    "",
    "2026-03-01",
    "2026-03-01 09:30:00Z",
    "2026-03-01T09:30:00",
    "2026-03-01T09:30Z",
    "2026-03-01T09:30:00.Z",
    "2026-03-01T09:30:00z",
    "2026-03-01T24:00:00Z",
    "2026-03-01T09:60:00Z",
    "2026-03-01T09:30:60Z",
    "2026-02-29T09:30:00Z",
    "2026-13-01T09:30:00Z",
    "2026-00-10T09:30:00Z",
    "2026-03-01T09:30:00+24:00",
    "2026-03-01T09:30:00+0100",
    " 2026-03-01T09:30:00Z",
    "2026-03-01T09:30:00Z\n",
    "1 March 2026",
  ])("refuses %p", (text) => expect(parseDateTime(text)).toBeNull());
});

test("formatSeconds writes whole seconds, and nothing for a time out of range", () => {
  expect(formatSeconds(1772357400)).toBe("2026-03-01T09:30:00Z");
  expect(formatSeconds(Number.MAX_SAFE_INTEGER)).toBeNull();
});
