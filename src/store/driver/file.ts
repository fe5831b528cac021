import { existsSync, realpathSync, statSync } from "node:fs";
import { TvsError } from "../../domain/errors.ts";
import { createSerialQueue } from "../../domain/serial.ts";
import {
  type Connection,
  defaultLockWaitMs,
  explainOpenFailure,
  isFileLocked,
  lockFile,
  openConnection,
  retryWhileLocked,
} from "./connection.ts";
import { type Driver, type SqlStatement, type Transaction, toTvsError } from "./driver.ts";
import { makePrivateFile } from "./files.ts";

type FileOptions = {
  readonly file: string;
  /** Called when a service's database or lock file was moved or deleted. The process must end then. */
  readonly onLost?: ((error: TvsError) => void) | undefined;
  /** The time between a service's checks that both files still have their names, in milliseconds. */
  readonly lockWatchMs?: number;
  /** How long a write waits for another process's transaction, in milliseconds since the write was called. */
  readonly lockWaitMs?: number;
};

/** How long a read waits for a lock, in milliseconds. */
const readWaitMs = 5_000;
/** A read checks the file's name, by a system call, only if the last check is older than this (ms). */
const pollIntervalMs = 100;

/** Opens a database file with one connection. @throws TvsError STORE_*, also for a foreign program's file */
export async function openDatabaseFile(options: FileOptions): Promise<Driver> {
  const { file, onLost, lockWatchMs = 1_000, lockWaitMs = defaultLockWaitMs } = options;
  const connection = await open(file);
  const requireSameFile = watchFile(file);
  // Symbolic links give a file several names. All names must lead to the same lock file.
  const lockPath = `${guarded(() => realpathSync(file))}.lock`;
  const { read, write, end } = createAccess(connection, requireSameFile, lockWaitMs);
  let lock: { close(): void } | undefined;
  let lockWatch: ReturnType<typeof setInterval> | undefined;

  /** Checks that database and lock file were not moved: otherwise a second service could start, or all calls would fail. */
  function watchFiles(requireSameLock: FileWatch): void {
    try {
      requireSameFile();
      requireSameLock();
    } catch (error) {
      clearInterval(lockWatch);
      onLost?.(toTvsError(error));
    }
  }

  return {
    kind: "embedded",
    query: (sql, args) => read(() => connection.all(sql, args)),
    write,
    batch: (statements) => write((tx) => tx.finish(statements)),
    copyTo: (target) =>
      read(() => {
        requireSameFile();
        connection.all("VACUUM INTO ?", [target]);
      }),
    async lockService() {
      lock = await lockFile(lockPath);
      lockWatch = setInterval(watchFiles, lockWatchMs, watchFile(lockPath));
      lockWatch.unref();
      return true;
    },
    serviceRunning: async () => lock !== undefined || isFileLocked(lockPath),
    async close() {
      clearInterval(lockWatch);
      await end(connection.close);
      lock?.close();
    },
  };
}

async function open(file: string): Promise<Connection> {
  try {
    if (!existsSync(file)) makePrivateFile(file);
    return await openConnection(file);
  } catch (error) {
    throw error instanceof TvsError ? error : explainOpenFailure(file, error);
  }
}

/** Runs write transactions one by one, and reads between them. Waiting for a lock leaves the event loop free. */
function createAccess(connection: Connection, requireSameFile: FileWatch, lockWaitMs: number) {
  const inTurn = createSerialQueue();
  /** Resolves at the end of the open transaction; undefined if no transaction is open. */
  let open: PromiseWithResolvers<void> | undefined;

  function begin(): void {
    requireSameFile();
    // Takes the write lock now. A read lock cannot be upgraded after another process has committed.
    guarded(() => connection.exec("BEGIN IMMEDIATE"));
    open = Promise.withResolvers();
  }

  async function transact<R>(work: (tx: Transaction) => Promise<R>): Promise<R> {
    let isOver = false;
    const batch = async (statements: readonly SqlStatement[]) => {
      if (isOver) throw new TypeError("the transaction is over");
      return guarded(() => statements.map(({ sql, args }) => connection.all(sql, args)));
    };
    const finish = async (statements: readonly SqlStatement[]) => {
      const rows = await batch(statements);
      isOver = true;
      return rows;
    };
    try {
      const query: Driver["query"] = async (sql, args = []) => (await batch([{ sql, args }]))[0] ?? [];
      const result = await work({ query, batch, finish });
      guarded(() => connection.exec("COMMIT"));
      return result;
    } catch (error) {
      connection.rollBack();
      throw error;
    } finally {
      isOver = true;
      open?.resolve();
      open = undefined;
    }
  }

  return {
    write<R>(work: (tx: Transaction) => Promise<R>): Promise<R> {
      // The time counts from the call, so calls that wait for the same lock fail together, not one by one.
      const deadlineMs = performance.now() + lockWaitMs;
      const begun = () => retryWhileLocked(begin, deadlineMs - performance.now());
      return inTurn(() => begun().then(() => transact(work)));
    },
    /** Reads while no transaction is open, because the connection would also return the transaction's uncommitted rows. */
    async read<R>(run: () => R): Promise<R> {
      const readCommitted = async () => {
        while (open !== undefined) await open.promise;
        requireSameFile(pollIntervalMs);
        return run();
      };
      return retryWhileLocked(readCommitted, readWaitMs).catch((error) => {
        throw toTvsError(error);
      });
    },
    /** Closes the connection after the last transaction. */
    end: (close: () => void) => inTurn(async () => close()),
  };
}

type FileWatch = ReturnType<typeof watchFile>;

/**
 * Makes a check that a file still has its name. Without this check, a service could answer from a moved file while
 * commands write to a new file. @returns the check, which does nothing if the last check is younger than `maxAgeMs`
 * @throws TvsError STORE_UNAVAILABLE
 */
function watchFile(file: string) {
  const look = () => guarded(() => statSync(file, { throwIfNoEntry: false }));
  const opened = look();
  let lookedAtMs = performance.now();
  let isGone = false;
  return (maxAgeMs = 0) => {
    if (!isGone && performance.now() - lookedAtMs >= maxAgeMs) {
      const found = look();
      lookedAtMs = performance.now();
      isGone = found?.ino !== opened?.ino || found?.dev !== opened?.dev;
    }
    if (!isGone) return;
    const message = `${file} was moved away or replaced while it was in use; start this program again`;
    throw new TvsError("STORE_UNAVAILABLE", message);
  };
}

function guarded<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw toTvsError(error);
  }
}
