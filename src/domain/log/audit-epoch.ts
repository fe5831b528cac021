import { Buffer } from "node:buffer";
import { type ReadBlock, readAhead, type SoundBlock } from "./audit-blocks.ts";
import { disorderSeconds } from "./audit-checkpoints.ts";
import type { Findings } from "./audit-findings.ts";
import type { PositionAudit } from "./audit-positions.ts";
import type { AuditedRow, createRowReader, SignatureChecks } from "./audit-rows.ts";
import type { AuditStore } from "./audit-store.ts";
import { judge } from "./audit-suspect.ts";
import {
  type AddFinding,
  type AuditedLeaf,
  createTracks,
  isContradicted,
  keptLeaf,
  type SignedRoot,
} from "./audit-tracks.ts";
import { type LogEpoch, openingLeaves } from "./log.ts";
import { leafHash, openingLeafHash, tileHashes } from "./tree.ts";

/** Leaves of one block: a tile, and a quarter of a megabyte of attestations; more memory at once costs more time. */
const blockLeaves = tileHashes;
/** Blocks that are read ahead: enough that several threads never wait, and a few megabytes. */
const blocksAhead = 12;

export type EpochPlan = {
  readonly epoch: LogEpoch;
  /** Leaves that the log has; attestations behind them wait to be logged. */
  readonly logged: number;
  /** How many leaves attestations and log make together. */
  readonly reach: number;
  /** Leaves that a good checkpoint covers. */
  readonly signed: number;
  /** Checks what was signed for sizes above `from`, up to and with `upTo`. @returns the good ones by size */
  signedRoots(from: number, upTo: number): Promise<SignedRoot[]>;
};

export type EpochAudit = {
  readonly store: AuditStore;
  readonly findings: Findings;
  readonly positions: PositionAudit;
  readonly reader: ReturnType<typeof createRowReader>;
  readonly readBlock: ReadBlock;
  /** What was issued before this time (seconds) retention may have deleted by now; null: nothing. */
  prunedBefore(): Promise<number | null>;
  readonly signatures: SignatureChecks;
  onLeaves(count: number): void;
};

/** How many attestations were compared, of how many the own signature was verified, and how many retention has deleted. */
export type EpochCounts = { readonly compared: number; readonly verified: number; readonly pruned: number };

/**
 * Recomputes one tree from its attestations and compares it with what the log keeps and has signed for.
 *
 * The tree follows the kept leaf hashes. Where an attestation contradicts its hash, a second tree follows the
 * attestations, until the next signed root says which of the two was changed.
 */
export async function auditEpoch(audit: EpochAudit, plan: EpochPlan): Promise<EpochCounts> {
  const { store, findings, positions } = audit;
  const { epoch, reach } = plan;
  const add: AddFinding = (what, { index = null, id = null, row }, says) => {
    findings.add({ what, epoch: epoch.epoch, index, id, verificationId: row?.verificationId ?? null, says });
  };
  const tracks = createTracks(plan, { store, add });
  const attestations = createRowChecks(audit, plan, add);
  const leafOf = (index: number, row: AuditedRow | undefined, kept: Uint8Array | undefined): AuditedLeaf => {
    const isOpening = index < openingLeaves(epoch);
    return {
      index,
      id: isOpening ? null : epoch.firstId + index - openingLeaves(epoch),
      row,
      made: isOpening ? openingLeafHash(epoch.previous ?? "") : row && leafHash(row.jws),
      kept: index < plan.logged ? kept : undefined,
    };
  };
  const idAt = (index: number) => epoch.firstId + index - openingLeaves(epoch);
  const nextBlock = readAhead(soundRanges(plan), { readBlock: audit.readBlock, most: blocksAhead });
  for (let from = 0; from < reach; from += blockLeaves) {
    const upTo = Math.min(reach, from + blockLeaves);
    const block = await nextBlock();
    const tiles = await store.tiles({
      epoch: epoch.epoch,
      level: 0,
      first: from / tileHashes,
      last: Math.floor((upTo - 1) / tileHashes),
    });
    const isSound =
      block !== null &&
      isAsKept(block, tiles.get(from / tileHashes)) &&
      !attestations.isOdd(block.issuedFrom);
    const rows = isSound ? [] : await store.rows(idAt(Math.max(from, openingLeaves(epoch))), idAt(upTo - 1));
    if (isSound) attestations.sound(upTo - from, block.issuedUpTo);
    // Read after the rows: what was deleted until then is known to be.
    else if (rows.length < upTo - from) attestations.setPruned(await audit.prunedBefore());
    const roots = await plan.signedRoots(from, upTo);
    let [row, root] = [0, 0];
    for (let index = from; index < upTo; index++) {
      const isHere = index >= openingLeaves(epoch) && rows[row]?.id === idAt(index);
      const leaf = leafOf(index, isHere ? rows[row] : undefined, keptLeaf(tiles, index));
      if (!isSound) attestations.check(leaf);
      tracks.leaf(leaf);
      if (leaf.id !== null && index < plan.logged)
        positions.leaf(leaf.id, isContradicted(leaf) ? null : (leaf.kept ?? leaf.made ?? null), epoch.epoch);
      if (isHere) row++;
      while (roots[root]?.size === index + 1) tracks.root(roots[root++] as SignedRoot);
    }
    await tracks.compareTiles();
    await positions.compare();
    audit.onLeaves(upTo - from);
  }
  const suspect = tracks.suspect();
  if (suspect !== null) findings.add(judge(suspect, epoch.epoch));
  return attestations.counts();
}

/** The ids of each block that may be sound as a whole: of attestations that a checkpoint covers. Null for the others. */
function* soundRanges({ epoch, logged, reach, signed }: EpochPlan): Generator<[number, number] | null> {
  const opening = openingLeaves(epoch);
  for (let from = 0; from < reach; from += blockLeaves) {
    const upTo = Math.min(reach, from + blockLeaves);
    const isCovered = from >= opening && upTo <= Math.min(logged, signed);
    const first = epoch.firstId + from - opening;
    yield isCovered ? [first, first + upTo - from - 1] : null;
  }
}

/** Whether the log keeps the same hashes. @param tile as the log keeps it */
function isAsKept({ leaves }: SoundBlock, tile: Uint8Array | undefined): boolean {
  return tile !== undefined && Buffer.compare(leaves, tile.subarray(0, leaves.length)) === 0;
}

/** What each row says for itself. */
function createRowChecks({ reader, signatures }: EpochAudit, { logged, signed }: EpochPlan, add: AddFinding) {
  let [compared, verified, pruned] = [0, 0, 0];
  let issuedBefore: number | null = null;
  let prunedBefore: number | null = null;
  let isAfterGap = false;

  function missing(leaf: AuditedLeaf): void {
    if (leaf.index >= logged) isAfterGap = true;
    else if (prunedBefore !== null && (issuedBefore ?? 0) - disorderSeconds < prunedBefore) pruned++;
    else add("REMOVED", leaf, `attestation ${leaf.id} was removed`);
  }

  /**
   * The log vouches for what a checkpoint covers. But what was written by hand behind the newest checkpoint is covered by
   * the next one; so one is verified as well that is odd: its time is long before that of its predecessor.
   */
  function forgeryOf({ index }: AuditedLeaf, row: AuditedRow, isOdd: boolean): string | null {
    if (!signatures.all && !isOdd && index < signed) return null;
    verified++;
    return signatures.findForgery(row);
  }

  function isOdd(issuedAt: number): boolean {
    return issuedBefore !== null && issuedAt < issuedBefore - disorderSeconds;
  }

  function checkRow(leaf: AuditedLeaf, row: AuditedRow): void {
    compared++;
    const isEarly = isOdd(row.issuedAt);
    issuedBefore = row.issuedAt;
    const name = `attestation ${row.id}`;
    if (leaf.index >= logged && isAfterGap)
      add("INSERTED", leaf, `${name} was inserted: ids before it were never given`);
    if (isContradicted(leaf)) return;
    const columns = reader.contradictions(row);
    const forgery = forgeryOf(leaf, row, isEarly && columns.length === 0);
    if (forgery !== null) add("INSERTED", leaf, `${name} was inserted: ${forgery}`);
    else if (columns.length > 0)
      add("COLUMNS_CHANGED", leaf, `${name} contradicts its signed result in ${columns.join(", ")}`);
  }

  return {
    setPruned(before: number | null) {
      prunedBefore = before;
    },
    isOdd,
    /** Instead of checking each of them. */
    sound(count: number, issuedUpTo: number) {
      compared += count;
      if (signatures.all) verified += count;
      issuedBefore = issuedUpTo;
    },
    check(leaf: AuditedLeaf) {
      if (leaf.row !== undefined) checkRow(leaf, leaf.row);
      else if (leaf.made === undefined) missing(leaf);
    },
    counts: (): EpochCounts => ({ compared, verified, pruned }),
  };
}
