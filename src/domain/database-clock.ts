/** Compares this machine's clock with the clock of a database on a server (decision D12.4). */

import { type Finding, fail, ok, warn } from "./checks.ts";
import type { Clock } from "./clock.ts";
import { TvsError } from "./errors.ts";

/** A clock difference above `warned` gives a warning. Above `refused`, the node signs nothing. */
const boundsMs = { warned: 2_000, refused: 30_000 } as const;

/** Reads the database's clock, in milliseconds since the epoch; null if the database uses this machine's clock. */
type ReadClock = () => Promise<number | null>;

export type ClockMonitor = ReturnType<typeof createClockMonitor>;

/**
 * Measures and remembers how far this machine's clock is ahead of the database's.
 * @param onChange called when the result of {@link checkClockDifference} changes
 */
export function createClockMonitor(
  read: ReadClock,
  clock: Clock,
  onChange: (check: Finding) => void = () => {},
) {
  let aheadMs = 0;
  let last = checkClockDifference(aheadMs);
  return {
    /** Returns the measured difference in milliseconds; negative if this machine's clock is behind the database's. */
    aheadMs: () => aheadMs,
    /** True if the clocks differ so much that nothing may be signed. */
    isWrong: () => isWrong(aheadMs),
    async look(): Promise<void> {
      aheadMs = await measureClockDifference(read, clock);
      const check = checkClockDifference(aheadMs);
      if (check.result !== last.result) onChange(check);
      last = check;
    },
  };
}

/** Compares the clocks before a command writes. @throws TvsError CLOCK_WRONG if they differ by more than 30 s */
export async function requireRightClock(read: ReadClock, clock: Clock): Promise<void> {
  const aheadMs = await measureClockDifference(read, clock);
  if (!isWrong(aheadMs)) return;
  const message =
    `this machine's clock is ${describe(aheadMs)} the database's, and what it would sign would bear a wrong time; ` +
    "set the clock (timedatectl, chronyc tracking), then try again";
  throw new TvsError("CLOCK_WRONG", message);
}

export function checkClockDifference(aheadMs: number): Finding {
  if (Math.abs(aheadMs) <= boundsMs.warned) return ok("this machine's clock and the database's agree");
  const found = `this machine's clock is ${describe(aheadMs)} the database's`;
  const advice = "set the clock that is wrong (timedatectl, chronyc tracking)";
  return isWrong(aheadMs)
    ? fail(found, `${advice}; until then nothing is signed here, and commands are refused`)
    : warn(found, advice);
}

/**
 * Measures by how many milliseconds this machine's clock is ahead of the database's clock, or behind if negative. The
 * database's clock is read between two readings of this machine's clock; the result is the least possible difference.
 */
export async function measureClockDifference(read: ReadClock, clock: Clock): Promise<number> {
  const before = clock.now();
  const databaseNow = await read();
  if (databaseNow === null) return 0;
  return before > databaseNow ? before - databaseNow : Math.min(0, clock.now() - databaseNow);
}

function isWrong(aheadMs: number): boolean {
  return Math.abs(aheadMs) > boundsMs.refused;
}

/** Formats a difference, such as `31 s ahead of`. */
function describe(aheadMs: number): string {
  return `${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs < 0 ? "behind" : "ahead of"}`;
}
