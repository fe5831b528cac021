/** What the serving threads of one process agree on about their database, in memory that all of them see. */

/** One thread's view of it. */
export type CommitLock = ReturnType<typeof openCommitLock>;

/** Nobody needs it; threads leave their read views and begin no other one; one thread does it. */
export const restartStates = { none: 0, wanted: 1, underWay: 2 } as const;
type RestartState = (typeof restartStates)[keyof typeof restartStates];

/** The words of the memory; behind them one for each thread, whether it reads in a view. */
const words = {
  lock: 0,
  owner: 1,
  restart: 2,
  restarter: 3,
  restartAbove: 4,
  views: 5,
} as const;
const lockStates = { free: 0, held: 1, waitedFor: 2 } as const;
/** Who was woken may have been ended meanwhile, and nobody else is told then: so everybody looks this often. */
const lookAgainMs = 100;
const nobody = 0;

/** Makes the memory for a number of threads. */
export function newCommitLock(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer((words.views + threads) * Int32Array.BYTES_PER_ELEMENT);
}

/**
 * One thread's view of the memory. The lock spares the threads SQLite's own, for which they could only ask again and
 * again: who waits sleeps, and is woken by who releases it. Over a file it is never held across a turn of the event loop.
 * @param thread its number, from 0
 */
export function openCommitLock(memory: SharedArrayBuffer, thread: number) {
  const cells = new Int32Array(memory);
  const ownView = words.views + thread;
  const { free, held, waitedFor } = lockStates;

  function wait(waitMs: number): boolean {
    const deadline = performance.now() + waitMs;
    // As one who may have others behind it: whoever releases it wakes one of them.
    while (Atomics.exchange(cells, words.lock, waitedFor) !== free) {
      const restMs = deadline - performance.now();
      if (restMs <= 0) return false;
      Atomics.wait(cells, words.lock, waitedFor, Math.min(restMs, lookAgainMs));
    }
    return true;
  }

  async function waitLater(waitMs: number): Promise<boolean> {
    const deadline = performance.now() + waitMs;
    while (Atomics.exchange(cells, words.lock, waitedFor) !== free) {
      const restMs = deadline - performance.now();
      if (restMs <= 0) return false;
      await Atomics.waitAsync(cells, words.lock, waitedFor, Math.min(restMs, lookAgainMs)).value;
    }
    return true;
  }

  const isTakenAtOnce = () => Atomics.compareExchange(cells, words.lock, free, held) === free;
  const own = () => void Atomics.store(cells, words.owner, thread + 1);

  return {
    /**
     * Takes the lock under which one thread at a time commits; the thread is blocked until it is handed on.
     * @param waitMs how long it may take at most
     * @returns false when it did not come free in time
     */
    take(waitMs: number): boolean {
      const isTaken = isTakenAtOnce() || wait(waitMs);
      if (isTaken) own();
      return isTaken;
    },
    /** The same for a commit that a server makes: meanwhile the thread goes on answering. */
    async takeLater(waitMs: number): Promise<boolean> {
      const isTaken = isTakenAtOnce() || (await waitLater(waitMs));
      if (isTaken) own();
      return isTaken;
    },
    release(): void {
      Atomics.store(cells, words.owner, nobody);
      if (Atomics.exchange(cells, words.lock, free) === waitedFor) Atomics.notify(cells, words.lock, 1);
    },
    /** Whether any thread has it just now. */
    isTaken: () => Atomics.load(cells, words.lock) !== free,
    /** Says that this thread is about to read in a view. @returns false while the log is to begin anew */
    enterView(): boolean {
      // In this order: who wants a restart says so first and looks for views then.
      Atomics.store(cells, ownView, 1);
      if (Atomics.load(cells, words.restart) === restartStates.none) return true;
      Atomics.store(cells, ownView, 0);
      return false;
    },
    leaveView: () => void Atomics.store(cells, ownView, 0),
    /** Whether any thread reads in a view. */
    hasViews: () => cells.subarray(words.views).some((_, index) => isSet(index)),
    /** How far it is that the write-ahead log begins anew. */
    walRestart: (): RestartState => Atomics.load(cells, words.restart) as RestartState,
    /** Moves it on. @returns false when another thread has done so first */
    moveRestart(from: RestartState, to: RestartState): boolean {
      if (Atomics.compareExchange(cells, words.restart, from, to) !== from) return false;
      Atomics.store(cells, words.restarter, to === restartStates.underWay ? thread + 1 : nobody);
      return true;
    },
    /** The size of the log, in KiB, above which it is to begin anew next. */
    restartAbove: () => Atomics.load(cells, words.restartAbove),
    setRestartAbove: (kib: number) => void Atomics.store(cells, words.restartAbove, kib),
    /**
     * Forgets a thread that has ended.
     * @returns true when it still had the lock or a read view: only the end of the process gives such a thread's
     *   connection, and the locks of it, back
     */
    forget(dead: number): boolean {
      const had = Atomics.load(cells, words.owner) === dead + 1 || isSet(dead);
      Atomics.store(cells, words.views + dead, 0);
      if (Atomics.load(cells, words.restarter) === dead + 1)
        Atomics.store(cells, words.restart, restartStates.none);
      return had;
    },
  };

  function isSet(index: number): boolean {
    return Atomics.load(cells, words.views + index) === 1;
  }
}
