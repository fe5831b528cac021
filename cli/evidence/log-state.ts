/** What a verifier is told of logs, and what it remembers of them: `--log-key` and the state file. */

import { closeSync, lstatSync, openSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { TvsError } from "../../src/domain/errors.ts";
import type { Checkpoint } from "../../src/partner/log-checkpoint.ts";
import { readLogKeys as readKeyLines } from "../../src/partner/log-proof.ts";
import {
  formatLogState,
  type LogState,
  readLogState,
  rememberCheckpoint,
} from "../../src/partner/log-state.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import { readVerifierKey, type VerifierKey } from "../../src/partner/signed-note.ts";
import { codeOf, placeOver, writeBeside } from "../../src/store/driver/files.ts";
import { readSmallFile } from "../safe/input-file.ts";

/**
 * The keys of logs that the caller trusts.
 * @param values each a verifier key, or a file with one on each line, as `tvs log key` prints them
 * @throws TvsError INPUT_UNREADABLE in one line
 */
export async function readLogKeys(values: readonly string[]): Promise<VerifierKey[]> {
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
  const keys = await readKeyLines(readSmallFile(file, `--log-key is no log's key, and as a file ${file}`));
  if (!(keys instanceof Refusal)) return keys;
  const message = `--log-key must be a log's key or a file of such lines; ${file} is none: ${keys.detail}`;
  throw new TvsError("INPUT_UNREADABLE", message);
}

/**
 * What was seen of logs before; nothing, where there is no such file yet.
 * @param flag how messages name it
 * @throws TvsError INPUT_UNREADABLE
 */
export function readStateFile(flag: string, file: string): LogState {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return new Map();
  const state = readLogState(readSmallFile(file, `${flag} ${file}`));
  if (!(state instanceof Refusal)) return state;
  throw new TvsError(
    "INPUT_UNREADABLE",
    `${flag} ${file} is not a state file of a log's checkpoints; give the right one, or a new name`,
  );
}

/** Longer than reading and replacing a small file ever takes: a lock that is older was left by a kill. */
const staleLockMs = 10_000;
const lockPollMs = 20;

/**
 * Acts while nobody else who does so with the same file can. The lock is a file beside it.
 * @throws the system's error when it cannot be made
 */
async function alone<T>(file: string, act: () => Promise<T>): Promise<T> {
  const lock = join(dirname(file), `.${basename(file)}.lock`);
  while (!tryLock(lock)) {
    const made = lstatSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (made !== undefined && Math.abs(Date.now() - made) > staleLockMs) rmSync(lock, { force: true });
    else await new Promise((resolve) => setTimeout(resolve, lockPollMs));
  }
  try {
    return await act();
  } finally {
    rmSync(lock, { force: true });
  }
}

function tryLock(lock: string): boolean {
  try {
    closeSync(openSync(lock, "wx", 0o600));
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/**
 * Remembers a checkpoint that was checked. The file is read once more, and no other process replaces it meanwhile, so
 * that the larger of two checkpoints stays; it is replaced whole, so that a kill leaves the old one or the new one.
 * @throws TvsError INPUT_UNREADABLE, also when it cannot be written: what is not remembered is not decided
 */
export async function rememberInFile(
  file: string,
  { checkpoint, note }: { checkpoint: Checkpoint; note: string },
): Promise<void> {
  /** @returns what is to be written; null when it is known already */
  const grown = (): LogState | null => {
    const before = readStateFile("the state file", file);
    const state = rememberCheckpoint(before, checkpoint, note);
    return state === before ? null : state;
  };
  if (grown() === null) return;
  try {
    await alone(file, async () => {
      const state = grown();
      if (state !== null) placeOver(await writeBeside(file, formatLogState(state)), file);
    });
  } catch (cause) {
    if (cause instanceof TvsError) throw cause;
    const message = `the state file ${file} cannot be written (${codeOf(cause)}); check its folder and the disk`;
    throw new TvsError("INPUT_UNREADABLE", message, { cause });
  }
}
