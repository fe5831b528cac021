/** This machine's clock beside that of a database on a server (decision D12.4). */

import type { Check } from "./checks.ts";
import { checkNamed } from "./checks.ts";
import type { Clock } from "./clock.ts";
import { TvsError } from "./errors.ts";

/** By how much the two may differ: beyond the first the operator is warned, beyond the second nothing is signed. */
const boundsMs = { warned: 2_000, refused: 30_000 } as const;

/** Reads the database's clock, in milliseconds since the epoch; null where it is this machine's own. */
type ReadClock = () => Promise<number | null>;

export type ClockWatch = ReturnType<typeof createClockWatch>;

/**
 * Remembers by how much this machine's clock is ahead of the database's.
 * @param onChange told when it becomes right or wrong, as {@link judgeClock} says it
 */
export function createClockWatch(read: ReadClock, clock: Clock, onChange: (check: Check) => void = () => {}) {
  let aheadMs = 0;
  let last = judgeClock(aheadMs);
  return {
    /** Milliseconds; negative for a clock that is behind. */
    aheadMs: () => aheadMs,
    /** Whether the clock is so wrong that nothing may be signed. */
    isWrong: () => isWrong(aheadMs),
    async look(): Promise<void> {
      aheadMs = await readAhead(read, clock);
      const judged = judgeClock(aheadMs);
      if (judged.result !== last.result) onChange(judged);
      last = judged;
    },
  };
}

/**
 * Compares the clocks, before anything is written by this machine's.
 * @throws TvsError CLOCK_WRONG
 */
export async function requireRightClock(read: ReadClock, clock: Clock): Promise<void> {
  const aheadMs = await readAhead(read, clock);
  if (!isWrong(aheadMs)) return;
  const message =
    `this machine's clock is ${describe(aheadMs)} the database's, and what it would sign would bear a wrong time; ` +
    "set the clock (timedatectl, chronyc tracking), then try again";
  throw new TvsError("CLOCK_WRONG", message);
}

/** Judges the clock for the operator. */
export function judgeClock(aheadMs: number): Check {
  const { ok, warn, fail } = checkNamed("database-clock");
  if (Math.abs(aheadMs) <= boundsMs.warned) return ok("this machine's clock and the database's agree");
  const found = `this machine's clock is ${describe(aheadMs)} the database's`;
  const advice = "set the clock that is wrong (timedatectl, chronyc tracking)";
  return isWrong(aheadMs)
    ? fail(found, `${advice}; until then nothing is signed here, and commands are refused`)
    : warn(found, advice);
}

/**
 * By how much a clock is certainly ahead: what was asked between two readings of it may have been answered at any time
 * between them.
 */
export async function readAhead(read: ReadClock, clock: Clock): Promise<number> {
  const before = clock.now();
  const databaseNow = await read();
  if (databaseNow === null) return 0;
  return before > databaseNow ? before - databaseNow : Math.min(0, clock.now() - databaseNow);
}

function isWrong(aheadMs: number): boolean {
  return Math.abs(aheadMs) > boundsMs.refused;
}

/** Such as `31 s ahead of`. */
function describe(aheadMs: number): string {
  return `${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs < 0 ? "behind" : "ahead of"}`;
}
