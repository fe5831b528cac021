import { createHash } from "node:crypto";
import { closeSync, createReadStream, fstatSync, lstatSync, openSync, readSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isTvsError, TvsError } from "../../domain/errors.ts";
import { masterKeyCheckSettingName } from "../settings.ts";
import { lockFile, openNativeDatabase } from "./connection.ts";
import { type Driver, type Row, toTvsError } from "./driver.ts";
import { discardFile, makePrivateFile, placeNewFile, replaceFile, syncFile } from "./files.ts";
import { integer, integerOrNull, text } from "./rows.ts";
import { countSteps, inspectSchema } from "./schema.ts";

/** The facts of a backup, by which an operator recognises the right one. */
export type BackupFacts = Readonly<Awaited<ReturnType<typeof inspectBackup>>>;

const countedTables = ["teachers", "partners", "signing_keys", "attestations", "events"] as const;
const magic = "SQLite format 3\0";

/**
 * Copies a database, which may be in use. The copy gets its final name once it is complete, checked and on the disk.
 * @throws TvsError REFUSED if `file` exists (without `replace`), is being written or cannot be written; STORE_*
 */
export async function makeBackup(driver: Driver, file: string, replace = false): Promise<BackupFacts> {
  if (!replace && lstatSync(file, { throwIfNoEntry: false }) !== undefined)
    throw new TvsError("REFUSED", `${file} already exists; choose another name`);
  await countSteps(driver);
  const partial = await lockPartialFile(file);
  try {
    // Only its owner can read the new, empty file. If its inode changes, another user has replaced the file.
    const { dev, ino } = partial.make();
    await driver.copyTo(partial.path);
    const made = lstatSync(partial.path, { throwIfNoEntry: false });
    if (made?.ino !== ino || made.dev !== dev) throw partial.taken();
    syncFile(partial.path);
    const facts = await inspectBackup(partial.path, file);
    (replace ? replaceFile : placeNewFile)(partial.path, file);
    return facts;
  } catch (error) {
    partial.remove();
    throw error;
  } finally {
    partial.release();
  }
}

/** Returns true if a path is a regular file, not a link, and begins with SQLite's header. */
export const hasSqliteHeader = (file: string) =>
  lstatSync(file, { throwIfNoEntry: false })?.isFile() === true && readHeader(file, file).isDatabase;

/**
 * Checks a backup and reads its facts, without changing its folder. @param name the backup's name in messages
 * @throws TvsError INPUT_UNREADABLE, STORE_CORRUPT for a foreign or damaged file, DATABASE_TOO_NEW
 */
export async function inspectBackup(file: string, name = file) {
  const { size: bytes, isDatabase, isWhole } = readHeader(file, name);
  if (!isDatabase) throw new TvsError("STORE_CORRUPT", `${name} ${damage(noBackup)}`);
  // A file in WAL mode was copied by hand, not by `tvs backup`. Its newest commits may be in the original's WAL.
  if (!isWhole) {
    const message =
      `${name} was copied from a database file by hand and may lack its newest commits; ` +
      "make a backup of it with tvs backup --database file:PATH, and use that";
    throw new TvsError("STORE_CORRUPT", message);
  }
  return readFrozenFile(file, async (all) => {
    try {
      // The schema is compared first: integrity_check evaluates its expressions, which a stranger may have written.
      const found = await inspectSchema(all);
      if (found === null || found.version === 0) throw new TvsError("STORE_CORRUPT", noBackup);
      if (found.difference !== null) throw new TvsError("STORE_CORRUPT", `${changed}: ${found.difference}`);
      const [row] = all("PRAGMA integrity_check(1)");
      if (row?.integrity_check !== "ok") throw new TvsError("STORE_CORRUPT", "the pages are inconsistent");
      return { bytes, sha256: await hashFile(file), schema: found.version, ...contentOf(all) };
    } catch (error) {
      const { code, message, detail = "" } = toTvsError(error);
      if (code === "DATABASE_TOO_NEW") throw error;
      throw new TvsError("STORE_CORRUPT", `${name} ${damage(message)}`, { detail, cause: error });
    }
  });
}

const noBackup = "is not a backup of this program";
const changed = "was changed by another program";
function damage(message: string): string {
  if (message === noBackup) return `${noBackup}; use a file that tvs backup has made`;
  return message.startsWith(changed) ? `${message}; use another backup` : "is damaged; use another backup";
}

export type SqlRunner = (sql: string) => Row[];

/** Reads a database file that no process changes, so SQLite makes no files, takes no lock and replays no journal. */
export async function readFrozenFile<T>(file: string, read: (all: SqlRunner) => T | Promise<T>): Promise<T> {
  // The URL encodes `?` and `#` in the file's name, which SQLite would read as the beginning of the options.
  const db = await openNativeDatabase(`${pathToFileURL(resolve(file)).href}?mode=ro&immutable=1`);
  try {
    return await read((sql) => db.prepare(sql).all([]) as Row[]);
  } finally {
    db.close();
  }
}

function readHeader(file: string, name: string) {
  const header = new Uint8Array(100);
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, "r");
    readSync(descriptor, header);
    const isDatabase = new TextDecoder().decode(header.subarray(0, magic.length)) === magic;
    return { size: fstatSync(descriptor).size, isDatabase, isWhole: header[18] === 1 };
  } catch (cause) {
    throw new TvsError("INPUT_UNREADABLE", `${name} cannot be read`, { cause });
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function contentOf(all: SqlRunner) {
  const rows = all("SELECT name, value FROM settings");
  const settings = new Map(rows.map((row) => [text(row, "name"), text(row, "value")]));
  const count = (table: string) => integer(all(`SELECT count(*) AS n FROM ${table}`)[0] ?? {}, "n");
  const counts = Object.fromEntries(countedTables.map((table) => [table, count(table)]));
  const [log] = all("SELECT origin FROM logs ORDER BY number DESC LIMIT 1");
  const [newest = {}] = all("SELECT max(issued_at) * 1000 AS at, max(id) AS last FROM attestations");
  return {
    environment: settings.get("environment") === "sandbox" ? ("sandbox" as const) : ("live" as const),
    /** Identifies the master key (`Secrets.check`); null if no command has used the database yet. */
    masterKeyCheck: settings.get(masterKeyCheckSettingName) ?? null,
    counts: counts as Readonly<Record<(typeof countedTables)[number], number>>,
    /** The time of the newest attestation, in milliseconds since the epoch; null before the first attestation. */
    newestAttestation: integerOrNull(newest, "at"),
    /** The newest evidence log; null without one. `entries` includes attestations without a leaf (decision D13.1). */
    log:
      log === undefined ? null : { origin: text(log, "origin"), entries: integerOrNull(newest, "last") ?? 0 },
  };
}

export async function hashFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk);
  return hash.digest("hex");
}

/** Returns a backup's path for the path of its partial file, journal or lock. @returns null for other files */
export const backupPathOf = (path: string) => /^(.+)\.partial(-journal|-lock)?$/s.exec(path)?.[1] ?? null;

/** Locks a backup's partial file and deletes what a killed backup left. @throws TvsError REFUSED */
export async function lockPartialFile(file: string) {
  const path = `${file}.partial`;
  const lock = await lockNamed(file, `${path}-lock`);
  const remove = () => {
    for (const ending of ["", "-journal"]) discardFile(path + ending);
  };
  const problem = "was put there by somebody else; write to a folder in which nobody else can";
  const taken = () => new TvsError("REFUSED", `${path} ${problem}`);
  remove();
  return {
    path,
    remove,
    /** Makes the error for a file that another user has put at the path. */
    taken,
    /** Makes the empty partial file. @throws TvsError REFUSED if the path exists */
    make() {
      const made = makePrivateFile(path);
      if (made === null) throw taken();
      return made;
    },
    release(): void {
      // The lock file is deleted while it is locked, so that the next process makes and locks a new file.
      discardFile(`${path}-lock`);
      lock.close();
    },
  };
}

/** Locks the file at `path`. Its holder deletes the file before unlocking; a process that waited then locks a new file. */
async function lockNamed(file: string, path: string): Promise<{ close(): void }> {
  const inode = () => lstatSync(path, { throwIfNoEntry: false })?.ino;
  try {
    for (;;) {
      makePrivateFile(path);
      const before = inode();
      const lock = await lockFile(path);
      if (before !== undefined && before === inode()) return lock;
      lock.close();
    }
  } catch (cause) {
    const busy = "is being written by another backup; wait for it";
    const problem = isTvsError(cause, "DATABASE_IN_USE") ? busy : "cannot be written; check its folder";
    throw new TvsError("REFUSED", `${file} ${problem}`, { cause });
  }
}
