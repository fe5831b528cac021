import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread } from "node:worker_threads";
import type { TvsError } from "../../domain/errors.ts";
import { createSerial } from "../../domain/serial.ts";
import { openCommitLock } from "./commit-lock.ts";
import { type Batch, type Connection, defaultLockWaitMs, lockRetryMs } from "./connection.ts";
import { type Driver, type Row, type Statement, storeError, type Value } from "./driver.ts";
import { createReadView } from "./read-view.ts";
import { createWalUpkeep, walSettings } from "./wal.ts";

/** How a file is read and written, by whom it is opened for. */
export type FileAccess = Pick<Driver, "batch" | "renew" | "heldMs" | "isBusy" | "close"> & {
  query(sql: string, args?: readonly Value[]): Row[];
  copyTo(target: string): void;
};

/** A thread's share in what the serving threads of a process have in common. */
export type SharedFile = {
  /** As {@link file://./commit-lock.ts} makes it. */
  readonly memory: SharedArrayBuffer;
  /** This thread's number, from 0. */
  readonly thread: number;
  /** How long a commit waits for another process's transaction, from when it was asked for. */
  readonly lockWaitMs?: number;
};

/**
 * Settings of a serving thread's connection. The page cache, 4 MB for each thread, holds the inner pages of the indexes.
 * A larger one is of no use: leaf pages are different ones each time, and every commit of another thread empties it. To
 * map the file into memory (mmap_size) made look-ups dearer.
 */
export const servingSettings = ["cache_size = -4096", ...walSettings];

type ServingOptions = SharedFile & {
  readonly connection: Connection;
  /** The database file by its own name, beside which its log is. */
  readonly realFile: string;
  /** @throws TvsError STORE_UNAVAILABLE when the file is another one by now */
  requireSameFile(): void;
};

/**
 * The file as a serving thread uses it: one connection for everything (a second one for the commits would save the
 * read view's page cache from them, and costs as much by its own). A read view ends before the thread's own commits, which
 * it therefore always sees. Commits are made in place, one thread at a time: to hand them to a thread that only writes
 * costs more than what they do to the database.
 *
 * While another process writes, nobody waits in place: the thread goes on answering and tries again.
 */
export function createServing(options: ServingOptions): FileAccess {
  const { connection, lockWaitMs = defaultLockWaitMs } = options;
  const lock = openCommitLock(options.memory, options.thread);
  const tendWal = createWalUpkeep({ ...options, lock });
  const view = createReadView({ ...options, lock, tendWal });
  const inTurn = createSerial();
  let heldMs = 0;

  /** @returns null when another process writes */
  function tryCommit(batch: Batch): Row[][] | null {
    view.requireSameFile();
    view.end();
    if (!lock.take(lockWaitMs)) throw busy();
    const takenAt = performance.now();
    try {
      const rows = connection.tryTransaction(batch);
      if (rows !== null) heldMs = performance.now() - takenAt;
      return rows;
    } finally {
      lock.release();
    }
  }

  async function commit(statements: readonly Statement[], deadline: number): Promise<Row[][]> {
    const batch = connection.ready(statements);
    for (;;) {
      const rows = tryCommit(batch);
      if (rows !== null) {
        tendWal();
        return rows;
      }
      if (performance.now() > deadline) throw busy();
      await sleep(lockRetryMs);
    }
  }

  function close(): void {
    view.close();
    connection.close();
  }

  // A thread that ends by an exception leaves no lock of the database behind, which nobody could take from it any more.
  if (!isMainThread) process.once("exit", close);

  return {
    query: view.query,
    batch(statements) {
      // From when it was asked for: behind others that wait for the same lock, it would wait as often.
      const deadline = performance.now() + lockWaitMs;
      return inTurn(() => commit(statements, deadline).catch(rethrow));
    },
    renew: view.end,
    heldMs: () => heldMs,
    isBusy: lock.isTaken,
    copyTo(target) {
      view.requireSameFile();
      view.end();
      connection.all("VACUUM INTO ?", [target]);
    },
    async close() {
      process.off("exit", close);
      await inTurn(async () => close());
    },
  };
}

function rethrow(error: unknown): never {
  throw storeError(error);
}

function busy(): TvsError {
  return storeError(new Error("SQLITE_BUSY: another process or thread writes"));
}
