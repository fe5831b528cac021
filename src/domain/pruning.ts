/**
 * How old attestations are deleted. Who can write to the database could plant old ones, with their hashes in the log, and let
 * them be deleted in the place of others; so nothing is, but what the checkpoint beside the master key proves to be as it was
 * signed for, without a gap from the oldest one on (decision D13.9).
 */

import { isSameHash } from "../partner/merkle-proof.ts";
import type { EvidenceStore } from "../store/evidence/evidence.ts";
import type { PinnedCheckpoint } from "../store/evidence/pinned-checkpoint.ts";
import type { Clock } from "./clock.ts";
import { readSigned } from "./evidence/audit-rows.ts";
import { indexOf, openingLeaves } from "./evidence/evidence.ts";
import { type ProvenEpoch, provenEpochs } from "./evidence/proven-epochs.ts";
import { ownMark, type Retaining, sealMark } from "./evidence/retention-mark.ts";
import { hashBytes, leafHash, missingLeafHash, provenLeaves, tileHashes } from "./evidence/tree.ts";
import { ownRetention } from "./retention.ts";
import { actAndRest, repeat } from "./serial.ts";

type Pruning = Retaining & {
  readonly evidence: Pick<EvidenceStore, "epochs" | "tiles">;
  readonly head: Pick<PinnedCheckpoint, "read">;
};

/** What a step goes by: nothing is deleted that was issued later, in seconds since the epoch, or that is not proven. */
type Limits = {
  readonly before: number;
  readonly proven: readonly ProvenEpoch[];
  readonly waitsFrom: number;
};

/**
 * One step: where the next one begins, null when it is over, and the id of an attestation that is old, yet must not be deleted,
 * nor any behind it.
 */
type Step = { readonly deleted: number; readonly next: number | null; readonly held: number | null };

/**
 * Deletes what is older than the retention that is in force, in commits of a millisecond or two with as much time between
 * them: a caller's commit waits behind none of them for long. One that is stopped or killed goes on at the next.
 * @param options `onHeld` is told with which attestation it has to stop, although that is old
 * @returns how many attestations were deleted
 * @throws TvsError STORE_CORRUPT when the retention, or the mark of what was deleted, is not what this service wrote
 */
export async function pruneAttestations(
  pruning: Pruning,
  {
    clock,
    isStopped = () => false,
    onHeld = () => {},
  }: { clock: Clock; isStopped?: () => boolean; onHeld?: (id: number) => void },
): Promise<number> {
  const keepMs = await ownRetention(pruning);
  if (keepMs === null) return 0;
  const before = Math.floor((clock.now() - keepMs) / 1000);
  const known = await provenEpochs(pruning, (await ownMark(pruning)).mark);
  const limits = { before, proven: [], waitsFrom: Number.POSITIVE_INFINITY, ...known };
  let deleted = 0;
  for (let next: number | null = 0; next !== null && !isStopped(); ) {
    const from = next;
    const step: Step = await actAndRest(() => pruneTile(pruning, limits, from), clock);
    deleted += step.deleted;
    if (step.held !== null) onHeld(step.held);
    next = step.next;
  }
  const forget = () => actAndRest(() => pruning.maintenance.prunePeople(peopleInStep), clock);
  while (!isStopped() && (await forget()) === peopleInStep);
  return deleted;
}

/** Of whom statements spoke that were deleted, in a commit as short as the others. */
const peopleInStep = 256;

/**
 * Deletes what is old, from an id on, of the attestations that have their leaves in one tile. Up to the mark, one that is
 * still there may stay there; behind it, the first that is not proven to be old ends it all.
 */
async function pruneTile(pruning: Pruning, limits: Limits, from: number): Promise<Step> {
  const { maintenance, secrets, evidence } = pruning;
  const { sealed, mark } = await ownMark(pruning);
  const rows = await maintenance.deletable(from, tileHashes);
  const [first, last] = [rows[0], rows.at(-1)];
  const over = { deleted: 0, next: null, held: null };
  if (first === undefined || last === undefined) return over;
  const through = Math.max(mark.through, mark.begun - 1);
  const start = Math.min(first.id, through + 1);
  /** @param unreadable the time of one that says none: it is never deleted, yet is told of where retention stops at it */
  const isOld = (jws: string, unreadable: number) =>
    (readSigned(jws)?.issuedAt ?? unreadable) < limits.before;
  const stopAt = (id: number): Step => {
    const next = rows.find((row) => row.id >= id);
    return { ...over, held: next !== undefined && isOld(next.jws, 0) && id < limits.waitsFrom ? id : null };
  };

  const tile = await provenTile(evidence, limits.proven, start);
  if (tile === null)
    return start > through ? stopAt(start) : { ...over, next: Math.min(through, last.id) + 1 };
  const end = Math.min(tile.lastId, last.id);
  const signed = new Map(rows.map(({ id, jws }) => [id, jws]));
  const ids: number[] = [];
  let [id, reached] = [start, through];
  for (; id <= end; id++) {
    const jws = signed.get(id);
    const isDue = jws === undefined || isOld(jws, limits.before);
    const isProven = isSameHash(tile.leafOf(id), jws === undefined ? missingLeafHash(id) : leafHash(jws));
    if (isDue && isProven) {
      if (jws !== undefined) ids.push(id);
      reached = Math.max(reached, id);
    } else if (id > through) break;
  }
  const { held } = id <= end ? stopAt(id) : over;
  const next = id <= end ? null : id;
  if (ids.length === 0 && reached === through) return { ...over, next, held };
  const is = {
    ...mark,
    begins: mark.begins ?? Object.fromEntries(limits.proven.map(({ epoch }) => [epoch.epoch, epoch.firstId])),
    from: Math.max(mark.from ?? 0, limits.before),
    through: reached,
  };
  const changed = { was: sealed, is: sealMark(is, secrets), from: is.from };
  // Where another one has changed the mark meanwhile, an epoch may have been opened: all is looked at anew the next time.
  return (await maintenance.prune(ids, changed)) ? { deleted: ids.length, next, held } : over;
}

/** The leaves of the tile in which an attestation's stands. @returns null when the log does not prove them */
async function provenTile(
  evidence: Pick<EvidenceStore, "tiles">,
  proven: readonly ProvenEpoch[],
  id: number,
): Promise<{ lastId: number; leafOf: (id: number) => Uint8Array } | null> {
  const found = proven.find(({ epoch, lastId }) => id >= epoch.firstId && id <= lastId);
  if (found === undefined) return null;
  const { epoch } = found;
  const position = Math.floor(indexOf(epoch, id) / tileHashes);
  const leaves = await provenLeaves(position, found, evidence.tiles(epoch.epoch));
  if (leaves === null) return null;
  const firstId = epoch.firstId - openingLeaves(epoch) + position * tileHashes;
  return {
    lastId: Math.min(found.lastId, firstId + leaves.length / hashBytes - 1),
    leafOf: (one) => leaves.subarray((one - firstId) * hashBytes, (one - firstId + 1) * hashBytes),
  };
}

const pruneMs = 60_000;

/**
 * Deletes what is too old, until it is stopped.
 * @param dependencies `onPruned` is told how many attestations were deleted, `onHeld` once with which one retention has to
 *   stop, `onError` of what failed; the next turn tries again
 * @returns stops it, when the step that is under way has ended
 */
export function startMaintenance(
  dependencies: Pruning & {
    clock: Clock;
    onPruned: (count: number) => void;
    onHeld: (id: number) => void;
    onError: (error: unknown) => void;
  },
): () => Promise<void> {
  const { clock, onPruned, onError } = dependencies;
  let held: number | null = null;

  function onHeld(id: number): void {
    if (id !== held) dependencies.onHeld(id);
    held = id;
  }

  async function prune(isStopped: () => boolean): Promise<void> {
    const count = await pruneAttestations(dependencies, { clock, isStopped, onHeld });
    if (count > 0) onPruned(count);
  }

  return repeat(prune, { everyMs: pruneMs, onError, clock });
}
