import * as fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { TvsError } from "../../domain/errors.ts";
import { compareSummaries, type DatabaseSummary, readDatabaseSummary } from "../evidence/audit-summary.ts";
import { type BackupFacts, hashFile, readFrozenFile, type SqlRunner } from "./backup.ts";
import { lockFile, openNativeDatabase } from "./connection.ts";
import { type Driver, toTvsError } from "./driver.ts";
import { openDatabaseFile } from "./file.ts";
import { discardFile, errorCodeOf, placeNewFile, refuseLink, syncFile, syncFolderOf } from "./files.ts";

/** How long a restore waits for a command that still uses the old database, in milliseconds. */
const oldInUseWaitMs = 2000;
const oldInUseRetryMs = 20;

export type RestoreOptions = {
  readonly from: string;
  /** The result of inspectBackup. The copy must have the digest that these facts contain. */
  readonly facts: BackupFacts;
  readonly target: string;
  readonly force: boolean;
  /** Changes the copy before the copy replaces the database, so that no process reads the unchanged copy. */
  readonly onCopied?: (restored: Driver) => Promise<void>;
  /** The suffix of the name under which the old database is kept. */
  readonly stamp: string;
};

export type RestoreResult = Awaited<ReturnType<typeof restoreBackup>>;

/**
 * Replaces a database that no service uses by a backup. The copy is written and flushed under another name. Then one
 * rename replaces the old file, so after a kill the path has the whole old database or the whole copy.
 * @returns the old database's new path (null without one), and what the restored one lacks (null if unreadable)
 * @throws TvsError REFUSED if there is a database and no `force`, DATABASE_IN_USE, INPUT_UNREADABLE if the backup
 *   cannot be read or has changed since it was inspected, STORE_*
 */
export async function restoreBackup(options: RestoreOptions) {
  const { from, target } = options;
  requireReplaceable(options);
  const lock = await lockFile(`${target}.lock`);
  const temporary = `${target}.restoring-${process.pid}`;
  try {
    // Deletes the copies of killed restores. No other restore is running, because this one has the lock.
    const isLeft = (name: string) => name.startsWith(`${basename(target)}.restoring-`);
    for (const name of fs.readdirSync(dirname(target)).filter(isLeft))
      fs.rmSync(join(dirname(target), name), { force: true });
    await copyIn(from, temporary);
    if ((await hashFile(temporary)) !== options.facts.sha256)
      throw new TvsError("INPUT_UNREADABLE", `${from} was changed while it was read; try again`);
    await changeCopy(temporary, options.onCopied);
    syncFile(temporary);
    const restored = await readFrozenFile(temporary, readDatabaseSummary);
    return await swap(temporary, target, `${target}.replaced-${options.stamp}`, restored);
  } finally {
    discardFile(temporary);
    lock.close();
  }
}

/** Refuses to replace a database without `force`, or to follow a link. @throws TvsError REFUSED */
export function requireReplaceable({ target, force }: Pick<RestoreOptions, "target" | "force">): void {
  refuseLink(target);
  if (!fs.existsSync(target) || force) return;
  const message = `${target} is there already; give an empty --data, or --force to replace it (it is kept under another name)`;
  throw new TvsError("REFUSED", message);
}

async function copyIn(from: string, temporary: string): Promise<void> {
  try {
    await pipeline(fs.createReadStream(from), fs.createWriteStream(temporary, { flags: "wx", mode: 0o600 }));
  } catch (cause) {
    if (errorCodeOf(cause) === "ENOSPC") throw toTvsError(cause);
    const message = `${from} cannot be read, or not copied to ${dirname(temporary)}`;
    throw new TvsError("INPUT_UNREADABLE", message, { cause });
  }
}

async function changeCopy(file: string, change: RestoreOptions["onCopied"]): Promise<void> {
  const driver = await openDatabaseFile({ file });
  try {
    await change?.(driver);
    // Moves the WAL into the file, because only the file is renamed.
    const [mode] = await driver.query("PRAGMA journal_mode = DELETE");
    if (mode?.journal_mode !== "delete")
      throw new TvsError("STORE_BUSY", `${file} is used by another process; try again`);
  } finally {
    await driver.close();
  }
}

async function swap(temporary: string, target: string, aside: string, restored: DatabaseSummary) {
  if (!fs.existsSync(target)) {
    // SQLite would apply an old database's WAL to the restored database, so the WAL is moved away.
    setSideFilesAside(target, aside);
    syncFolderOf(target);
    placeNewFile(temporary, target);
    return { replaced: null, undone: null };
  }
  const old = await holdOld(target);
  try {
    const before = old === null ? null : attempt(() => readDatabaseSummary(old.all));
    try {
      fs.linkSync(target, aside);
    } catch (cause) {
      const message = `the old database could not be kept as ${aside}; move it away yourself, then restore without --force`;
      throw new TvsError("REFUSED", message, { cause });
    }
    if (old === null) setSideFilesAside(target, aside);
    syncFolderOf(target);
    fs.renameSync(temporary, target);
    syncFolderOf(target);
    return { replaced: aside, undone: before === null ? null : compareSummaries(before, restored) };
  } finally {
    old?.release();
  }
}

/**
 * Moves the old database's WAL into its file, and locks the file until the restore is done, so that no process writes
 * to the old file. This process must not open the file a second time: closing it would release the lock (fcntl).
 * @returns null for a file that is too damaged to be opened
 */
async function holdOld(target: string) {
  const db = await openNativeDatabase(target);
  const all: SqlRunner = (sql) => db.prepare(sql).all([]) as ReturnType<SqlRunner>;
  const deadline = Date.now() + oldInUseWaitMs;
  const release = () => {
    db.exec("ROLLBACK");
    db.close();
  };
  for (;;) {
    try {
      // SQLite's timeout does not apply to a change of the journal mode, so the change is retried here.
      db.exec("PRAGMA journal_mode = DELETE");
      db.exec("BEGIN EXCLUSIVE");
      // Between the two statements another process may have set the WAL mode again.
      if (all("PRAGMA journal_mode")[0]?.journal_mode === "delete") return { all, release };
      throw new TvsError("STORE_BUSY", "in use again");
    } catch (error) {
      attempt(() => db.exec("ROLLBACK"));
      const failure = toTvsError(error);
      if (failure.code !== "STORE_BUSY" || Date.now() >= deadline) {
        db.close();
        if (failure.code === "STORE_CORRUPT") return null;
        if (failure.code !== "STORE_BUSY") throw failure;
        const message = `another process is using ${target}; wait for it or stop it, then try again`;
        throw new TvsError("DATABASE_IN_USE", message);
      }
    }
    await sleep(oldInUseRetryMs);
  }
}

function attempt<T>(run: () => T): T | null {
  try {
    return run();
  } catch {
    return null;
  }
}

function setSideFilesAside(target: string, aside: string): void {
  for (const end of ["-wal", "-shm", "-journal"])
    if (fs.existsSync(target + end)) fs.renameSync(target + end, aside + end);
}
