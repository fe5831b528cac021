/** A folder of backups, of which the newest are kept: what a timer writes into, without ever filling the disk. */

import { lstatSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../src/config.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { backupOfPartial, beginsAsDatabase, takePartial } from "../../src/store/driver/backup.ts";
import { syncFolderOf } from "../../src/store/driver/files.ts";
import { requireFolder } from "../evidence/anchor-folder.ts";
import { parseCount } from "../terminal/output.ts";

const stem = ({ sandbox }: Pick<Config, "sandbox">) => (sandbox ? "sandbox" : "tvs");

/**
 * Where a backup of this moment goes; its name has the time, so that the names are in the order of the times. After one
 * of the same second it waits for the next.
 */
export async function backupPlace(dir: string, config: Config): Promise<string> {
  const folder = requireFolder(dir, "FILE");
  for (;;) {
    const time = new Date()
      .toISOString()
      .replace(/[:-]/g, "")
      .replace(/\.\d+Z$/, "Z");
    const place = join(folder, `${stem(config)}-${time}.db`);
    if (lstatSync(place, { throwIfNoEntry: false }) === undefined) return place;
    await sleep(100);
  }
}

/** @throws TvsError USAGE for a folder in a file's place, with what takes one */
export function requireNoFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  const message = `FILE: ${path} is a folder; name a file in it, or give --keep N as well, which names it by its time`;
  throw new TvsError("USAGE", message);
}

/** Reads how many backups are kept. @throws TvsError USAGE */
export function readKeep(text: string, flag: string): number {
  const keep = parseCount(text, flag);
  if (keep > 0) return keep;
  throw new TvsError("USAGE", `${flag} must be at least 1`);
}

/** Those names that {@link backupPlace} gives, in their order, with when they say that they were made. */
function ownAmong(names: Iterable<string>, place: string): { name: string; at: number }[] {
  const [start] = basename(place).split("-", 1);
  const form = new RegExp(`^${start}-(\\d{4})(\\d\\d)(\\d\\d)T(\\d\\d)(\\d\\d)(\\d\\d)Z\\.db$`);
  return [...names]
    .filter((name) => form.test(name))
    .sort()
    .map((name) => ({ name, at: Date.parse(name.replace(form, "$1-$2-$3T$4:$5:$6Z")) }));
}

/**
 * Deletes what killed backups have left here, none of which another process is writing just now.
 * @param place the backup that is about to be written
 * @returns the backups that it would have become
 */
export async function dropUnfinished(place: string): Promise<string[]> {
  const names = readdirSync(dirname(place)).flatMap((name) => backupOfPartial(name) ?? []);
  const dropped: string[] = [];
  for (const { name } of ownAmong(new Set(names), place)) {
    const path = join(dirname(place), name);
    try {
      await (await takePartial(path)).release();
      dropped.push(path);
    } catch (error) {
      if (!isTvsError(error, "REFUSED")) throw error;
    }
  }
  return dropped;
}

/**
 * Deletes all but the newest backups that were named here, never the one that was just made; no other file is ever
 * touched. What does not begin as a database counts as none, and neither does what a clock has named that was ahead.
 * @param place the backup that was just written
 * @returns those that were deleted, and those whose time is still to come
 */
export function dropOlder(place: string, keep: number, now: number): { deleted: string[]; ahead: string[] } {
  const folder = dirname(place);
  const pathsOf = (those: { name: string }[]) => those.map(({ name }) => join(folder, name));
  const others = ownAmong(readdirSync(folder), place).filter(({ name }) => name !== basename(place));
  const older = pathsOf(others.filter(({ at }) => at <= now)).filter(beginsAsDatabase);
  const deleted = older.slice(0, Math.max(0, older.length - keep + 1));
  for (const path of deleted) rmSync(path);
  if (deleted.length > 0) syncFolderOf(place);
  return { deleted, ahead: pathsOf(others.filter(({ at }) => at > now)) };
}
