import { isSameHash } from "../partner/merkle-proof.ts";
import type { AttestationMaintenance } from "./attestations.ts";
import { type Clock, isoTime, timeOfUuid } from "./clock.ts";
import { TvsError } from "./errors.ts";
import { readSigned } from "./evidence/audit-rows.ts";
import { keptLeaves, type LogEpoch, type LogStore } from "./evidence/evidence.ts";
import {
  isOwnRetention,
  openMark,
  type RetentionMark,
  retentionTag,
  retentionTagSetting,
  sealMark,
} from "./evidence/retention-mark.ts";
import { leafHash } from "./evidence/tree.ts";
import type { Secrets } from "./secrets.ts";
import { repeat } from "./serial.ts";
import type { SettingsStore } from "./settings.ts";

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
  /** The setting as it was given. */
  readonly retention: string;
};

/** What retention is judged and done with. */
type Retaining = {
  readonly maintenance: AttestationMaintenance;
  readonly settings: SettingsStore;
  readonly secrets: Pick<Secrets, "mac">;
};

/** The settings that say how long attestations are kept, as the operator has said it. */
export function retentionSettings(retention: string, secrets: Pick<Secrets, "mac">): Record<string, string> {
  return { [retentionSetting]: retention, [retentionTagSetting]: retentionTag(retention, secrets) };
}

/** How far apart the clocks of who deletes and who asks may be. */
const clockMs = 60_000;

/**
 * The mark that is to be believed.
 * @param isOld whether the log has no checkpoint yet that demands a mark: then what the database says is taken for one
 * @returns null when nothing says what may be missing
 */
export async function readMark(
  { maintenance, secrets }: Omit<Retaining, "settings">,
  { isOld, now }: { isOld: boolean; now: number },
): Promise<RetentionMark | null> {
  const { mark, from } = await maintenance.kept();
  if (mark !== null) return openMark(mark, secrets);
  return isOld ? unsealedMark(from, Number.MAX_SAFE_INTEGER, now) : null;
}

/** What a release said that authenticated nothing. A time that retention cannot have reached was set by hand. */
function unsealedMark(from: number | null, begun: number, now: number): RetentionMark {
  const isPossible = from !== null && from <= now - leastRetentionMs + clockMs;
  return { begun, through: begun - 1, from: null, unsealedFrom: isPossible ? from / 1000 : null };
}

/**
 * Makes the first mark, with which everything that retention deletes is authenticated from then on. What a release before
 * has noted is taken over, for what is missing already.
 * @param renew puts a mark in the place of one that is not ours, which takes over nothing: what is missing stays missing
 */
export async function beginRetention(
  { maintenance, settings, secrets }: Retaining,
  { now, renew = false }: { now: number; renew?: boolean },
): Promise<void> {
  const { mark, from } = await maintenance.kept();
  if (mark !== null && (!renew || openMark(mark, secrets) !== null)) return;
  // Before the mark: who is killed between the two begins anew, and where there is a mark nothing is taken over.
  const retention = renew ? undefined : (await settings.read()).get(retentionSetting);
  if (retention !== undefined) await settings.write(retentionSettings(retention, secrets));
  const begun = unsealedMark(renew ? null : from, await maintenance.firstId(), now);
  await maintenance.setMark(mark, sealMark(begun, secrets));
}

/** Authenticates that an epoch begins before the end of what was signed for: what it takes the ids of was lost openly. */
export async function noteBegin(
  { maintenance, secrets }: Omit<Retaining, "settings">,
  { epoch, firstId }: Pick<LogEpoch, "epoch" | "firstId">,
): Promise<void> {
  for (;;) {
    const { mark: was } = await maintenance.kept();
    const mark = was === null ? null : openMark(was, secrets);
    if (mark === null) return;
    const begins = { ...mark.begins, [epoch]: firstId };
    // Retention may have gone on meanwhile.
    if (await maintenance.setMark(was, sealMark({ ...mark, begins }, secrets))) return;
  }
}

export async function keptLog(
  { settings, ...known }: Retaining,
  at: { isOld: boolean; now: number },
): Promise<KeptLog> {
  const retention = (await settings.read()).get(retentionSetting) ?? keepForever;
  const mark = await readMark(known, at);
  const from = mark?.from ?? mark?.unsealedFrom ?? null;
  return { from: from === null ? null : from * 1000, retention };
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

type Pruning = Retaining & { readonly log: Pick<LogStore, "epochs" | "tiles"> };

/**
 * Deletes what is older than the retention that is in force, in commits of a millisecond with as much time between
 * them: a caller's commit waits behind none of them for long. One that is stopped or killed goes on at the next.
 * @returns how many attestations were deleted
 * @throws TvsError STORE_CORRUPT when the retention, or the mark of what was deleted, is not what this service wrote
 */
export async function pruneAttestations(
  pruning: Pruning,
  { clock, isStopped = () => false }: { clock: Clock; isStopped?: () => boolean },
): Promise<number> {
  const { maintenance } = pruning;
  const keepMs = await ownRetention(pruning);
  if (keepMs === null) return 0;
  const before = Math.floor((clock.now() - keepMs) / 1000);
  // What only the log knows is noted before the log forgets it.
  while (!isStopped() && (await maintenance.noteVerified())) await new Promise((done) => setTimeout(done, 1));
  let deleted = 0;
  while (!isStopped()) {
    const startedAt = performance.now();
    const count = await pruneChunk(pruning, before);
    if (count === 0) break;
    deleted += count;
    const tookMs = performance.now() - startedAt;
    await new Promise((done) => setTimeout(done, tookMs));
  }
  return deleted;
}

/** @returns milliseconds; null for ever. @throws TvsError STORE_CORRUPT */
async function ownRetention({ settings, secrets }: Pruning): Promise<number | null> {
  const stored = await settings.read();
  const retention = stored.get(retentionSetting) ?? keepForever;
  const keepMs = parseRetention(retention);
  if (keepMs === null || isOwnRetention(retention, stored.get(retentionTagSetting), secrets)) return keepMs;
  const message =
    `that attestations are kept for ${retention} was written by somebody else: nothing is deleted; ` +
    "say it anew with tvs serve --keep-attestations";
  throw new TvsError("STORE_CORRUPT", message);
}

/**
 * Deletes some of the oldest, by the time that is signed in each and not by the column beside it: one that the log does not
 * have as it stands there stays, for the audit to name.
 * @param before seconds since the epoch
 */
async function pruneChunk({ maintenance, secrets, log }: Pruning, before: number): Promise<number> {
  const { mark: was } = await maintenance.kept();
  const mark = was === null ? null : openMark(was, secrets);
  if (was === null || mark === null) {
    const message =
      "the mark of what retention has deleted is missing or not ours: nothing is deleted; look at tvs log audit";
    throw new TvsError("STORE_CORRUPT", message);
  }
  const rows = await maintenance.oldest(before, chunkRows);
  const leaves = await keptLeaves(
    log,
    rows.map(({ id }) => id),
  );
  const isOld = (jws: string) => (readSigned(jws)?.issuedAt ?? before) < before;
  const isLogged = (jws: string, leaf: Uint8Array | undefined) =>
    leaf !== undefined && isSameHash(leaf, leafHash(jws));
  const ids = rows.filter(({ jws }, at) => isOld(jws) && isLogged(jws, leaves[at])).map(({ id }) => id);
  const last = ids.at(-1);
  if (last === undefined) return 0;
  const from = Math.max(mark.from ?? 0, before);
  const is = sealMark({ ...mark, from, through: Math.max(mark.through, last) }, secrets);
  return (await maintenance.prune(ids, { was, is, from })) ? ids.length : 0;
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
export function startMaintenance(
  dependencies: Pruning & {
    clock: Clock;
    onPruned: (count: number) => void;
    onError: (error: unknown) => void;
  },
): () => Promise<void> {
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
