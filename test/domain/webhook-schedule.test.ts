import { expect, test } from "bun:test";
import {
  endpointFailureLimitMs,
  nextAttemptDelayMs,
  retryDelaysMs,
} from "../../src/domain/webhook-schedule.ts";

const seconds = 1000;
const minutes = 60 * seconds;
const hours = 60 * minutes;

const waits = [
  ...[5 * seconds, 30 * seconds, 5 * minutes, 30 * minutes],
  ...[2 * hours, 5 * hours, 10 * hours, 14 * hours, 20 * hours, 24 * hours],
];
const steps = waits.map((waitMs, at) => [at + 1, waitMs] as const);
const least = () => 0;
const half = () => 0.5;
const most = () => 1 - Number.EPSILON;

test.each(steps)(
  "the wait after failed attempt %i of a delivery is %i ms, plus at most a fifth",
  (attempt, waitMs) => {
    const after = (random: () => number) => nextAttemptDelayMs({ attempt, retryAfterSeconds: null, random });
    expect([after(least), after(half)]).toEqual([waitMs, (waitMs * 11) / 10]);
    expect(after(most)).toBeWithin(waitMs * 1.2 - 1, waitMs * 1.2 + 1);
  },
);

test.each(steps)(
  "a Retry-After header after failed attempt %i gives a wait from %i ms to twice that time",
  (attempt, waitMs) => {
    const after = (share: number, random = least) =>
      nextAttemptDelayMs({ attempt, retryAfterSeconds: (share * waitMs) / seconds, random }) as number;
    expect([after(0), after(0.5)]).toEqual([waitMs, waitMs]);
    expect([after(0.99, half), after(1.6, most)]).toEqual([waitMs * 1.1, waitMs * 1.6].map(Math.round));
    expect([2, 1000, 1e30].map((share) => after(share, most))).toEqual([waitMs * 2, waitMs * 2, waitMs * 2]);
  },
);

test("a delivery is dead after its eleventh failed attempt, whatever Retry-After says", () => {
  expect(retryDelaysMs).toEqual(waits);
  for (const attempt of [11, 12, 1000]) {
    expect(nextAttemptDelayMs({ attempt, retryAfterSeconds: 60, random: least })).toBe("dead");
  }
});

test("the schedule of a delivery ends before its endpoint is disabled for failures", () => {
  const longestMs = retryDelaysMs.reduce((total, stepMs) => total + stepMs * 1.2, 0);
  expect(longestMs).toBeLessThan(endpointFailureLimitMs);
});
