import { randomUUID } from "node:crypto";
import { closeSync, existsSync, fsyncSync, linkSync, lstatSync, openSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { TvsError } from "../../domain/errors.ts";

/** Waits until a file's bytes are on the disk. */
export function syncFile(file: string): void {
  sync(file, "r+");
}

/** Waits until the names in a file's folder are on the disk: a rename alone may be forgotten by a power cut. */
export function syncFolderOf(file: string): void {
  sync(dirname(file), "r");
}

function sync(path: string, mode: "r" | "r+"): void {
  const descriptor = openSync(path, mode);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Gives a finished file its name, if nothing has that name: the operating system refuses a second name for a file where
 * the name is taken, while a rename would overwrite what another process put there a moment ago.
 * @param isFinal whether a file system without second names is refused. Elsewhere a rename follows a look, and between
 *   the two another process could put a file there: that is for what can be written again
 * @throws TvsError REFUSED when the name is taken; what the system throws where it has no second names
 */
export function placeNew(temporary: string, file: string, isFinal = false): void {
  try {
    linkSync(temporary, file);
  } catch (error) {
    const isTaken = codeOf(error) === "EEXIST" || (!isFinal && existsSync(file));
    if (isTaken)
      throw new TvsError("REFUSED", `${file} already exists; choose another name`, { cause: error });
    if (isFinal) throw error;
    renameSync(temporary, file);
    syncFolderOf(file);
    return;
  }
  rmSync(temporary);
  syncFolderOf(file);
}

/**
 * Refuses what is no regular file: a link would lead to a file of whoever put it there.
 * @throws TvsError REFUSED
 */
export function refuseLink(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined || found.isFile()) return;
  const kind = found.isSymbolicLink() ? "a symbolic link" : "not a regular file";
  throw new TvsError("REFUSED", `${file} is ${kind}; take it away, or name the file itself`);
}

/**
 * Makes an empty file that only its owner can read, where there is none: its mode is right from its first moment on,
 * and a link is never followed.
 */
export function makeOwnFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

/** Gives a finished file its name, in the place of a file that has it. @throws TvsError REFUSED for a link or a folder */
export function placeOver(temporary: string, file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false })?.isFile() === false)
    throw new TvsError("REFUSED", `${file} is no longer a regular file; choose another name`);
  renameSync(temporary, file);
  syncFolderOf(file);
}

/**
 * Writes a file whole: beside its name first, so that a reader never finds half of it and a link is never followed.
 * @returns the name of the finished file beside it, which is still to be given its own
 */
export async function writeBeside(
  file: string,
  content: string | Uint8Array | AsyncIterable<string>,
  mode = 0o600,
): Promise<string> {
  const temporary = join(dirname(file), `.tvs-${randomUUID()}`);
  const handle = await open(temporary, "wx", mode);
  try {
    await handle.writeFile(content);
    await handle.sync();
    return temporary;
  } catch (error) {
    discard(temporary);
    throw error;
  } finally {
    await handle.close();
  }
}

/** Deletes what was not finished, if that can be done: where it cannot, what is to be told is why it was not finished. */
export function discard(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // Whoever comes next takes it away.
  }
}

/** The operating system's word for what went wrong, `ENOENT` for example. */
export function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? "");
}
