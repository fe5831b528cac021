import { expect, test } from "bun:test";
import {
  checkClockDifference,
  createClockMonitor,
  measureClockDifference,
  requireRightClock,
} from "../../src/domain/database-clock.ts";
import { catchError } from "../harness/rejection.ts";

/** A clock that gives one time before the database's clock is read, and another time after. */
const clockOf = (...times: number[]) => ({ now: () => times.shift() ?? 0 });
const database = (now: number | null) => () => Promise.resolve(now);

test.each<[number | null, number, number, number]>([
  [null, 5, 9, 0],
  [100, 90, 110, 0],
  [100, 150, 160, 50],
  [100, 20, 40, -60],
  [100, 100, 100, 0],
])(
  "a database clock that shows %p between the local times %i and %i is at least %i ms behind",
  async (now, before, after, ahead) => {
    expect(await measureClockDifference(database(now), clockOf(before, after))).toBe(ahead);
  },
);

test("a command is refused if this machine's clock is more than thirty seconds wrong", async () => {
  const refusal = (ahead: number) =>
    catchError(requireRightClock(database(100_000), clockOf(100_000 + ahead, 100_000 + ahead)));
  expect(await refusal(30_000)).toBeUndefined();
  const message = expect.stringContaining("30 s behind the database's");
  expect(await refusal(-30_001)).toMatchObject({ code: "CLOCK_WRONG", message });
  expect(String(await refusal(90_000))).toContain("90 s ahead of the database's");
});

test("the clock monitor reports each change of its result once, and allows signing again when the clocks nearly agree", async () => {
  let ahead = 31_000;
  const changes: string[] = [];
  const clock = { now: () => 100_000 + ahead };
  const watch = createClockMonitor(database(100_000), clock, ({ result }) => changes.push(result));
  for (const _ of [1, 2]) await watch.look();
  expect([watch.aheadMs(), watch.isWrong()]).toEqual([31_000, true]);
  ahead = -2_600;
  await watch.look();
  expect([watch.aheadMs(), watch.isWrong(), changes]).toEqual([-2_600, false, ["fail", "warn"]]);
});

test("a clock difference gives ok up to two seconds, a warning up to thirty seconds, and a failure above", () => {
  expect(checkClockDifference(2_000).result).toBe("ok");
  const found = "this machine's clock is 2 s behind the database's";
  expect(checkClockDifference(-2_001)).toMatchObject({ result: "warn", found });
  expect(checkClockDifference(30_001)).toMatchObject({ result: "fail" });
});
