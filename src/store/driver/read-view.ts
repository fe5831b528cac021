import { type CommitLock, restartStates } from "./commit-lock.ts";
import type { Connection } from "./connection.ts";
import type { Row, Value } from "./driver.ts";

/**
 * How long after a look at the file a read view ends, in milliseconds: what others committed, and that the file was
 * replaced, is seen that much later at most.
 */
const viewMs = 100;

type ReadViewOptions = {
  readonly connection: Connection;
  readonly lock: CommitLock;
  /** @throws TvsError STORE_UNAVAILABLE when the file is another one by now */
  requireSameFile(): void;
  /** Looks after the log: others may write while this thread does not. */
  tendWal(): void;
};

/**
 * Reads inside one read transaction: its page cache stays good, and no lock is taken. It begins with a read and ends when
 * it is old, also when no read comes any more, or when the log is to begin anew; then each read is by itself for a moment.
 */
export function createReadView(options: ReadViewOptions) {
  const { connection, lock, tendWal } = options;
  let isOpen = false;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const isOld = () => performance.now() - lookedAt >= viewMs;

  function requireSameFile(): void {
    const now = performance.now();
    lookedAt = Number.NEGATIVE_INFINITY;
    options.requireSameFile();
    lookedAt = now;
  }

  /** A commit has looked a moment ago: no read view lasts longer for it. */
  function begin(): void {
    if (isOld()) requireSameFile();
    if (!lock.enterView()) {
      tendWal();
      return;
    }
    try {
      connection.exec("BEGIN");
    } catch (error) {
      lock.leaveView();
      throw error;
    }
    isOpen = true;
    timer ??= endLater(viewMs);
  }

  function end(): void {
    if (!isOpen) return;
    isOpen = false;
    try {
      connection.exec("COMMIT");
    } catch {
      connection.rollBack();
    } finally {
      lock.leaveView();
    }
  }

  /** For a thread that sleeps. It is not set anew with every read view: there may be thousands in a second. */
  function endLater(ms: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      timer = undefined;
      if (!isOpen) return;
      if (isOld()) end();
      else timer = endLater(Math.ceil(lookedAt + viewMs - performance.now()));
    }, ms).unref();
  }

  return {
    query(sql: string, args?: readonly Value[]): Row[] {
      if (isOpen && (isOld() || lock.walRestart() !== restartStates.none)) {
        end();
        tendWal();
      }
      if (!isOpen) begin();
      try {
        return connection.all(sql, args);
      } catch (error) {
        end();
        throw error;
      }
    },
    /** Looks whether the file is still the same. @throws TvsError STORE_UNAVAILABLE when it is another one by now */
    requireSameFile,
    /** Leaves the read view: the next read begins another one. */
    end,
    close(): void {
      clearTimeout(timer);
      end();
    },
  };
}
