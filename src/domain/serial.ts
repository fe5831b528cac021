/** Acts that must not meet: those that run in turn, and one that is done again and again. */

import { type Clock, systemClock, timersOf } from "./clock.ts";

/** Runs acts one after the other, each when the one before it has ended, however it ended. */
type Serial = <T>(act: () => Promise<T>) => Promise<T>;

export function createSerial(): Serial {
  let last: Promise<unknown> = Promise.resolve();
  return (act) => {
    const turn = last.then(act);
    last = turn.catch(() => {});
    return turn;
  };
}

/** An act may have taken hours, because its process stood still: that was no work, and no reason to rest. */
const longestRestMs = 2_000;

/** Acts, and then rests for as long: half of the time belongs to the callers, however much there is to do. */
export async function runAndPause<T>(act: () => Promise<T>, clock: Clock = systemClock): Promise<T> {
  const { elapsed, after } = timersOf(clock);
  const startedAt = elapsed();
  const done = await act();
  await new Promise<void>((resolve) => after(Math.min(elapsed() - startedAt, longestRestMs), resolve));
  return done;
}

/**
 * Acts at once and then again and again, never twice at the same time.
 * @param act is told how to ask whether it is to end early
 * @param options `everyMs` from the end of one act to the beginning of the next
 * @returns ends it, when the act that is under way is over
 */
export function repeat(
  act: (isEnded: () => boolean) => Promise<void>,
  {
    everyMs,
    onError,
    clock = systemClock,
  }: { everyMs: number; onError: (error: unknown) => void; clock?: Clock },
): () => Promise<void> {
  let takeBack = () => {};
  let ended = false;
  let last = turn();

  async function turn(): Promise<void> {
    await act(() => ended).catch(onError);
    if (ended) return;
    takeBack = timersOf(clock).after(everyMs, () => {
      last = turn();
    });
  }

  return async () => {
    ended = true;
    takeBack();
    await last;
  };
}
