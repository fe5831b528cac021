import { expect, test } from "bun:test";
import { killRepeatedly } from "./kill.ts";
import { broken } from "./killed.ts";

test.each([
  [2, 2],
  [4, 2],
])(
  "a service of %i threads that is killed and started again loses nothing and does nothing twice",
  async (threads, times) => {
    const { kills, answered, replayed, interrupted, faults } = await killRepeatedly(times, threads);
    expect(broken(faults)).toEqual({});
    expect([kills, answered > 50, replayed > 0, interrupted > 0]).toEqual([times, true, true, true]);
  },
);
