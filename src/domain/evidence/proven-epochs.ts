/**
 * What of the log the checkpoint beside the master key proves, whatever is written in the database: its own epoch, and each
 * earlier one by the opening leaf of the next, which names the last checkpoint before it (decision D13.9).
 */

import { Buffer } from "node:buffer";
import { readOrigin, type TreeHead } from "../../partner/log-checkpoint.ts";
import { isSameHash } from "../../partner/merkle-proof.ts";
import type { EvidenceStore } from "../../store/evidence/evidence.ts";
import type { PinnedCheckpoint } from "../../store/evidence/pinned-checkpoint.ts";
import { headIn, treeHeadOf } from "./chain.ts";
import { type LogEpoch, nextId } from "./evidence.ts";
import type { RetentionMark } from "./retention-mark.ts";
import { hashBytes, openingLeafHash, provenLeaves, type SignedTree } from "./tree.ts";

/** An epoch whose leaves can be proven, with the id that it is known to begin with. */
export type ProvenEpoch = SignedTree & {
  readonly epoch: LogEpoch;
  /** The last id that is proven, or that no later epoch has. */
  readonly lastId: number;
};

type Sources = {
  readonly evidence: Pick<EvidenceStore, "epochs" | "tiles">;
  readonly head: Pick<PinnedCheckpoint, "read">;
};

/**
 * The epochs that are proven, the oldest first, and the id from which on nothing is yet: what stands there waits until a
 * later checkpoint is kept.
 * @returns null where no checkpoint of this log is kept
 * @throws TvsError INPUT_UNREADABLE
 */
export async function provenEpochs(
  { evidence, head }: Sources,
  { begins, ends = {} }: Pick<RetentionMark, "begins" | "ends">,
): Promise<{ proven: ProvenEpoch[]; waitsFrom: number } | null> {
  const note = head.read();
  const epochs = await evidence.epochs();
  const pinned = note === null ? null : treeHeadOf(note);
  const known = epochs.slice(0, epochs.findIndex(({ origin }) => origin === pinned?.origin) + 1);
  const newest = known.at(-1);
  if (pinned === null || newest === undefined) return null;
  // It is kept before the tree is: who keeps it is about to store that, or finds that the database is behind.
  if (pinned.size > newest.size) return { proven: [], waitsFrom: 0 };
  const trees = await signedTrees(known, { evidence, pinned, ends });
  const proven: ProvenEpoch[] = [];
  // A mark of before they were noted takes the beginning of the oldest one over, once.
  let [end, waitsFrom] = [begins === undefined ? known[0]?.firstId : undefined, Number.POSITIVE_INFINITY];
  for (const epoch of known) {
    const isPlaced = (begins?.[epoch.epoch] ?? end) === epoch.firstId;
    const tree = isPlaced ? trees.get(epoch.epoch) : undefined;
    end = tree === undefined ? undefined : nextId({ ...epoch, size: tree.size });
    waitsFrom = end ?? Number.POSITIVE_INFINITY;
    if (tree === undefined || end === undefined) continue;
    const later = epochs.filter((one) => one.epoch > epoch.epoch).map(({ firstId }) => firstId - 1);
    proven.push({ ...tree, epoch, lastId: Math.min(end - 1, ...later) });
  }
  return { proven, waitsFrom };
}

/** The tree that each epoch has signed for, by its number. */
async function signedTrees(
  epochs: readonly LogEpoch[],
  {
    evidence,
    pinned,
    ends,
  }: Pick<Sources, "evidence"> & {
    readonly pinned: TreeHead;
    readonly ends: NonNullable<RetentionMark["ends"]>;
  },
): Promise<Map<number, SignedTree>> {
  const trees = new Map<number, SignedTree>();
  let named: TreeHead | null = pinned;
  for (const epoch of epochs.toReversed()) {
    const noted = ends[epoch.epoch];
    // A checkpoint of more leaves than a closed epoch has left was lost with them, openly: then its noted end counts.
    const isLeft: boolean = noted === undefined || (named !== null && named.size <= epoch.size);
    const tree: SignedTree | null | undefined = isLeft && isOf(epoch, named) ? named : noted && treeOf(noted);
    if (tree) trees.set(epoch.epoch, tree);
    named = tree && (await isOpening(epoch, tree, evidence)) ? headIn(epoch.previous) : null;
  }
  return trees;
}

/** Whether a checkpoint is that of an epoch, which has the number that its name says. */
function isOf({ epoch, origin }: LogEpoch, head: TreeHead | null): boolean {
  return head?.origin === origin && readOrigin(origin).epoch === epoch;
}

function treeOf({ size, root }: { size: number; root: string }): SignedTree {
  return { size, root: Buffer.from(root, "base64") };
}

/** Whether an epoch begins with the leaf that names the checkpoint before it. */
async function isOpening(
  { epoch, previous }: LogEpoch,
  tree: SignedTree,
  evidence: Pick<EvidenceStore, "tiles">,
): Promise<boolean> {
  if (previous === null) return false;
  const leaves = await provenLeaves(0, tree, evidence.tiles(epoch));
  return leaves !== null && isSameHash(leaves.subarray(0, hashBytes), openingLeafHash(previous));
}
