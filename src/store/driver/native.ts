import type Libsql from "libsql";
import { TvsError } from "../../domain/errors.ts";
import { storeError } from "./driver.ts";

/**
 * A file may have been in other hands. Nothing that its schema calls runs anything but the database's own harmless
 * functions, and a page that lies about its cells is found when it is read. The driver offers neither SQLite's
 * defensive mode nor its run-time limits; no statement of a file's own is run before its schema was compared
 * (schema.ts).
 */
const distrust = ["trusted_schema = OFF", "cell_size_check = ON"];

/**
 * Opens a file with the native driver: every connection of this program begins here. The addon is loaded now and not at
 * the top of the file, so that commands which need no database start without it and a failure to load it can be
 * explained.
 * @param file its path, or a `file:` address
 * @param timeoutMs how long SQLite itself waits for a lock
 * @throws TvsError STORE_*
 */
export async function openNative(file: string, timeoutMs = 0): Promise<Libsql.Database> {
  try {
    const { default: Database } = await import("libsql");
    const db = new Database(file, { timeout: timeoutMs });
    for (const setting of distrust) db.exec(`PRAGMA ${setting}`);
    return db;
  } catch (error) {
    throw explainOpenFailure(file, error);
  }
}

/** Says what an operator can do about a file that does not open. */
export function explainOpenFailure(file: string, error: unknown): TvsError {
  const text = String(error);
  if (/Unable to open|: 14\b|CANTOPEN|EACCES|ENOENT|EPERM|EROFS/.test(text)) {
    const message = `cannot open ${file}: check that its folder exists and that this user may write there`;
    return new TvsError("STORE_READ_ONLY", message, { detail: text });
  }
  if (/dlopen|shared object|\.node|failed to map/i.test(text)) {
    const message =
      "the database engine could not be unpacked into the temp directory; set BUN_TMPDIR to a folder " +
      "that is writable and not mounted noexec";
    return new TvsError("STORE_UNAVAILABLE", message, { detail: text });
  }
  const known = storeError(error);
  return new TvsError(known.code, `${file}: ${known.message}`, { detail: text });
}
