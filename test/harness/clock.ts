import { type Clock, createTimeZoneCalendar } from "../../src/domain/clock.ts";

/** The calendar of the service's default time zone. */
export const lagos = createTimeZoneCalendar("Africa/Lagos");

/** A clock that only the test moves. */
export type TestClock = Clock & { set(time: string): void; add(ms: number): void };

export function aClock(time: string): TestClock {
  let now = Date.parse(time);
  return {
    now: () => now,
    set(to) {
      now = Date.parse(to);
    },
    add(ms) {
      now += ms;
    },
  };
}
