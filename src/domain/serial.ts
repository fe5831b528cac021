/** Runs asynchronous work one at a time: a queue, and a repeated task. */

import { type Clock, systemClock, timersOf } from "./clock.ts";

/** Makes a queue: a function that runs `run` after every earlier call has ended or failed. */
export function createSerialQueue(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const turn = last.then(run);
    last = turn.catch(() => {});
    return turn;
  };
}

/** The longest pause: after a suspended process wakes, its run seems to have taken hours. */
const longestRestMs = 2_000;

/** Runs one step, then pauses for as long as the step took: half of the time is left to other work. */
export async function runAndPause<T>(run: () => Promise<T>, clock: Clock = systemClock): Promise<T> {
  const { elapsed, after } = timersOf(clock);
  const startedAt = elapsed();
  const result = await run();
  await new Promise<void>((resolve) => after(Math.min(elapsed() - startedAt, longestRestMs), resolve));
  return result;
}

/**
 * Runs now and then repeatedly, never twice at the same time.
 * @param run gets a function that says whether it should end early
 * @param options `everyMs` from the end of one run to the beginning of the next
 * @returns a function that stops it, and resolves when the current run has ended
 */
export function repeat(
  run: (isEnded: () => boolean) => Promise<void>,
  {
    everyMs,
    onError,
    clock = systemClock,
  }: { everyMs: number; onError: (error: unknown) => void; clock?: Clock },
): () => Promise<void> {
  let cancel = () => {};
  let ended = false;
  let last = turn();

  async function turn(): Promise<void> {
    await run(() => ended).catch(onError);
    if (ended) return;
    cancel = timersOf(clock).after(everyMs, () => {
      last = turn();
    });
  }

  return async () => {
    ended = true;
    cancel();
    await last;
  };
}
