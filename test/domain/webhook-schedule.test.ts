import { describe, expect, test } from "bun:test";
import {
  disablesEndpoint,
  endpointFailureLimitMs,
  nextAttempt,
  retryStepsMs,
} from "../../src/domain/webhook-schedule.ts";

const seconds = 1000;
const minutes = 60 * seconds;
const hours = 60 * minutes;

const steps: [attempt: number, waitMs: number][] = [
  [1, 5 * seconds],
  [2, 30 * seconds],
  [3, 5 * minutes],
  [4, 30 * minutes],
  [5, 2 * hours],
  [6, 5 * hours],
  [7, 10 * hours],
  [8, 14 * hours],
  [9, 20 * hours],
  [10, 24 * hours],
];
const least = () => 0;
const most = () => 1 - Number.EPSILON;

describe("nextAttempt", () => {
  test.each(steps)("after attempt %i it waits %i ms and at most a fifth more", (attempt, waitMs) => {
    expect(nextAttempt({ attempt, retryAfterSeconds: null, random: least })).toBe(waitMs);
    expect(nextAttempt({ attempt, retryAfterSeconds: null, random: () => 0.5 })).toBe((waitMs * 11) / 10);
    const longest = nextAttempt({ attempt, retryAfterSeconds: null, random: most });
    expect(longest).toBeWithin(waitMs * 1.2 - 1, waitMs * 1.2 + 1);
  });

  test.each(steps)(
    "after attempt %i Retry-After counts between the step and twice the step",
    (attempt, waitMs) => {
      const after = (share: number, random = least) =>
        nextAttempt({ attempt, retryAfterSeconds: (share * waitMs) / seconds, random });
      expect(after(0)).toBe(waitMs);
      expect(after(0.5)).toBe(waitMs);
      expect(after(0.99, () => 0.5)).toBe((waitMs * 11) / 10);
      expect(after(16 / 10, most)).toBe((waitMs * 16) / 10);
      expect(after(2, most)).toBe(waitMs * 2);
      expect(after(1000, most)).toBe(waitMs * 2);
    },
  );

  test("Retry-After shortens no jittered step", () => {
    expect(nextAttempt({ attempt: 1, retryAfterSeconds: 5.1, random: () => 0.5 })).toBe(5500);
  });

  test("the eleventh failure is the last, whatever Retry-After says", () => {
    expect(steps.length).toBe(10);
    for (const attempt of [11, 12, 1000]) {
      expect(nextAttempt({ attempt, retryAfterSeconds: 60, random: least })).toBe("dead");
    }
  });

  test("attempts are counted from 1", () => {
    for (const attempt of [0, -1, 1.5, Number.NaN]) {
      expect(() => nextAttempt({ attempt, retryAfterSeconds: null, random: least })).toThrow(RangeError);
    }
  });

  test("a delivery is given up before its endpoint is disabled for failing", () => {
    const longestMs = retryStepsMs.reduce((total, stepMs) => total + stepMs * 1.2, 0);
    expect(longestMs).toBeLessThan(endpointFailureLimitMs);
  });
});

test("only 410 disables an endpoint", () => {
  expect(disablesEndpoint(410)).toBe(true);
  for (const status of [200, 301, 400, 404, 409, 411, 500, 503, null])
    expect(disablesEndpoint(status)).toBe(false);
});
