import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type Libsql from "libsql";
import { TvsError } from "../../domain/errors.ts";
import { makeBindable, type Row, type SqlValue, toTvsError } from "./driver.ts";
import { makePrivateFile, refuseLink } from "./files.ts";

/** `secure_delete` overwrites deleted names and secrets. The cache of 4 MiB holds the inner pages of all indexes. */
const settings = [
  "journal_mode = WAL",
  "synchronous = FULL",
  "foreign_keys = ON",
  "secure_delete = FAST",
  "cache_size = -4096",
  "journal_size_limit = 4194304",
];

/** How long a write waits for another process's transaction, in milliseconds. */
export const defaultLockWaitMs = 10_000;
/** The pause between two attempts to get a lock, in milliseconds. SQLite's own pauses are up to 100 ms long. */
const lockRetryMs = 1;
const maxPrepared = 500;

type Native = { readonly reader: boolean; all(args: unknown[]): Row[]; run(args: unknown[]): unknown };

/**
 * Opens a database by path or `file:` URL. The import is dynamic, so that other commands do not load the driver.
 * @param timeoutMs how long SQLite waits for a lock @throws TvsError STORE_*
 */
export async function openNativeDatabase(file: string, timeoutMs = 0): Promise<Libsql.Database> {
  try {
    const { default: Database } = await import("libsql");
    const db = new Database(file, { timeout: timeoutMs });
    // If a stranger has changed the file, these settings block harmful functions in its schema and detect bad pages.
    db.exec("PRAGMA trusted_schema = OFF");
    db.exec("PRAGMA cell_size_check = ON");
    return db;
  } catch (error) {
    throw explainOpenFailure(file, error);
  }
}

/** Makes the error that tells the operator why a file cannot be opened, and what to do. */
export function explainOpenFailure(file: string, error: unknown): TvsError {
  const detail = String(error);
  if (/Unable to open|: 14\b|CANTOPEN|EACCES|ENOENT|EPERM|EROFS/.test(detail)) {
    const message = `cannot open ${file}: check that its folder exists and that this user may write there`;
    return new TvsError("STORE_READ_ONLY", message, { detail });
  }
  if (/dlopen|shared object|\.node|failed to map/i.test(detail)) {
    const message =
      "the database engine could not be unpacked into the temp directory; set BUN_TMPDIR to a folder " +
      "that is writable and not mounted noexec";
    return new TvsError("STORE_UNAVAILABLE", message, { detail });
  }
  const known = toTvsError(error);
  return new TvsError(known.code, `${file}: ${known.message}`, { detail });
}

export type Connection = Awaited<ReturnType<typeof openConnection>>;

/** Opens a connection. Its methods throw the native driver's errors, not TvsErrors. @throws TvsError STORE_* */
export async function openConnection(file: string) {
  const db = await openNativeDatabase(file);
  const prepared = new Map<string, ReturnType<typeof prepare>>();
  /** Drops the prepared statements. They keep the file open and its WAL locked, and can block a ROLLBACK. */
  const release = () => prepared.clear();
  try {
    for (const setting of settings)
      await retryWhileLocked(() => db.exec(`PRAGMA ${setting}`), defaultLockWaitMs);
  } catch (error) {
    db.close();
    throw error;
  }

  function prepare(sql: string, valueCount: number) {
    if (prepared.size >= maxPrepared) release();
    const native = db.prepare(sql) as unknown as Native;
    const fresh = { valueCount, returnsRows: native.reader, native };
    prepared.set(sql, fresh);
    return fresh;
  }

  return {
    /** Runs one statement. All its calls need the same number of values: a missing one would be that of an earlier call. */
    all(sql: string, args: readonly SqlValue[] = []): Row[] {
      const values = args.map(makeBindable);
      const { valueCount, returnsRows, native } = prepared.get(sql) ?? prepare(sql, values.length);
      if (values.length !== valueCount)
        throw new TypeError("a statement must be given as many values each time");
      // `run` would keep a lock after a statement with rows. `all` is slower and leaks memory after one without rows.
      if (returnsRows) return native.all(values);
      native.run(values);
      return [];
    },
    exec: (sql: string) => void db.exec(sql),
    /** Rolls back. On a full disk SQLite has rolled back already, and the second error must not hide the first. */
    rollBack(): void {
      release();
      try {
        db.exec("ROLLBACK");
      } catch (error) {
        if (!/no transaction is active/i.test(String(error))) throw error;
      }
    },
    close(): void {
      release();
      db.close();
    },
  };
}

/** Repeats `run` while another process holds a lock. Between two attempts the event loop does other work. */
export async function retryWhileLocked<T>(run: () => T | Promise<T>, waitMs: number): Promise<T> {
  let deadlineMs: number | undefined;
  for (;;) {
    try {
      return await run();
    } catch (error) {
      deadlineMs ??= performance.now() + waitMs;
      if (toTvsError(error).code !== "STORE_BUSY" || performance.now() > deadlineMs) throw error;
    }
    await sleep(lockRetryMs);
  }
}

/** Locks a lock file, which is a small database. A kill frees the lock. @throws TvsError DATABASE_IN_USE, REFUSED */
export async function lockFile(file: string): Promise<{ close(): void }> {
  refuseLink(file);
  try {
    makePrivateFile(file);
  } catch (error) {
    throw explainOpenFailure(file, error);
  }
  // The timeout, in ms, is longer than the time for which `tvs status` has its read lock.
  const db = await openNativeDatabase(file, 250);
  try {
    // The lock needs no journal file, and a killed process would leave a journal file behind.
    db.exec("PRAGMA journal_mode = MEMORY");
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    if (toTvsError(error).code !== "STORE_BUSY") throw explainOpenFailure(file, error);
    const message = "another `tvs serve` uses this database; stop it first, or give this one its own --data";
    throw new TvsError("DATABASE_IN_USE", message);
  }
  return { close: () => void db.close() };
}

/** Returns true if a process holds the lock of {@link lockFile} on the file. Only reads, and creates no file. */
export async function isFileLocked(file: string): Promise<boolean> {
  if (!existsSync(file)) return false;
  const db = await openNativeDatabase(file);
  try {
    db.exec("SELECT count(*) FROM sqlite_master");
    return false;
  } catch (error) {
    if (toTvsError(error).code === "STORE_BUSY") return true;
    throw toTvsError(error);
  } finally {
    db.close();
  }
}
