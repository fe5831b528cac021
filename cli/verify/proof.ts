/** The proof of the evidence log that `tvs verify` was given, and the keys and the memory to judge it with. */

import { resolve } from "node:path";
import { TvsError } from "../../src/domain/errors.ts";
import { type LogProof, openLogProof } from "../../src/partner/log-proof.ts";
import { readVerifierKey } from "../../src/partner/signed-note.ts";
import { readLogKeys, readStateFile, rememberInFile } from "../evidence/witness-state.ts";
import { readBounded } from "../safe/input-file.ts";

/** Where the log's keys and what was seen of it are. Paths are absolute. */
export type LogSettings = {
  /** Verifier keys, and files of them. */
  readonly logKeys: readonly string[];
  /** The file that remembers the largest checkpoint of each log. */
  readonly logState: string | undefined;
};

/** No proof is longer, even with the signatures of many witnesses. */
const maxProofMiB = 1;

/** Reads a file that the judging rests on. @throws TvsError INPUT_UNREADABLE */
export async function readWhole(path: string, called: string, maxMiB: number): Promise<Uint8Array> {
  const bytes = await readBounded(path, maxMiB * 1024 * 1024).catch((cause) => {
    throw new TvsError("INPUT_UNREADABLE", `${called} cannot be read: check the path`, { cause });
  });
  if (bytes === null) throw new TvsError("INPUT_UNREADABLE", `${called} is larger than ${maxMiB} MiB`);
  return bytes;
}

/**
 * A log key as it was given: a key as it is, a file by its absolute path.
 *
 * @param value what was given
 */
export async function settledLogKey(value: string): Promise<string> {
  return (await readVerifierKey(value)) === null ? resolve(value) : value;
}

/**
 * Opens the proof that every envelope of this run is held against. What it shows of the log is remembered at once: it is
 * the log's own word, whatever comes of the envelopes.
 *
 * @param path the proof's file
 * @param settings the keys, and the file that remembers
 * @param now the time to judge by
 * @throws TvsError INPUT_UNREADABLE for a file that cannot be read or is not what it should be, and for a state file that
 * cannot be written
 */
export async function openProof(path: string, settings: LogSettings, now: Date): Promise<LogProof> {
  const written = await readWhole(path, `the proof ${path}`, maxProofMiB);
  const logKeys = await readLogKeys(settings.logKeys);
  if (settings.logState === undefined) return openLogProof(written, { logKeys, now });
  const logState = readStateFile("--log-state", settings.logState);
  const proof = await openLogProof(written, { logKeys, now, logState });
  if (proof.refusal === null) await rememberInFile(settings.logState, proof);
  return proof;
}
