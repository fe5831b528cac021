import { isSameHash } from "../../partner/merkle-proof.ts";
import type { AuditStore } from "../../store/evidence/audit.ts";
import { disorderSeconds, type SignedHeads } from "./audit-checkpoints.ts";
import type { Findings } from "./audit-findings.ts";
import { type AuditedRow, contradictionsIn, type SignatureChecks } from "./audit-rows.ts";
import { linkOf } from "./chain.ts";
import { type LogEpoch, openingLeaves } from "./evidence.ts";
import { couldBeDeleted, type RetentionMark } from "./retention-mark.ts";
import { growTree, hashBytes, leafHash, openingLeafHash, type TileRoot, tileHashes } from "./tree.ts";

export type EpochPlan = {
  readonly epoch: LogEpoch;
  /** Leaves that the log has; attestations behind them wait to be logged. */
  readonly logged: number;
  /** How many leaves attestations and log make together. */
  readonly reach: number;
  /** Leaves whose attestations are still there: the ids behind them belong to an epoch that was opened over their loss. */
  readonly left: number;
};

type EpochAudit = {
  readonly store: AuditStore;
  readonly findings: Findings;
  /** What retention may have deleted by now; null when nothing says so that is to be believed. */
  mark(): Promise<RetentionMark | null>;
  /** The oldest attestation that is there; null without any. */
  readonly first: Pick<AuditedRow, "id" | "issuedAt"> | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly signatures: SignatureChecks;
  onLeaves(count: number): void;
};

/** How many attestations were compared, of how many the own signature was verified, and how many retention has deleted. */
export type EpochCounts = {
  readonly compared: number;
  readonly verified: number;
  readonly pruned: number;
  /** Attestations whose ids a later epoch has, openly. */
  readonly lost: number;
};

type Leaf = {
  readonly index: number;
  /** Null for the leaf that a later epoch begins with. */
  readonly id: number | null;
  readonly row: AuditedRow | undefined;
  readonly kept: Uint8Array | undefined;
};

/**
 * Builds one tree anew. Each attestation is compared with the hash that the log keeps of it and with the columns beside
 * it, and the root over the kept hashes with every checkpoint that was signed; the first of each that differs is named.
 */
export async function auditEpoch(
  audit: EpochAudit,
  { epoch, logged, reach, left }: EpochPlan,
  heads: SignedHeads,
): Promise<EpochCounts> {
  const { store, findings } = audit;
  const opening = openingLeaves(epoch);
  const tiles = createTileCheck(audit, epoch, logged);
  const roots = createRootCheck(audit, { epoch, logged }, { heads, onTileRoot: tiles.add });
  const rows = createRowCheck(audit, { epoch, logged, left, heads });
  for (let from = 0; from < reach; from += tileHashes) {
    const upTo = Math.min(reach, from + tileHashes);
    const idAt = (index: number) => epoch.firstId + index - opening;
    const found = await store.rows(idAt(Math.max(from, opening)), idAt(Math.min(upTo, left) - 1));
    const tile = await store.tile(epoch.epoch, 0, from / tileHashes);
    // After the rows: what was deleted until then is marked.
    if (found.length < upTo - Math.max(from, opening)) await rows.readMark();
    await heads.readTo(upTo);
    let next = 0;
    for (let index = from; index < upTo; index++) {
      const id = index < opening ? null : idAt(index);
      const row = id !== null && found[next]?.id === id ? found[next++] : undefined;
      const at = (index - from) * hashBytes;
      const hash = tile.subarray(at, at + hashBytes);
      const kept = index < logged && hash.length === hashBytes ? hash : undefined;
      const made = id === null ? openingLeafHash(epoch.previous ?? "") : row && leafHash(row.jws);
      const leaf = { index, id, row, kept };
      if (row !== undefined) rows.there(leaf, row, made);
      else if (id !== null) rows.missing(leaf);
      else if (kept !== undefined && made !== undefined && !isSameHash(made, kept))
        findings.add("LOG", epoch.epoch, {
          index,
          says: `what epoch ${epoch.epoch} names as before it was changed`,
        });
      roots.leaf(leaf, kept ?? made);
      // An id far behind was written by hand, and there may be any number.
      if (made === undefined && index >= logged) return rows.counts();
    }
    if (found.length === 0 && tile.length === 0) return rows.counts();
    await tiles.compare();
    audit.onLeaves(upTo - from);
  }
  return rows.counts();
}

/** Compares the root over the leaves so far with what was signed for. */
function createRootCheck(
  { findings }: EpochAudit,
  { epoch: { epoch }, logged }: Pick<EpochPlan, "epoch" | "logged">,
  { heads, onTileRoot }: { heads: SignedHeads; onTileRoot: (found: TileRoot) => void },
) {
  const tree = growTree(onTileRoot);
  // Once a root cannot be computed, or is another one, so is every further one: that was named, and is not repeated.
  let [lastGood, isBlind] = [0, false];
  return {
    leaf({ index, kept }: Leaf, hash: Uint8Array | undefined): void {
      if (kept === undefined && index < logged && !isBlind) {
        isBlind = true;
        findings.add("LOG", epoch, { index, says: `the log lacks the hash of leaf ${index}` });
      }
      if (hash === undefined) isBlind = true;
      else tree.push(hash);
      for (
        let signed = heads.peek();
        signed !== undefined && signed.size <= index + 1;
        signed = heads.peek()
      ) {
        heads.take();
        if (isBlind) continue;
        isBlind = signed.size !== index + 1 || !isSameHash(tree.root() ?? new Uint8Array(), signed.root);
        const says = `the checkpoint at ${signed.size} of epoch ${epoch} was signed for other leaves than ${lastGood} to ${index}`;
        if (isBlind) findings.add("CHECKPOINT", epoch, { index: signed.size, says });
        else lastGood = signed.size;
      }
    },
  };
}

/** Compares the tiles above the leaves, by which proofs are given and the next root is computed. */
function createTileCheck({ store, findings }: EpochAudit, { epoch }: LogEpoch, logged: number) {
  let found: TileRoot[] = [];
  let isNamed = false;
  return {
    add(one: TileRoot): void {
      if ((one.position + 1) * tileHashes ** one.level <= logged) found.push(one);
    },
    async compare(): Promise<void> {
      const roots = found;
      found = [];
      for (const { level, position, root } of isNamed ? [] : roots) {
        const place = Math.floor(position / tileHashes);
        const at = (position % tileHashes) * hashBytes;
        const kept = (await store.tile(epoch, level, place)).subarray(at, at + hashBytes);
        if (isNamed || isSameHash(kept, root)) continue;
        isNamed = true;
        findings.add("LOG", epoch, {
          says: `tile ${place} of level ${level} does not fit the leaves below it`,
        });
      }
    },
  };
}

/** What each attestation says for itself, and whether one that is not there may be missing. */
function createRowCheck(
  audit: EpochAudit,
  { epoch, logged, left, heads }: Omit<EpochPlan, "reach"> & { readonly heads: SignedHeads },
) {
  const { signatures, findings, first, now } = audit;
  let [compared, verified, pruned, lost] = [0, 0, 0, 0];
  let issuedBefore: number | null = null;
  let mark: RetentionMark | null = null;

  function add({ index, id, row }: Leaf, says: string): void {
    findings.add("ATTESTATION", epoch.epoch, {
      index,
      id,
      verificationId: row?.verificationId ?? null,
      says: `attestation ${id} ${says}`,
    });
  }

  /**
   * Nothing that only the database says excuses a gap: the mark is authenticated, and a leaf behind a checkpoint or an
   * attestation that was signed later than the mark's time was younger. What is missing from before there were marks must be shown by a signed
   * time to have been old enough: that of the first checkpoint over it, or of the first attestation behind it.
   */
  function isPruned(id: number): boolean {
    if (mark === null) return false;
    const { begun, through, from, unsealedFrom } = mark;
    if (id >= begun) {
      // A checkpoint that is chained covers all that was committed before it was signed.
      const passed = heads.passed();
      const signedAt = passed === null || linkOf(passed) === null ? 0 : passed.seconds;
      return id <= through && Math.max(signedAt, issuedBefore ?? 0) - disorderSeconds <= (from ?? 0);
    }
    const behind = first !== null && id < first.id ? first.issuedAt : Number.POSITIVE_INFINITY;
    const signedBy = Math.min(heads.peek()?.seconds ?? Number.POSITIVE_INFINITY, behind);
    return unsealedFrom !== null && couldBeDeleted(signedBy * 1000, now);
  }

  /**
   * The log vouches for what a checkpoint covers. But what was written by hand behind the newest checkpoint is covered by
   * the next one; so one is verified as well that is odd: its time is long before that of its predecessor.
   */
  function forgeryOf({ index }: Leaf, row: AuditedRow, isOdd: boolean): string | null {
    if (!signatures.all && !isOdd && index < heads.signed) return null;
    verified++;
    return signatures.findForgery(row);
  }

  return {
    async readMark(): Promise<void> {
      mark = await audit.mark();
    },
    there(leaf: Leaf, row: AuditedRow, made: Uint8Array | undefined): void {
      compared++;
      const isOdd = issuedBefore !== null && row.issuedAt < issuedBefore - disorderSeconds;
      issuedBefore = row.issuedAt;
      if (leaf.kept !== undefined && made !== undefined && !isSameHash(made, leaf.kept)) {
        add(leaf, "does not fit its leaf: it was changed, or one was removed or inserted here");
        return;
      }
      const columns = contradictionsIn(row);
      const forgery = forgeryOf(leaf, row, isOdd && columns.length === 0);
      if (forgery !== null) add(leaf, `was inserted: ${forgery}`);
      else if (columns.length > 0) add(leaf, `contradicts its signed result in ${columns.join(", ")}`);
    },
    missing(leaf: Leaf): void {
      if (leaf.index >= logged)
        add(leaf, "was removed before it was logged, or those behind it were inserted");
      else if (leaf.index >= left) lost++;
      else if (isPruned(leaf.id ?? 0)) pruned++;
      else add(leaf, "was removed");
    },
    counts: (): EpochCounts => ({ compared, verified, pruned, lost }),
  };
}
