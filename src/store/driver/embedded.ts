import { existsSync, realpathSync, statSync } from "node:fs";
import { TvsError } from "../../domain/errors.ts";
import { type Connection, createWriter, guarded, openConnection } from "./connection.ts";
import { type Driver, storeError } from "./driver.ts";
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
  const settings = shared === undefined ? [] : servingSettings;
  const writer = await open(file, settings);
  const reader = await open(file, settings);
  const requireSameFile = watchFile(file);
  // One file may have several names (symbolic links), and they share its log and must share one lock.
  const realFile = guarded(() => realpathSync(file));
  const access =
    shared === undefined
      ? openAlone({ reader, writer, requireSameFile })
      : createServing({ ...shared, reader, writer, realFile, requireSameFile });
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
    query: async (sql, args) => guarded(() => access.query(sql, args)),
    write: access.write,
    batch: (statements) => access.write((tx) => tx.batch(statements)),
    renew: access.renew,
    heldMs: access.heldMs,
    isBusy: access.isBusy,
    // A commit in place takes the lock by itself, and gives it back before anybody else runs.
    takeTurn: () => undefined,
    copyTo: async (target) => guarded(() => access.copyTo(target)),
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

type FileConnections = {
  readonly reader: Connection;
  readonly writer: Connection;
  /** @throws TvsError STORE_UNAVAILABLE when the file is another one by now */
  requireSameFile(): void;
};

/** The file as a command uses it: each read by itself. */
function openAlone({ reader, writer: connection, requireSameFile }: FileConnections): FileAccess {
  const writer = createWriter(connection, { requireSameFile });
  return {
    query(sql, args) {
      requireSameFile();
      return reader.all(sql, args);
    },
    write: writer.write,
    renew() {},
    heldMs: writer.heldMs,
    isBusy: () => false,
    copyTo(target) {
      requireSameFile();
      reader.all("VACUUM INTO ?", [target]);
    },
    async close() {
      await writer.close();
      reader.close();
    },
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
