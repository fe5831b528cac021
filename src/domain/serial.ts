/** Acts that must not meet: those that run in turn, and one that is done again and again. */

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

/**
 * Acts at once and then again and again, never twice at the same time.
 * @param options `everyMs` from the end of one act to the beginning of the next
 * @returns ends it, when the act that is under way is over
 */
export function repeat(
  act: () => Promise<void>,
  { everyMs, onError }: { everyMs: number; onError: (error: unknown) => void },
): () => Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  let last = turn();

  async function turn(): Promise<void> {
    await act().catch(onError);
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
