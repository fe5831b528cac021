import { existsSync, realpathSync, statSync } from "node:fs";
import { TvsError } from "../../domain/errors.ts";
import { type Connection, createAccess, guarded, openConnection } from "./connection.ts";
import { type Driver, storeError, type Value } from "./driver.ts";
import { makeOwnFile } from "./files.ts";
import { explainOpenFailure } from "./native.ts";
import { isFileLocked, lockFile } from "./service-lock.ts";
import { createServing, type FileAccess, type SharedFile, servingSettings } from "./serving.ts";

type EmbeddedOptions = {
  readonly file: string;
  /** What the serving threads of one process share; without it the file is this thread's alone, as a command wants. */
  readonly shared?: SharedFile;
  /** Told that the service's database or its lock is gone: it is not this process's any more until it is started anew. */
  readonly onLost?: ((error: TvsError) => void) | undefined;
  /** How often a service looks whether its database and its lock still have their names. */
  readonly lockWatchMs?: number;
};

/**
 * Opens a database file with libsql inside this process: WAL, `synchronous=FULL`.
 * @throws TvsError STORE_* when the file cannot be opened or is not a database
 */
export async function openEmbedded({
  file,
  shared,
  onLost,
  lockWatchMs = 1_000,
}: EmbeddedOptions): Promise<Driver> {
  const connection = await open(file, shared === undefined ? [] : servingSettings);
  const requireSameFile = watchFile(file);
  // One file may have several names (symbolic links), and they share its log and must share one lock.
  const realFile = guarded(() => realpathSync(file));
  const access =
    shared === undefined
      ? openAlone(connection, requireSameFile)
      : createServing({ ...shared, connection, realFile, requireSameFile });
  const lockPath = `${realFile}.lock`;
  let lock: { close(): void } | undefined;
  let lockWatch: ReturnType<typeof setInterval> | undefined;

  /**
   * A lock without its name keeps nobody out: who deleted the file let another service in. A database without its name
   * is answered from no more, and would not be for ever.
   */
  function watchFiles(): void {
    const requireSameLock = watchFile(lockPath);
    const look = () => {
      try {
        requireSameFile();
        requireSameLock();
      } catch (error) {
        clearInterval(lockWatch);
        onLost?.(storeError(error));
      }
    };
    lockWatch = setInterval(look, lockWatchMs);
    lockWatch.unref();
  }

  return {
    kind: "embedded",
    ...access,
    batch: (statements) => access.write((tx) => tx.batch(statements)),
    // A commit in place takes the lock by itself, and gives it back before anybody else runs.
    takeTurn: () => undefined,
    async lockService() {
      lock = await lockFile(lockPath);
      watchFiles();
      return true;
    },
    serviceRunning: async () => lock !== undefined || isFileLocked(lockPath),
    async close() {
      clearInterval(lockWatch);
      await access.close();
      lock?.close();
    },
  };
}

/** The file as a command uses it: each read by itself. */
function openAlone(connection: Connection, requireSameFile: () => void): FileAccess {
  const access = createAccess(connection, { beforeTry: requireSameFile });

  const run = (sql: string, args?: readonly Value[]) =>
    access.read(() => {
      requireSameFile();
      return connection.all(sql, args);
    });

  return {
    query: run,
    write: access.write,
    renew() {},
    heldMs: access.heldMs,
    isBusy: () => false,
    async copyTo(target) {
      await run("VACUUM INTO ?", [target]);
    },
    close: () => access.end(connection.close),
  };
}

async function open(file: string, settings: readonly string[]): Promise<Connection> {
  try {
    if (!existsSync(file)) makeOwnFile(file);
    return await openConnection(file, settings);
  } catch (error) {
    if (error instanceof TvsError) throw error;
    throw explainOpenFailure(file, error);
  }
}

/**
 * A file that was moved away or replaced stays open here and would go on answering, while commands write to the one
 * that has its name now: a revocation would be lost, and so would the evidence.
 * @returns what throws TvsError STORE_UNAVAILABLE, and goes on doing so, once the file is another one
 */
function watchFile(file: string): () => void {
  const opened = statSync(file, { throwIfNoEntry: false });
  let isGone = false;
  return () => {
    const found = guarded(() => statSync(file, { throwIfNoEntry: false }));
    if (found?.ino !== opened?.ino || found?.dev !== opened?.dev) isGone = true;
    if (!isGone) return;
    const message = `${file} was moved away or replaced while it was in use; start this program again`;
    throw new TvsError("STORE_UNAVAILABLE", message);
  };
}
