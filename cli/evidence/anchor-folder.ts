/** A folder into which checkpoints are handed out: a mounted share, a USB stick, a synchronised folder. */

import { Buffer } from "node:buffer";
import { existsSync, lstatSync, readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { TvsError } from "../../src/domain/errors.ts";
import { anchorFileName, contradictionOf, isAnchorFile } from "../../src/domain/evidence/anchors.ts";
import type { LogEpoch, StoredCheckpoint } from "../../src/domain/evidence/evidence.ts";
import { codeOf, placeNew, writeBeside } from "../../src/store/driver/files.ts";
import type { EvidenceStore } from "../../src/store/evidence/evidence.ts";
import { readSmallFile } from "../safe/input-file.ts";

type OurLog = { readonly epochs: readonly LogEpoch[]; readonly store: Pick<EvidenceStore, "tiles"> };

/** @throws TvsError USAGE: a folder is never made, because a share that is not mounted would be filled below its place */
export function requireFolder(path: string, flag: string): string {
  const folder = resolve(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return folder;
  throw new TvsError("USAGE", `${flag}: there is no folder ${folder}; create it, or choose another`);
}

/**
 * Writes a checkpoint into a folder, once all that lies there of this log was held against the database.
 * @param folder its absolute path
 * @returns its file, `kept` when a checkpoint of that size lay there already, and how many of this log lay there, each of
 *   which agrees with the database
 * @throws TvsError REFUSED for a file that the database contradicts, or when it cannot be written
 */
export async function placeCheckpoint(folder: string, { epoch, size, note }: StoredCheckpoint, log: OurLog) {
  const checked = await checkFolder(folder, log);
  const own = log.epochs.find((one) => one.epoch === epoch);
  if (own === undefined) throw new TvsError("INTERNAL", "the checkpoint's epoch is not there");
  const file = join(folder, anchorFileName(own, size));
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined)
    return { file, state: "kept" as const, checked };
  await writeNew(file, note);
  return { file, state: "written" as const, checked };
}

/** @returns how many checkpoints of this log there are */
async function checkFolder(folder: string, log: OurLog): Promise<number> {
  const names = readdirSync(folder).filter((name) => isAnchorFile(name, log.epochs));
  for (const name of names) {
    const problem = await contradictionOf(readSmallFile(join(folder, name)).toString("utf8"), log);
    if (problem === null) continue;
    const message =
      `${join(folder, name)} ${problem}. Keep that file: it is evidence. ` +
      "Then look at tvs log audit, and hand checkpoints out to another folder";
    throw new TvsError("REFUSED", message);
  }
  return names.length;
}

/**
 * Writes a file that nobody has yet, whole or not at all.
 * @throws TvsError REFUSED
 */
export async function writeNew(file: string, content: string | Uint8Array): Promise<void> {
  try {
    placeNew(await writeBeside(file, content, 0o644), file);
  } catch (cause) {
    if (cause instanceof TvsError) throw cause;
    const message = `${basename(file)} cannot be written into its folder (${codeOf(cause)}); check it and the disk`;
    throw new TvsError("REFUSED", message, { cause });
  }
}

/** Writes a file that may have been written already, with the same content. @throws TvsError REFUSED for another one */
export async function writeUnlessThere(file: string, content: string | Uint8Array): Promise<void> {
  const isThere = existsSync(file) && readSmallFile(file).equals(Buffer.from(content));
  if (!isThere) await writeNew(file, content);
}
