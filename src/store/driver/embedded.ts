import { chmodSync, existsSync, realpathSync, statSync } from "node:fs";
import type { Worker } from "node:worker_threads";
import { TvsError } from "../../domain/errors.ts";
import { type Connection, openConnection } from "./connection.ts";
import { type Driver, type Row, type Statement, storeError } from "./driver.ts";
import { explainOpenFailure, openNative } from "./native.ts";
import { createPacker, type PackedRows, unpackRows } from "./wire.ts";
import { readyId } from "./writer.ts";

export type EmbeddedOptions = {
  readonly file: string;
  /**
   * Starts a thread that runs {@link file://./writer.ts}'s loop. With it, every write happens off the
   * calling thread, which then waits neither for the disk nor for another process's transaction.
   * Without it, writes run in place, as a terminal command wants.
   */
  readonly startWriter?: (file: string) => Worker;
  /**
   * Told that the thread has ended by itself, or that the lock of a claim is gone: the database is not this process's
   * any more until it is started anew.
   */
  readonly onLost?: ((error: TvsError) => void) | undefined;
  /** How often a service looks whether its lock still has its name. */
  readonly lockWatchMs?: number;
};

type Writer = {
  batch(statements: readonly Statement[]): Promise<Row[][]>;
  heldMs(): number;
  close(): Promise<void>;
};

/**
 * Opens a database file with libsql inside this process: WAL, `synchronous=FULL`.
 * @throws TvsError STORE_* when the file cannot be opened or is not a database
 */
export async function openEmbedded({
  file,
  startWriter,
  onLost,
  lockWatchMs = 1_000,
}: EmbeddedOptions): Promise<Driver> {
  const connection = await open(file);
  const writer = startWriter === undefined ? inPlace(connection) : await inThread(startWriter(file), onLost);
  const requireSameFile = watchFile(file);
  // One file may have several names (symbolic links), and they must share one lock.
  const lockFile = `${guarded(() => realpathSync(file))}.lock`;
  let lock: Connection | undefined;
  let lockWatch: ReturnType<typeof setInterval> | undefined;

  /** A lock without its name keeps nobody out: who deleted the file let another service in. */
  function watchLock(): void {
    const requireSameLock = watchFile(lockFile);
    const look = () => {
      try {
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
    async query(sql, args) {
      requireSameFile();
      return guarded(() => connection.all(sql, args));
    },
    async batch(statements) {
      requireSameFile();
      return writer.batch(statements);
    },
    heldMs: () => writer.heldMs(),
    async copyTo(target) {
      requireSameFile();
      guarded(() => void connection.all("VACUUM INTO ?", [target]));
    },
    async claimService() {
      lock = await claim(lockFile);
      watchLock();
    },
    serviceRunning: async () => lock !== undefined || isClaimed(lockFile),
    async close() {
      clearInterval(lockWatch);
      await writer.close();
      connection.close();
      lock?.close();
    },
  };
}

async function open(file: string): Promise<Connection> {
  try {
    const fresh = !existsSync(file);
    const connection = await openConnection(file);
    if (fresh) chmodSync(file, 0o600);
    return connection;
  } catch (error) {
    if (error instanceof TvsError) throw error;
    throw explainOpenFailure(file, error);
  }
}

/**
 * A file that was moved away or replaced stays open here and would go on answering, while commands write to the one
 * that has its name now: a revocation would be lost, and so would the evidence. It is looked at before each use; that
 * costs less than the smallest read.
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

function guarded<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw storeError(error);
  }
}

function inPlace(connection: Connection): Writer {
  return {
    batch: async (statements) => guarded(() => connection.transaction(statements)),
    heldMs: () => connection.heldMs(),
    close: async () => {},
  };
}

type Reply = { id: number; rows?: PackedRows; heldMs?: number; error?: { code: string; message: string } };
type Waiting = { statementCount: number; resolve(rows: Row[][]): void; reject(error: unknown): void };

/** The other end of writer.ts, which speaks first. Batches are answered in the order in which they were sent. */
async function inThread(worker: Worker, onLost: EmbeddedOptions["onLost"]): Promise<Writer> {
  const waiting = new Map<number, Waiting>();
  const packer = createPacker();
  let nextId = 0;
  let heldMs = 0;
  let gone: TvsError | undefined;
  let isClosing = false;

  function settle({ id, rows, heldMs: held = 0, error }: Reply): void {
    heldMs = held;
    const call = waiting.get(id);
    waiting.delete(id);
    if (error !== undefined)
      call?.reject(storeError(Object.assign(new Error(error.message), { code: error.code })));
    else call?.resolve(unpackRows(rows ?? [], call.statementCount));
  }

  function send(message: object, statementCount = 0): Promise<Row[][]> {
    return new Promise((resolve, reject) => {
      if (gone !== undefined) return reject(gone);
      const id = nextId++;
      try {
        worker.postMessage({ id, ...message });
        waiting.set(id, { statementCount, resolve, reject });
      } catch (error) {
        packer.restart();
        reject(error);
      }
    });
  }

  function fail(detail: string): void {
    const isFirst = gone === undefined && !isClosing;
    gone = new TvsError("STORE_UNAVAILABLE", "the database writer stopped; restart the service", { detail });
    for (const call of waiting.values()) call.reject(gone);
    waiting.clear();
    if (isFirst) onLost?.(gone);
  }

  worker.on("message", settle);
  worker.on("error", (error) => fail(String(error)));
  worker.on("exit", () => fail("writer thread ended"));
  await new Promise<Row[][]>((resolve, reject) =>
    waiting.set(readyId, { statementCount: 0, resolve, reject }),
  );
  await send({ open: true });

  return {
    batch: (statements) => send({ batch: packer.pack(statements) }, statements.length),
    heldMs: () => heldMs,
    async close() {
      isClosing = true;
      if (gone === undefined) await send({ close: true }).catch(() => {});
      await worker.terminate();
    },
  };
}

/**
 * Holds an exclusive lock on a small database beside the real one. The operating system frees it when
 * the process ends, however it ends, so a service that was killed never has to wait for itself.
 * @param file the small database: the real one's path and `.lock`
 * @throws TvsError DATABASE_IN_USE
 */
export async function claim(file: string): Promise<Connection> {
  // Longer than `tvs status` looks at the lock, which must not keep a service from starting.
  const db = await openNative(file, 250);
  try {
    db.exec("PRAGMA journal_mode = DELETE");
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    if (storeError(error).code !== "STORE_BUSY") throw explainOpenFailure(file, error);
    const message = "another `tvs serve` uses this database; stop it first, or give this one its own --data";
    throw new TvsError("DATABASE_IN_USE", message);
  }
  return {
    all: () => [],
    transaction: () => [],
    heldMs: () => 0,
    exec: () => {},
    close: () => void db.close(),
  };
}

/** Looks whether the lock is held: a read that the holder's exclusive lock would refuse. It makes no file. */
async function isClaimed(file: string): Promise<boolean> {
  if (!existsSync(file)) return false;
  const db = await openNative(file);
  try {
    db.exec("SELECT count(*) FROM sqlite_master");
    return false;
  } catch (error) {
    if (storeError(error).code === "STORE_BUSY") return true;
    throw storeError(error);
  } finally {
    db.close();
  }
}
