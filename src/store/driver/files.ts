import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { TvsError } from "../../domain/errors.ts";

export const syncFile = (file: string) => sync(file, "r+");

/** Flushes the names in a file's folder to the disk, so that a power cut cannot undo a rename. */
export const syncFolderOf = (file: string) => sync(dirname(file), "r");

function sync(path: string, mode: "r" | "r+"): void {
  const descriptor = fs.openSync(path, mode);
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/**
 * Gives a finished file its name by a hard link, which cannot overwrite a file. If the link fails, the file is renamed
 * if the name is free, except with `isFinal`. @throws TvsError REFUSED if the name is taken
 */
export function placeNewFile(temporary: string, file: string, isFinal = false): void {
  try {
    fs.linkSync(temporary, file);
  } catch (error) {
    if (errorCodeOf(error) === "EEXIST" || (!isFinal && fs.existsSync(file)))
      throw new TvsError("REFUSED", `${file} already exists; choose another name`, { cause: error });
    if (isFinal) throw error;
    fs.renameSync(temporary, file);
  }
  fs.rmSync(temporary, { force: true });
  syncFolderOf(file);
}

/** Refuses a path that is a link, a folder or a device. @throws TvsError REFUSED */
export function refuseLink(file: string): void {
  const found = fs.lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined || found.isFile()) return;
  const kind = found.isSymbolicLink() ? "a symbolic link" : "not a regular file";
  throw new TvsError("REFUSED", `${file} is ${kind}; take it away, or name the file itself`);
}

/** Makes an empty file with mode 0600. It does not follow a link. @returns null if the path exists */
export function makePrivateFile(file: string): fs.Stats | null {
  try {
    const descriptor = fs.openSync(file, "wx", 0o600);
    const made = fs.fstatSync(descriptor);
    fs.closeSync(descriptor);
    return made;
  } catch (error) {
    if (errorCodeOf(error) === "EEXIST") return null;
    throw error;
  }
}

/** Gives a finished file its name, and replaces the file of that name. @throws TvsError REFUSED for a link or folder */
export function replaceFile(temporary: string, file: string): void {
  if (fs.lstatSync(file, { throwIfNoEntry: false })?.isFile() === false)
    throw new TvsError("REFUSED", `${file} is no longer a regular file; choose another name`);
  fs.renameSync(temporary, file);
  syncFolderOf(file);
}

type Content = string | Uint8Array | AsyncIterable<string>;

/** Writes a temporary file beside the final path, so that no reader finds half of the content. @returns its path */
export async function writeTemporaryFile(file: string, content: Content, mode = 0o600): Promise<string> {
  const temporary = join(dirname(file), `.tvs-${randomUUID()}`);
  const handle = await open(temporary, "wx", mode);
  try {
    await handle.writeFile(content);
    await handle.sync();
    return temporary;
  } catch (error) {
    discardFile(temporary);
    throw error;
  } finally {
    await handle.close();
  }
}

/** Deletes an unfinished file. A failure to delete is ignored, because it would hide an earlier error. */
export function discardFile(file: string): void {
  try {
    fs.rmSync(file, { force: true });
  } catch {}
}

/** Gets the system's error code, such as `ENOENT`; "" for other errors. */
export const errorCodeOf = (error: unknown) => String((error as { code?: unknown } | null)?.code ?? "");
