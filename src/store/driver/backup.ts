import { createHash } from "node:crypto";
import { closeSync, createReadStream, fstatSync, lstatSync, openSync, readSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isTvsError, TvsError } from "../../domain/errors.ts";
import { masterKeyCheckName } from "../settings.ts";
import { lockFile, openNative } from "./connection.ts";
import { type Driver, type Row, storeError } from "./driver.ts";
import { discard, makeOwnFile, placeNew, placeOver, syncFile } from "./files.ts";
import { integer, integerOrNull, text } from "./rows.ts";
import { inspectSchema, readSchema } from "./schema.ts";

/** The content of a backup, which an operator checks before relying on it. */
export type BackupFacts = Readonly<Awaited<ReturnType<typeof inspectBackup>>>;

const countedTables = ["teachers", "partners", "signing_keys", "attestations", "events"] as const;
const magic = "SQLite format 3\0";

/**
 * Copies a database in use, consistently. The copy gets its final name once it is complete, checked and on the disk.
 * @throws TvsError REFUSED when `file` exists (without `replace`), is being written or cannot be written; STORE_*
 */
export async function makeBackup(driver: Driver, file: string, replace = false): Promise<BackupFacts> {
  if (!replace && lstatSync(file, { throwIfNoEntry: false }) !== undefined)
    throw new TvsError("REFUSED", `${file} already exists; choose another name`);
  await readSchema(driver);
  const partial = await takePartial(file);
  try {
    // The file is empty, readable by its owner only, no link, and made by this process.
    const { dev, ino } = partial.make();
    await driver.copyTo(partial.path);
    const made = lstatSync(partial.path, { throwIfNoEntry: false });
    if (made?.ino !== ino || made.dev !== dev) throw partial.taken();
    syncFile(partial.path);
    const facts = await inspectBackup(partial.path, file);
    (replace ? placeOver : placeNew)(partial.path, file);
    return facts;
  } catch (error) {
    partial.remove();
    throw error;
  } finally {
    partial.release();
  }
}

/** Whether a regular file, not a link, begins as a database does. */
export const beginsAsDatabase = (file: string) =>
  lstatSync(file, { throwIfNoEntry: false })?.isFile() === true && readHeader(file, file).isDatabase;

/**
 * Reads a backup without changing its folder; messages call it `name`.
 * @throws TvsError INPUT_UNREADABLE, STORE_CORRUPT for a foreign or damaged file, DATABASE_TOO_NEW
 */
export async function inspectBackup(file: string, name = file) {
  const { size: bytes, isDatabase, isWhole } = readHeader(file, name);
  if (!isDatabase) throw new TvsError("STORE_CORRUPT", `${name} ${damage(noBackup)}`);
  // A file in write-ahead mode was copied by hand, and its newest commits may be in the log of the original.
  if (!isWhole) {
    const message =
      `${name} was copied from a database file by hand and may lack its newest commits; ` +
      "make a backup of it with tvs backup --database file:PATH, and use that";
    throw new TvsError("STORE_CORRUPT", message);
  }
  return withImmutable(file, async (all) => {
    try {
      // The schema is compared first, because the check of the pages evaluates its expressions.
      const found = await inspectSchema(all);
      if (found === null || found.version === 0) throw new TvsError("STORE_CORRUPT", noBackup);
      if (found.difference !== null) throw new TvsError("STORE_CORRUPT", `${changed}: ${found.difference}`);
      const [row] = all("PRAGMA integrity_check(1)");
      if (row?.integrity_check !== "ok") throw new TvsError("STORE_CORRUPT", "the pages are inconsistent");
      return { bytes, sha256: await digestOf(file), schema: found.version, ...contentOf(all) };
    } catch (error) {
      const { code, message, detail = "" } = storeError(error);
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

/** Reads the rows of one statement without parameters. */
export type ReadAll = (sql: string) => Row[];

/** Reads a file that no process changes: SQLite makes no side files, takes no lock and replays no journal. */
export async function withImmutable<T>(file: string, read: (all: ReadAll) => T | Promise<T>): Promise<T> {
  // The URL encodes `?` and `#` of the name, which would begin the options.
  const db = await openNative(`${pathToFileURL(resolve(file)).href}?mode=ro&immutable=1`);
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

function contentOf(all: ReadAll) {
  const rows = all("SELECT name, value FROM settings");
  const settings = new Map(rows.map((row) => [text(row, "name"), text(row, "value")]));
  const count = (table: string) => integer(all(`SELECT count(*) AS n FROM ${table}`)[0] ?? {}, "n");
  const counts = Object.fromEntries(countedTables.map((table) => [table, count(table)]));
  const [log] = all("SELECT origin FROM logs ORDER BY number DESC LIMIT 1");
  const [newest = {}] = all("SELECT max(issued_at) * 1000 AS at, max(id) AS last FROM attestations");
  return {
    environment: settings.get("environment") === "sandbox" ? ("sandbox" as const) : ("live" as const),
    /** Identifies the master key (Secrets.check); null in a database that was never used. */
    masterKeyCheck: settings.get(masterKeyCheckName) ?? null,
    counts: counts as Readonly<Record<(typeof countedTables)[number], number>>,
    /** Milliseconds since the epoch; null when nothing was attested. */
    newestAttestation: integerOrNull(newest, "at"),
    /** The evidence log; null before it begins. `entries` includes attestations without a leaf (decision D13.1). */
    log:
      log === undefined ? null : { origin: text(log, "origin"), entries: integerOrNull(newest, "last") ?? 0 },
  };
}

/** SHA-256 of a file, hexadecimal. */
export async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk);
  return hash.digest("hex");
}

/** The backup to which an unfinished copy, its journal or its lock belongs, by path or name; null for other files. */
export const backupOfPartial = (path: string) => /^(.+)\.partial(-journal|-lock)?$/s.exec(path)?.[1] ?? null;

/** Locks a backup's unfinished file and deletes leftovers of a kill. @throws TvsError REFUSED if in use, unwritable */
export async function takePartial(file: string) {
  const path = `${file}.partial`;
  const lock = await lockNamed(file, `${path}-lock`);
  const remove = () => {
    for (const ending of ["", "-journal"]) discard(path + ending);
  };
  const problem = "was put there by somebody else; write to a folder in which nobody else can";
  const taken = () => new TvsError("REFUSED", `${path} ${problem}`);
  remove();
  return {
    path,
    remove,
    /** The error for a path at which another process has put a file. */
    taken,
    /** Makes an empty file. @throws TvsError REFUSED when another process has put a file there */
    make() {
      const made = makeOwnFile(path);
      if (made === null) throw taken();
      return made;
    },
    release(): void {
      // The name is deleted first, so that the next process makes a lock of its own.
      discard(`${path}-lock`);
      lock.close();
    },
  };
}

/** Locks a file that its holder deletes at the end. A lock counts only while its file has the name. */
async function lockNamed(file: string, path: string): Promise<{ close(): void }> {
  const inode = () => lstatSync(path, { throwIfNoEntry: false })?.ino;
  try {
    for (;;) {
      makeOwnFile(path);
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
