import { existsSync } from "node:fs";
import { TvsError } from "../../domain/errors.ts";
import { explainOpenFailure, openNative } from "./connection.ts";
import { storeError } from "./driver.ts";
import { makeOwnFile, refuseLink } from "./files.ts";

/**
 * Holds an exclusive lock on a small database beside the real one. The operating system frees it when
 * the process ends, however it ends, so a service that was killed never has to wait for itself.
 * @param file the small database: the real one's path and `.lock`
 * @throws TvsError DATABASE_IN_USE, REFUSED for a link
 */
export async function lockFile(file: string): Promise<{ close(): void }> {
  refuseLink(file);
  try {
    makeOwnFile(file);
  } catch (error) {
    throw explainOpenFailure(file, error);
  }
  // Longer than `tvs status` looks at the lock, which must not keep a service from starting.
  const db = await openNative(file, 250);
  try {
    // Nothing is ever written, and a journal would be left beside it by a kill.
    db.exec("PRAGMA journal_mode = MEMORY");
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    if (storeError(error).code !== "STORE_BUSY") throw explainOpenFailure(file, error);
    const message = "another `tvs serve` uses this database; stop it first, or give this one its own --data";
    throw new TvsError("DATABASE_IN_USE", message);
  }
  return { close: () => void db.close() };
}

/** Looks whether the lock is held: a read that the holder's exclusive lock would refuse. It makes no file. */
export async function isFileLocked(file: string): Promise<boolean> {
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
