import { type CommitLock, checkpointStates } from "./commit-lock.ts";
import type { Connection } from "./connection.ts";
import type { Row, Value } from "./driver.ts";

/** Reads of one thread that share a view of the database. */
type SnapshotReader = {
  query(sql: string, args?: readonly Value[]): Row[];
  /** Looks whether the file is still the same. @throws TvsError STORE_UNAVAILABLE when it is another one by now */
  requireSameFile(): void;
  /** Leaves the snapshot: the next read begins another one. */
  end(): void;
  close(): void;
};

/**
 * How long after a look at the file a snapshot ends, in milliseconds: what others committed, and that the file was
 * replaced, is seen that much later at most.
 */
const snapshotMs = 100;

type SnapshotOptions = {
  readonly connection: Connection;
  readonly lock: CommitLock;
  /** @throws TvsError STORE_UNAVAILABLE when the file is another one by now */
  requireSameFile(): void;
  /** Looks after the log: others may write while this thread does not. */
  tendLog(): void;
};

/**
 * Reads inside one read transaction: its page cache stays good, and no lock is taken. It begins with a read and ends when
 * it is old, also when no read comes any more, or when a checkpoint wants it; then each read is by itself for a moment.
 */
export function createSnapshotReader(options: SnapshotOptions): SnapshotReader {
  const { connection, lock, tendLog } = options;
  let isOpen = false;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const isOld = () => performance.now() - lookedAt >= snapshotMs;

  function requireSameFile(): void {
    const now = performance.now();
    lookedAt = Number.NEGATIVE_INFINITY;
    options.requireSameFile();
    lookedAt = now;
  }

  /** A commit has looked a moment ago: no snapshot lasts longer for it. */
  function begin(): void {
    if (isOld()) requireSameFile();
    if (!lock.enterSnapshot()) {
      tendLog();
      return;
    }
    try {
      connection.exec("BEGIN");
    } catch (error) {
      lock.leaveSnapshot();
      throw error;
    }
    isOpen = true;
    timer ??= endLater(snapshotMs);
  }

  function end(): void {
    if (!isOpen) return;
    isOpen = false;
    try {
      connection.exec("COMMIT");
    } catch {
      connection.rollBack();
    } finally {
      lock.leaveSnapshot();
    }
  }

  /** For a thread that sleeps. It is not set anew with every snapshot: there may be thousands in a second. */
  function endLater(ms: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      timer = undefined;
      if (!isOpen) return;
      if (isOld()) end();
      else timer = endLater(Math.ceil(lookedAt + snapshotMs - performance.now()));
    }, ms).unref();
  }

  return {
    query(sql, args) {
      if (isOpen && (isOld() || lock.checkpoint() !== checkpointStates.none)) {
        end();
        tendLog();
      }
      if (!isOpen) begin();
      try {
        return connection.all(sql, args);
      } catch (error) {
        end();
        throw error;
      }
    },
    requireSameFile,
    end,
    close() {
      clearTimeout(timer);
      end();
    },
  };
}
