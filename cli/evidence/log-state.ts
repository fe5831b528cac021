/** The options `--log-key` (the log keys that are trusted) and `--log-state` (the checkpoints seen before). */

import { lstatSync } from "node:fs";
import { TvsError } from "../../src/domain/errors.ts";
import type { Checkpoint } from "../../src/partner/log-checkpoint.ts";
import { readLogKeys as readKeyLines } from "../../src/partner/log-proof.ts";
import type { LogState } from "../../src/partner/log-state.ts";
import { formatLogState, readLogState, rememberCheckpoint } from "../../src/partner/log-state.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import { readVerifierKey, type VerifierKey } from "../../src/partner/signed-note.ts";
import { discardFile, errorCodeOf, replaceFile, writeTemporaryFile } from "../../src/store/driver/files.ts";
import { readSmallFile } from "../safe/input-file.ts";

/** Reads log keys. @param values keys, or files of `tvs log key`, a key per line @throws TvsError INPUT_UNREADABLE */
export async function readTrustedLogKeys(values: readonly string[]): Promise<VerifierKey[]> {
  const keys: VerifierKey[] = [];
  for (const value of values) {
    const alone = await readVerifierKey(value);
    keys.push(...(alone === null ? await readKeyFile(value) : [alone]));
  }
  return keys;
}

async function readKeyFile(file: string): Promise<readonly VerifierKey[]> {
  if (/\+[0-9a-f]{8}\+/.test(file))
    throw new TvsError("INPUT_UNREADABLE", "--log-key is not a log's key: it was cut short or changed");
  const keys = await readKeyLines(readSmallFile(file, `--log-key is not a log's key, and the file ${file}`));
  if (!(keys instanceof Refusal)) return keys;
  const message = `--log-key must be a log's key or a file of such lines; ${file} is neither: ${keys.detail}`;
  throw new TvsError("INPUT_UNREADABLE", message);
}

/** Reads the checkpoints seen before. @param flag the option's name in messages @throws TvsError INPUT_UNREADABLE */
export function readLogStateFile(flag: string, file: string): LogState {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return new Map();
  const state = readLogState(readSmallFile(file, `${flag} ${file}`));
  if (!(state instanceof Refusal)) return state;
  const message = `${flag} ${file} is not a state file of a log's checkpoints; give the right one, or a new name`;
  throw new TvsError("INPUT_UNREADABLE", message);
}

/**
 * Adds a verified checkpoint to the state file. A rename replaces the file, so a kill leaves the old or the new file.
 * If another process replaced the file after the read, the file is read again, so that the larger checkpoint stays.
 * @throws TvsError INPUT_UNREADABLE if the file cannot be read or written; the caller then must not print a result
 */
export async function addToLogStateFile(
  file: string,
  { checkpoint, note }: { checkpoint: Checkpoint; note: string },
): Promise<void> {
  const read = () => readLogStateFile("the state file", file);
  try {
    for (;;) {
      const before = read();
      const grown = rememberCheckpoint(before, checkpoint, note);
      if (grown === before) return;
      const written = await writeTemporaryFile(file, formatLogState(grown));
      if (formatLogState(read()) === formatLogState(before)) return replaceFile(written, file);
      discardFile(written);
    }
  } catch (cause) {
    if (cause instanceof TvsError) throw cause;
    const message = `the state file ${file} cannot be written (${errorCodeOf(cause)}); check its folder and the disk`;
    throw new TvsError("INPUT_UNREADABLE", message, { cause });
  }
}
