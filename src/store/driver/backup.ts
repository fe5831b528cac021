import { createHash } from "node:crypto";
import { closeSync, createReadStream, fstatSync, lstatSync, openSync, readSync, type Stats } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isTvsError, TvsError } from "../../domain/errors.ts";
import { masterKeyCheckName } from "../settings.ts";
import { openNative } from "./connection.ts";
import { type Driver, type Row, storeError } from "./driver.ts";
import { codeOf, discard, makeOwnFile, placeNew, placeOver, syncFile } from "./files.ts";
import { lockFile } from "./lock.ts";
import { integer, integerOrNull, text } from "./rows.ts";
import { inspectSchema, readSchema } from "./schema.ts";

/** What a backup holds, as far as an operator wants to know it before relying on it. */
export type BackupFacts = Readonly<Awaited<ReturnType<typeof inspectBackup>>>;

const countedTables = ["teachers", "partners", "signing_keys", "attestations", "events"] as const;
const headerBytes = 100;
const magic = "SQLite format 3\0";

/**
 * Writes a consistent copy of a database that may be in use, under its final name only when it is complete,
 * checked and on the disk.
 * @param replace whether it may take the place of a file that is there
 * @throws TvsError REFUSED when `file` exists, another process writes it, or its folder refuses; STORE_* otherwise
 */
export async function makeBackup(driver: Driver, file: string, replace = false): Promise<BackupFacts> {
  if (!replace && lstatSync(file, { throwIfNoEntry: false }) !== undefined)
    throw new TvsError("REFUSED", `${file} already exists; choose another name`);
  await readSchema(driver);
  const partial = await takePartial(file);
  try {
    // Readable by its owner alone before anything is in it, and neither a link nor anybody else's file.
    const { dev, ino } = partial.make();
    await driver.copyTo(partial.path);
    const made = lstatSync(partial.path, { throwIfNoEntry: false });
    if (made?.ino !== ino || made.dev !== dev) throw partial.taken();
    syncFile(partial.path);
    const facts = await inspectBackup(partial.path, file);
    if (replace) placeOver(partial.path, file);
    else placeNew(partial.path, file);
    return facts;
  } catch (error) {
    partial.remove();
    throw error;
  } finally {
    partial.release();
  }
}

/** Whether a file begins as a database does, a whole backup for example. Links count for none. */
export function beginsAsDatabase(file: string): boolean {
  const header = new Uint8Array(magic.length);
  if (lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
  readHeader(file, file, header);
  return new TextDecoder().decode(header) === magic;
}

/**
 * Looks into a backup without changing it or its folder: the file is opened as immutable, so that SQLite
 * makes no side files, takes no lock and replays no journal.
 * @param name how messages call the file
 * @throws TvsError INPUT_UNREADABLE when it cannot be read, STORE_CORRUPT when it is no backup of this
 *   program or is damaged, DATABASE_TOO_NEW when a newer program made it
 */
export async function inspectBackup(file: string, name = file) {
  const bytes = checkHeader(file, name);
  return withImmutable(file, async (all) => {
    try {
      // First of all, because a check of the pages evaluates what the schema says.
      const schema = await schemaOf(all);
      checkIntegrity(all);
      return {
        bytes,
        sha256: await digestOf(file),
        schema,
        ...contentOf(all),
        /** Its evidence log; null where that was never begun. */
        log: logOf(all),
      };
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

/** Reads rows of one database; a statement without parameters, as often as it likes. */
export type ReadAll = (sql: string) => Row[];

/** Runs `act` over a file that nobody changes meanwhile. */
export async function withImmutable<T>(file: string, act: (all: ReadAll) => T | Promise<T>): Promise<T> {
  // The path as an address: percent-encoded, so that a `?` or `#` in a name is not taken for options.
  const db = await openNative(`${pathToFileURL(resolve(file)).href}?mode=ro&immutable=1`);
  try {
    return await act((sql) => db.prepare(sql).all([]) as Row[]);
  } finally {
    db.close();
  }
}

/**
 * A backup is one whole file. One that is marked for write-ahead logging was copied from a running
 * database by hand, and may lack the newest commits without anything else showing it.
 */
function checkHeader(file: string, name: string): number {
  const header = new Uint8Array(headerBytes);
  const size = readHeader(file, name, header);
  if (new TextDecoder().decode(header.subarray(0, magic.length)) !== magic) {
    throw new TvsError("STORE_CORRUPT", `${name} ${damage(noBackup)}`);
  }
  if (header[18] !== 1) {
    const message =
      `${name} was copied from a database file by hand and may lack its newest commits; ` +
      "make a backup of it with tvs backup --database file:PATH, and use that";
    throw new TvsError("STORE_CORRUPT", message);
  }
  return size;
}

/** @returns the size of the file, in bytes */
function readHeader(file: string, name: string, header: Uint8Array): number {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, "r");
    readSync(descriptor, header);
    return fstatSync(descriptor).size;
  } catch (cause) {
    throw new TvsError("INPUT_UNREADABLE", `${name} cannot be read`, { cause });
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

async function schemaOf(all: ReadAll): Promise<number> {
  const found = await inspectSchema(all);
  if (found === null || found.version === 0) throw new TvsError("STORE_CORRUPT", noBackup);
  if (found.difference !== null) throw new TvsError("STORE_CORRUPT", `${changed}: ${found.difference}`);
  return found.version;
}

function checkIntegrity(all: ReadAll): void {
  const [row] = all("PRAGMA integrity_check(1)");
  if (row?.integrity_check !== "ok")
    throw new TvsError("STORE_CORRUPT", "the pages of the database are inconsistent");
}

function contentOf(all: ReadAll) {
  const settings = new Map(
    all("SELECT name, value FROM settings").map((row) => [text(row, "name"), text(row, "value")]),
  );
  const count = (table: string) => integer(all(`SELECT count(*) AS n FROM ${table}`)[0] ?? {}, "n");
  const [newest] = all("SELECT max(issued_at) AS at FROM attestations");
  const seconds = newest === undefined ? null : integerOrNull(newest, "at");
  return {
    environment: settings.get("environment") === "sandbox" ? ("sandbox" as const) : ("live" as const),
    /** Which master key it was made with (Secrets.check); null in a database that was never used. */
    masterKeyCheck: settings.get(masterKeyCheckName) ?? null,
    counts: Object.fromEntries(countedTables.map((table) => [table, count(table)])) as Readonly<
      Record<(typeof countedTables)[number], number>
    >,
    /** Milliseconds since the epoch; null when nothing was attested. */
    newestAttestation: seconds === null ? null : seconds * 1000,
  };
}

/** The last attestation is never deleted, so it says how far the log reaches (decision D13.1). */
function logOf(all: ReadAll) {
  const [log] = all("SELECT origin FROM logs ORDER BY number DESC LIMIT 1");
  if (log === undefined) return null;
  const [last] = all("SELECT coalesce(max(id), 0) AS id FROM attestations");
  return {
    origin: text(log, "origin"),
    /** Entries that it has, with those that are attested and wait for their leaf. */
    entries: integer(last ?? {}, "id"),
  };
}

/** SHA-256 of a file, hexadecimal. */
export async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 }))
    hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}

// The file that a backup goes into before it is complete, and whose it is.

/**
 * The backup that an unfinished file belongs to, by its path or name; null for any other file. Beside the copy may lie
 * SQLite's journal of it, and the lock of who writes it.
 */
export function backupOfPartial(path: string): string | null {
  return /^(.+)\.partial(-journal|-lock)?$/s.exec(path)?.[1] ?? null;
}

/**
 * Takes the unfinished file of a backup, and deletes what a killed one has left of it: the operating system gives the
 * lock back when a process ends, however it ends.
 * @param file the backup's final name
 * @throws TvsError REFUSED while another process writes it, or where the folder refuses
 */
export async function takePartial(file: string) {
  const path = `${file}.partial`;
  const lock = await lockNamed(file, `${path}-lock`);
  const remove = () => {
    for (const ending of ["", "-journal"]) discard(path + ending);
  };
  const taken = (cause?: unknown) => {
    const problem = "was put there by somebody else; write to a folder in which nobody else can";
    return new TvsError("REFUSED", `${path} ${problem}`, { cause });
  };
  remove();
  return {
    path,
    /** Deletes what there is of it. */
    remove,
    /** The failure where somebody else has put something in its place. */
    taken,
    /** Makes it, empty. @throws TvsError REFUSED where somebody else has done so meanwhile */
    make(): Stats {
      try {
        const descriptor = openSync(path, "wx", 0o600);
        const made = fstatSync(descriptor);
        closeSync(descriptor);
        return made;
      } catch (cause) {
        throw codeOf(cause) === "EEXIST" ? taken(cause) : cause;
      }
    },
    release(): void {
      // The name goes first: who opens it from now on makes another one.
      discard(`${path}-lock`);
      lock.close();
    },
  };
}

/** Locks a file that others delete when they are done with it: only the one that still has the name counts. */
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
    const isBusy = isTvsError(cause, "DATABASE_IN_USE");
    const problem = isBusy
      ? "is being written by another backup; wait for it"
      : "cannot be written; check its folder";
    throw new TvsError("REFUSED", `${file} ${problem}`, { cause });
  }
}
