/** The file that a backup goes into before it is complete, and whose it is. */

import { closeSync, fstatSync, lstatSync, openSync, rmSync, type Stats } from "node:fs";
import { isTvsError, TvsError } from "../../domain/errors.ts";
import { codeOf, letGoOfFiles, makeOwnFile } from "./files.ts";
import { lockFile } from "./service-lock.ts";

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
    for (const ending of ["", "-journal"]) rmSync(path + ending, { force: true });
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
    async release(): Promise<void> {
      // Its name goes first: who opens it from now on makes another one. Windows deletes nothing that is open.
      if (process.platform !== "win32") rmSync(`${path}-lock`, { force: true });
      lock.close();
      if (process.platform !== "win32") return;
      await letGoOfFiles();
      rmSync(`${path}-lock`, { force: true });
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
