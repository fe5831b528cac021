import type { Driver } from "../../src/store/driver/driver.ts";

/** Turns of the event loop after which nothing moves by itself: lookups of one turn are gathered until the next. */
const quietTurns = 3;

/** Something that waits for the scheduler: a statement on its way to the database, or its reply on its way back. */
type Waiting = { readonly go: () => Promise<void> };

/**
 * Holds every statement back, and every reply too, until the scheduler lets it go. So the order in which servers reach
 * their one database is the scheduler's, and what one of them remembers can be as old as it likes.
 */
export function createGate(random: (below: number) => number) {
  const waiting: Waiting[] = [];
  /** Work that is neither at the gate nor done, such as the signature of a key history. */
  const busy = new Set<() => boolean>();

  function pass<T>(act: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const go = async () => {
        const outcome = await act().then(
          (value) => () => resolve(value),
          (error) => () => reject(error),
        );
        waiting.push({ go: async () => outcome() });
      };
      waiting.push({ go });
    });
  }

  return {
    /** A driver whose statements wait at the gate. */
    around(driver: Driver): Driver & { outstanding(): number } {
      let outstanding = 0;
      const counted = <T>(promise: Promise<T>): Promise<T> => {
        outstanding++;
        return promise.finally(() => outstanding--);
      };
      return {
        ...driver,
        query: (sql, args) => counted(pass(() => driver.query(sql, args))),
        write: (work) => counted(pass(() => driver.write(work))),
        batch: (statements) => counted(pass(() => driver.batch(statements))),
        outstanding: () => outstanding,
      };
    },
    busy,
    waiting: () => waiting.length,
    /** Lets one of them go, and waits until all that follows from it is at the gate or done. */
    async release(): Promise<void> {
      const [one] = waiting.splice(random(waiting.length), 1);
      await one?.go();
    },
    /** Nothing moves any more but by the scheduler. */
    async settled(): Promise<void> {
      for (let quiet = 0; quiet < quietTurns; ) {
        await new Promise((done) => setImmediate(done));
        quiet = [...busy].some((isBusy) => isBusy()) ? 0 : quiet + 1;
      }
    },
  };
}

export type Gate = ReturnType<typeof createGate>;
