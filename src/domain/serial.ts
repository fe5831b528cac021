/** Runs asynchronous functions one at a time: a queue, and a repeated task. */

/** Makes a queue: a function that runs `run` after every earlier call has ended or failed. */
export function createSerialQueue(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const turn = last.then(run);
    last = turn.catch(() => {});
    return turn;
  };
}

/** The longest pause. A step during which the process was suspended seems to have taken hours. */
const longestRestMs = 2_000;

/** Runs one step, then pauses for as long as the step took, so that half of the time is left to other work. */
export async function runAndPause<T>(run: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const result = await run();
  const tookMs = performance.now() - startedMs;
  await new Promise((resolve) => setTimeout(resolve, Math.min(tookMs, longestRestMs)));
  return result;
}

/**
 * Calls `run` immediately and then repeatedly, one call at a time.
 * @param run gets a function that returns true if `run` should end early
 * @param options `everyMs` from the end of one run to the beginning of the next
 * @returns a function that stops the repetition, and resolves when the current run has ended
 */
export function startRepeating(
  run: (isEnded: () => boolean) => Promise<void>,
  { everyMs, onError }: { everyMs: number; onError: (error: unknown) => void },
): () => Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  let last = turn();

  async function turn(): Promise<void> {
    await run(() => ended).catch(onError);
    if (ended) return;
    timer = setTimeout(() => {
      last = turn();
    }, everyMs);
  }

  return async () => {
    ended = true;
    clearTimeout(timer);
    await last;
  };
}
