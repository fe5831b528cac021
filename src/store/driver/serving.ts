import { isMainThread } from "node:worker_threads";
import { openCommitLock } from "./commit-lock.ts";
import { busy, type Connection, createAccess, defaultLockWaitMs } from "./connection.ts";
import type { Driver } from "./driver.ts";
import { createReadView } from "./read-view.ts";
import { createWalUpkeep, walSettings } from "./wal.ts";

/** How a file is read and written, by whom it is opened for. */
export type FileAccess = Omit<Driver, "kind" | "batch" | "takeTurn" | "lockService" | "serviceRunning">;

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
 */
export function createServing(options: ServingOptions): FileAccess {
  const { connection, lockWaitMs = defaultLockWaitMs } = options;
  const lock = openCommitLock(options.memory, options.thread);
  const tendWal = createWalUpkeep({ ...options, lock });
  const view = createReadView({ ...options, lock, tendWal });
  const access = createAccess(connection, {
    lockWaitMs,
    beforeTry() {
      view.requireSameFile();
      view.end();
    },
    takeLock() {
      if (!lock.take(lockWaitMs)) throw busy();
      return lock.release;
    },
  });

  function close(): void {
    view.close();
    connection.close();
  }

  // A thread that ends by an exception leaves no lock of the database behind, which nobody could take from it any more.
  if (!isMainThread) process.once("exit", close);

  return {
    query: (sql, args) => access.read(() => view.query(sql, args)),
    async write(work) {
      const result = await access.write(work);
      await access.read(tendWal);
      return result;
    },
    renew: view.end,
    heldMs: access.heldMs,
    isBusy: lock.isTaken,
    copyTo: (target) =>
      access.read(() => {
        view.requireSameFile();
        view.end();
        connection.all("VACUUM INTO ?", [target]);
      }),
    async close() {
      process.off("exit", close);
      await access.end(close);
    },
  };
}
