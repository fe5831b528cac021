import { isMainThread } from "node:worker_threads";
import { openCommitLock } from "./commit-lock.ts";
import { busy, type Connection, createWriter, defaultLockWaitMs } from "./connection.ts";
import type { Driver, Row, Value } from "./driver.ts";
import { createReadView } from "./read-view.ts";
import { createWalUpkeep, walSettings } from "./wal.ts";

/** How a file is read and written, by whom it is opened for. */
export type FileAccess = Pick<Driver, "write" | "renew" | "heldMs" | "isBusy" | "close"> & {
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
  readonly reader: Connection;
  readonly writer: Connection;
  /** The database file by its own name, beside which its log is. */
  readonly realFile: string;
  /** @throws TvsError STORE_UNAVAILABLE when the file is another one by now */
  requireSameFile(): void;
};

/**
 * The file as a serving thread uses it. A read view ends with the thread's own commits, which it therefore always sees.
 * Commits are made in place, one thread at a time: to hand them to a thread that only writes costs more than what they
 * do to the database.
 */
export function createServing(options: ServingOptions): FileAccess {
  const { reader, writer: connection, lockWaitMs = defaultLockWaitMs } = options;
  const lock = openCommitLock(options.memory, options.thread);
  const tendWal = createWalUpkeep({ ...options, connection, lock });
  const view = createReadView({
    ...options,
    ...{ connection: reader, lock },
    tendWal() {
      if (!writer.isWriting()) tendWal();
    },
  });
  const writer = createWriter(connection, {
    lockWaitMs,
    requireSameFile: view.requireSameFile,
    async takeLock() {
      if (!(await lock.takeLater(lockWaitMs))) throw busy();
      return lock.release;
    },
    committed() {
      view.end();
      tendWal();
    },
  });

  function closeAll(): void {
    view.close();
    reader.close();
    connection.close();
  }

  // A thread that ends by an exception leaves no lock of the database behind, which nobody could take from it any more.
  if (!isMainThread) process.once("exit", closeAll);

  return {
    query: view.query,
    write: writer.write,
    renew: view.end,
    heldMs: writer.heldMs,
    isBusy: lock.isTaken,
    copyTo(target) {
      view.requireSameFile();
      view.end();
      reader.all("VACUUM INTO ?", [target]);
    },
    async close() {
      process.off("exit", closeAll);
      await writer.close();
      view.close();
      reader.close();
    },
  };
}
