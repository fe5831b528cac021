import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { TvsError } from "../domain/errors.ts";

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
 * Gives a finished file its name, if nothing has that name. A rename would overwrite what another process
 * put there a moment ago; a second name for the file is refused by the operating system instead.
 * @throws TvsError REFUSED when the name is taken
 */
export function placeNew(temporary: string, file: string): void {
  try {
    linkSync(temporary, file);
    rmSync(temporary);
  } catch (error) {
    if (codeOf(error) !== "EEXIST" && !existsSync(file)) renameSync(temporary, file);
    else throw new TvsError("REFUSED", `${file} exists already; choose another name`, { cause: error });
  }
  syncFolderOf(file);
}

/** The operating system's word for what went wrong, `ENOENT` for example. */
export function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? "");
}
