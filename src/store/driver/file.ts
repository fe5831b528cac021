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
  untilUnlocked,
} from "./connection.ts";
import { type Driver, type Statement, storeError, type Transaction } from "./driver.ts";
import { makeOwnFile } from "./files.ts";

type FileOptions = {
  readonly file: string;
  /** Called when the database of a service, or its lock, was moved or deleted. The process must end. */
  readonly onLost?: ((error: TvsError) => void) | undefined;
  /** The interval at which a service checks the names of its database and its lock, in milliseconds. */
  readonly lockWatchMs?: number;
  /** How long a transaction waits for another process's transaction, in milliseconds from the call. */
  readonly lockWaitMs?: number;
};

/** How long a read waits for a lock, in milliseconds. */
const readWaitMs = 5_000;
/** How old the last check of the file's name may be at a read, in milliseconds. A check is a system call. */
const pollIntervalMs = 100;

/** Opens a database file with one connection. @throws TvsError STORE_* when it is not a database */
export async function openFile(options: FileOptions): Promise<Driver> {
  const { file, onLost, lockWatchMs = 1_000, lockWaitMs = defaultLockWaitMs } = options;
  const connection = await open(file);
  const requireSameFile = watchFile(file);
  // Several names of a file (symbolic links) share its log, so they must share one lock.
  const lockPath = `${guarded(() => realpathSync(file))}.lock`;
  const { read, write, end } = createAccess(connection, requireSameFile, lockWaitMs);
  let lock: { close(): void } | undefined;
  let lockWatch: ReturnType<typeof setInterval> | undefined;

  /** Without the lock file another service could start. All calls to a database that was moved would fail. */
  function watchFiles(requireSameLock: FileWatch): void {
    try {
      requireSameFile();
      requireSameLock();
    } catch (error) {
      clearInterval(lockWatch);
      onLost?.(storeError(error));
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
    if (!existsSync(file)) makeOwnFile(file);
    return await openConnection(file);
  } catch (error) {
    throw error instanceof TvsError ? error : explainOpenFailure(file, error);
  }
}

/** Runs write transactions one after the other, and reads between them. A wait for a lock does not block the loop. */
function createAccess(connection: Connection, requireSameFile: FileWatch, lockWaitMs: number) {
  const inTurn = createSerialQueue();
  /** Resolves at the end of the open transaction; undefined without one. */
  let open: PromiseWithResolvers<void> | undefined;

  function begin(): void {
    requireSameFile();
    // Gets the write lock at the start. A transaction that upgrades a read lock fails after another process's commit.
    guarded(() => connection.exec("BEGIN IMMEDIATE"));
    open = Promise.withResolvers();
  }

  async function transact<R>(work: (tx: Transaction) => Promise<R>): Promise<R> {
    let isOver = false;
    const batch = async (statements: readonly Statement[]) => {
      if (isOver) throw new TypeError("the transaction is over");
      return guarded(() => statements.map(({ sql, args }) => connection.all(sql, args)));
    };
    const finish = async (statements: readonly Statement[]) => {
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
      // The time counts from the call: calls that wait for the same lock share the wait.
      const deadlineMs = performance.now() + lockWaitMs;
      const begun = () => untilUnlocked(begin, deadlineMs - performance.now());
      return inTurn(() => begun().then(() => transact(work)));
    },
    /** Reads while no transaction is open, because the connection would show uncommitted rows. */
    async read<R>(run: () => R): Promise<R> {
      const readCommitted = async () => {
        while (open !== undefined) await open.promise;
        requireSameFile(pollIntervalMs);
        return run();
      };
      return untilUnlocked(readCommitted, readWaitMs).catch((error) => {
        throw storeError(error);
      });
    },
    /** Closes after all transactions. */
    end: (close: () => void) => inTurn(async () => close()),
  };
}

type FileWatch = ReturnType<typeof watchFile>;

/**
 * Checks that a file keeps its name. A service could otherwise answer from a moved file while commands write to another.
 * @returns a check that is skipped while the last one is younger than `maxAgeMs` @throws TvsError STORE_UNAVAILABLE
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
    throw storeError(error);
  }
}
