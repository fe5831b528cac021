import type { AttestationMaintenance } from "./attestations.ts";
import { type Clock, isoTime, timeOfUuid } from "./clock.ts";
import { TvsError } from "./errors.ts";
import type { SettingsStore } from "./live.ts";
import { repeat } from "./serial.ts";

const dayMs = 86_400_000;
/** A year is counted long, so that nothing is deleted a day early. */
const unitMs: Readonly<Record<string, number>> = { d: dayMs, y: 366 * dayMs };
/** `tvs teachers revoke` says who was told VALID in the last ninety days, from the attestations. */
const minDays = 90;
/** Nothing younger is ever deleted. */
export const leastRetentionMs = minDays * dayMs;
/** Rows in one commit: a millisecond or two. */
const chunkRows = 200;

/** The setting's name; its value is what {@link parseRetention} reads. */
export const retentionSetting = "keep_attestations";
export const keepForever = "forever";

/**
 * How long attestations are kept: `forever`, or days or years such as `3650d` or `7y`.
 * @returns milliseconds; null for ever
 * @throws TvsError CONFIG_INVALID
 */
export function parseRetention(text: string): number | null {
  if (text === keepForever) return null;
  const match = /^(\d{1,5})([dy])$/.exec(text);
  const ms = match === null ? 0 : Number(match[1]) * (unitMs[match[2] ?? "d"] ?? 0);
  if (ms >= minDays * dayMs) return ms;
  const message = `--keep-attestations (TVS_KEEP_ATTESTATIONS) must be forever, or at least ${minDays}d, such as 3650d or 7y`;
  throw new TvsError("CONFIG_INVALID", message);
}

/** How the end of the log that is no longer there is known: what was issued before `from` may be gone. */
export type KeptLog = {
  /** Milliseconds since the epoch; null when nothing was ever deleted. */
  readonly from: number | null;
  readonly pruned: number;
  /** The setting as it was given. */
  readonly retention: string;
};

export async function keptLog(
  maintenance: AttestationMaintenance,
  settings: SettingsStore,
): Promise<KeptLog> {
  const retention = (await settings.read()).get(retentionSetting) ?? keepForever;
  return { ...(await maintenance.kept()), retention };
}

/**
 * How far the time in an id may be ahead of `issued_at`, by which rows are deleted: a batch's ids are made while it
 * is answered, and ids go on from where they were when a clock is set back.
 */
const idAheadMs = dayMs;

/**
 * True when what an id names may have been deleted: its absence then says nothing.
 * @param id of a verification or of a request
 */
export function mayBePruned({ from }: KeptLog, id: string): boolean {
  const at = timeOfUuid(id);
  return from !== null && at !== null && at < from + idAheadMs;
}

/** The sentence for wherever the log's older end would have been asked. */
export function describeKeptLog({ from, retention }: KeptLog): string {
  const setting = retention === keepForever ? "" : ` (they are kept for ${retention})`;
  return `attestations from before ${isoTime(from ?? 0)} have been deleted${setting}`;
}

/**
 * Deletes what is older than the retention that is in force, in commits of a millisecond with as much time between
 * them: a caller's commit waits behind none of them for long. One that is stopped or killed goes on at the next.
 * @returns how many attestations were deleted
 */
export async function pruneAttestations(
  { maintenance, settings }: { maintenance: AttestationMaintenance; settings: SettingsStore },
  { clock, isStopped = () => false }: { clock: Clock; isStopped?: () => boolean },
): Promise<number> {
  const keepMs = parseRetention((await settings.read()).get(retentionSetting) ?? keepForever);
  if (keepMs === null) return 0;
  const before = clock.now() - keepMs;
  // What only the log knows is noted before the log forgets it.
  while (!isStopped() && (await maintenance.noteVerified())) await new Promise((done) => setTimeout(done, 1));
  let deleted = 0;
  while (!isStopped()) {
    const startedAt = performance.now();
    const count = await maintenance.prune(before, chunkRows);
    if (count === 0) break;
    deleted += count;
    const tookMs = performance.now() - startedAt;
    await new Promise((done) => setTimeout(done, tookMs));
  }
  return deleted;
}

/** How often maintenance looks for work; what has no index yet is searched row by row. */
const buildMs = 250;
/** How many times as long as a step took is waited after it. */
const buildRests = 3;
const pruneMs = 60_000;

/**
 * Builds the log's secondary indexes behind it, and deletes what is too old, until it is stopped.
 * @param dependencies `onPruned` is told how many attestations were deleted, `onError` of what failed; the next turn
 *   tries again
 * @returns stops it, when the step that is under way has ended
 */
export function startMaintenance(dependencies: {
  maintenance: AttestationMaintenance;
  settings: SettingsStore;
  clock: Clock;
  onPruned: (count: number) => void;
  onError: (error: unknown) => void;
}): () => Promise<void> {
  const { maintenance, clock, onPruned, onError } = dependencies;
  let stopped = false;
  const isStopped = () => stopped;

  async function build(): Promise<void> {
    for (
      let startedAt = performance.now();
      !stopped && (await maintenance.build());
      startedAt = performance.now()
    ) {
      // A log that was restored or grown elsewhere may take minutes: most of the time belongs to the callers.
      const restMs = (performance.now() - startedAt) * buildRests;
      await new Promise((done) => setTimeout(done, restMs));
    }
  }

  async function prune(): Promise<void> {
    const count = await pruneAttestations(dependencies, { clock, isStopped });
    if (count > 0) onPruned(count);
  }

  const ends = [repeat(build, { everyMs: buildMs, onError }), repeat(prune, { everyMs: pruneMs, onError })];
  return async () => {
    stopped = true;
    await Promise.all(ends.map((end) => end()));
  };
}
