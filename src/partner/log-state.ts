/**
 * The log state of a reader: the largest checkpoint seen of each log (decision D13.6). A log that shows another tree of the
 * same size was rewritten, and the two signed notes prove the change. The caller reads and writes the file.
 */

import { type Checkpoint, readTreeHead, type TreeHead } from "./log-checkpoint.ts";
import { isSameHash } from "./merkle-proof.ts";
import { Refusal, refuse } from "./reasons.ts";
import { readNote } from "./signed-note.ts";
import { isJsonObject, type JsonValue, readStrictJson } from "./strict-json.ts";

/** A checkpoint that a reader has verified and keeps. */
export type RememberedCheckpoint = TreeHead & {
  /** The signed note, which proves that the log showed this checkpoint. */
  readonly note: string;
};

/** The largest checkpoint seen of each log, by the log's origin. */
export type LogState = ReadonlyMap<string, RememberedCheckpoint>;

const format = "tvs/log-state/v1";

function unreadable(detail?: string): Refusal {
  return refuse("LOG_STATE_UNREADABLE", detail);
}

function readCheckpoint(note: JsonValue): RememberedCheckpoint | null {
  const signed = typeof note === "string" ? readNote(note) : null;
  if (signed === null || signed instanceof Refusal) return null;
  const head = readTreeHead(signed.text);
  return head instanceof Refusal ? null : { ...head, note: String(note) };
}

/**
 * Reads a log state from its file's content. The signatures of its checkpoints are not verified again.
 * @returns the state, or the refusal `LOG_STATE_UNREADABLE`
 */
export function readLogState(source: string | Uint8Array): LogState | Refusal {
  const reading = readStrictJson(source);
  const isState = !(reading instanceof Refusal) && isJsonObject(reading) && reading.format === format;
  const notes = isState ? reading.checkpoints : null;
  if (!Array.isArray(notes)) return unreadable();
  const state = new Map<string, RememberedCheckpoint>();
  for (const note of notes) {
    const checkpoint = readCheckpoint(note);
    if (checkpoint === null) return unreadable("The state file holds something that is no checkpoint.");
    if (state.has(checkpoint.origin)) return unreadable("The state file holds two checkpoints of one log.");
    state.set(checkpoint.origin, checkpoint);
  }
  return state;
}

/** Writes a log state as the text of its file. */
export function formatLogState(state: LogState): string {
  const checkpoints = [...state.values()].map(({ note }) => note);
  return `${JSON.stringify({ format, checkpoints }, null, 2)}\n`;
}

/**
 * Refuses a verified checkpoint (`LOG_FORKED`) if the log's remembered checkpoint has the same size and another root.
 * Trees of different sizes are not compared: an envelope's proof lacks the consistency proof that a comparison needs.
 */
export function findLogFork({ origin, size, root }: TreeHead, state: LogState): Refusal | null {
  const seen = state.get(origin);
  if (seen === undefined || seen.size !== size || isSameHash(seen.root, root)) return null;
  return refuse("LOG_FORKED", `The log ${origin} has shown two different trees of ${size} entries.`);
}

/**
 * Adds a checkpoint to the state if it is larger than the log's remembered checkpoint.
 * @param checkpoint a verified checkpoint that `findLogFork` accepted
 * @param note the checkpoint's signed note
 * @returns the new state, or the given state if the log has not grown
 */
export function rememberCheckpoint(
  state: LogState,
  { origin, size, root }: Checkpoint,
  note: string,
): LogState {
  const seen = state.get(origin);
  if (seen !== undefined && seen.size >= size) return state;
  return new Map(state).set(origin, { origin, size, root, note });
}
