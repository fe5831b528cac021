import { expect, test } from "bun:test";
import { addDays, createTimeZoneCalendar, daysBetween, isCalendarDate } from "../../src/domain/clock.ts";

// biome-ignore format: a table reads better in rows
test.each([
  ["Africa/Lagos", "2026-03-01", "2026-02-28T23:00:00.000Z", "an hour ahead all year"],
  ["UTC", "2026-01-01", "2026-01-01T00:00:00.000Z", "no offset"],
  ["Europe/London", "2026-03-29", "2026-03-29T00:00:00.000Z", "summer time begins later that day"],
  ["Europe/London", "2026-03-30", "2026-03-29T23:00:00.000Z", "the day after is an hour earlier"],
  ["Europe/London", "2026-10-25", "2026-10-24T23:00:00.000Z", "summer time ends later that day"],
  ["Europe/London", "2026-10-26", "2026-10-26T00:00:00.000Z", "the day after is an hour later"],
  ["America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00.000Z", "midnight was skipped: it began at 01:00"],
  ["America/Sao_Paulo", "2019-02-17", "2019-02-17T03:00:00.000Z", "the hour before midnight came twice"],
  ["Asia/Beirut", "2022-03-27", "2022-03-26T22:00:00.000Z", "midnight was skipped"],
  ["America/St_Johns", "2006-10-29", "2006-10-29T02:30:00.000Z",
    "set back a minute after midnight: it began twice"],
  ["Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00.000Z", "the whole day was skipped"],
  ["Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00.000Z", "the day after the skipped one"],
  ["Asia/Kathmandu", "2026-01-01", "2025-12-31T18:15:00.000Z", "a quarter of an hour off"],
  ["Pacific/Kiritimati", "2026-01-01", "2025-12-31T10:00:00.000Z", "the furthest ahead"],
])("the time zone %s begins the day %s at %s: %s", (zone, date, begins, _why) => {
  expect(new Date(createTimeZoneCalendar(zone).startOfDay(date)).toISOString()).toBe(begins);
});

test("startOfDay agrees with dateAt on every day of two years", () => {
  for (const zone of ["Africa/Lagos", "Europe/London", "America/Sao_Paulo", "Australia/Lord_Howe"]) {
    const calendar = createTimeZoneCalendar(zone);
    for (let date = "2018-01-01"; date < "2020-01-01"; date = addDays(date, 1)) {
      const start = calendar.startOfDay(date);
      expect(calendar.dateAt(start)).toBe(date);
      expect(calendar.dateAt(start - 1) < date).toBe(true);
    }
  }
});

test("addDays crosses months, years and leap days", () => {
  const next = ["2026-01-31", "2026-12-31", "2028-02-28", "2028-02-29"].map((date) => addDays(date, 1));
  expect(next).toEqual(["2026-02-01", "2027-01-01", "2028-02-29", "2028-03-01"]);
});

test("daysBetween counts calendar days", () => {
  expect(daysBetween("2026-02-27", "2026-03-01")).toBe(2);
  expect(daysBetween("2026-03-01", "2026-02-27")).toBe(-2);
});

test("isCalendarDate accepts only dates that exist", () => {
  const wrong = ["2026-02-29", "2026-13-01", "2026-1-1", "26-01-01", "2026-01-01T00:00:00Z", ""];
  expect(["2026-02-28", ...wrong, "2028-02-29"].filter(isCalendarDate)).toEqual(["2026-02-28", "2028-02-29"]);
});
