/** A folder of backups, of which the newest are kept: what a timer writes into, without ever filling the disk. */

import { readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Config } from "../src/config.ts";
import { TvsError } from "../src/domain/errors.ts";
import { syncFolderOf } from "../src/store/driver/files.ts";
import { requireFolder } from "./anchor-folder.ts";
import { parseCount } from "./terminal/output.ts";

const stem = ({ sandbox }: Pick<Config, "sandbox">) => (sandbox ? "sandbox" : "tvs");

/** Where a backup of this moment goes; its name has the time, so that the names are in the order of the times. */
export function backupPlace(dir: string, config: Config, now: number): string {
  const time = new Date(now)
    .toISOString()
    .replace(/[:-]/g, "")
    .replace(/\.\d+Z$/, "Z");
  return join(requireFolder("FILE", dir), `${stem(config)}-${time}.db`);
}

/** @throws TvsError USAGE for a folder in a file's place, with what takes one */
export function requireNoFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  const message = `FILE: ${path} is a folder; name a file in it, or give --keep N as well, which names it by its time`;
  throw new TvsError("USAGE", message);
}

/** Reads how many backups are kept. @throws TvsError USAGE */
export function readKeep(flag: string, text: string): number {
  const keep = parseCount(flag, text);
  if (keep > 0) return keep;
  throw new TvsError("USAGE", `${flag} must be at least 1`);
}

/**
 * Deletes all but the newest backups that were named here; no other file is ever touched.
 * @param place the backup that was just written
 * @returns those that were deleted
 */
export function dropOlder(place: string, keep: number): string[] {
  const folder = dirname(place);
  const [start] = basename(place).split("-", 1);
  const own = new RegExp(`^${start}-\\d{8}T\\d{6}Z\\.db$`);
  const names = readdirSync(folder).filter((name) => own.test(name));
  const older = names
    .sort()
    .slice(0, -keep)
    .map((name) => join(folder, name));
  for (const path of older) rmSync(path);
  if (older.length > 0) syncFolderOf(place);
  return older;
}
