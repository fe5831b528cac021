import { Buffer } from "node:buffer";
import type { FindingKind } from "./audit-findings.ts";
import type { AuditedRow } from "./audit-rows.ts";
import type { AuditStore } from "./audit-store.ts";
import { compareWith, type Suspect } from "./audit-suspect.ts";
import { type GrowingTree, growTree } from "./audit-tree.ts";
import { type LogEpoch, openingLeaves } from "./log.ts";
import { hashBytes, tileHashes } from "./tree.ts";

/** A root that the log has signed for. */
export type SignedRoot = { readonly size: number; readonly root: Uint8Array };

/** A leaf as its attestation makes it and as the log keeps it, each where it is there. */
export type AuditedLeaf = {
  readonly index: number;
  /** Null for the leaf that a later epoch begins with. */
  readonly id: number | null;
  readonly row: AuditedRow | undefined;
  readonly made: Uint8Array | undefined;
  readonly kept: Uint8Array | undefined;
};

type ContradictedLeaf = AuditedLeaf & { readonly made: Uint8Array; readonly kept: Uint8Array };

/** @param leaf what it is about */
export type AddFinding = (what: FindingKind, leaf: Partial<AuditedLeaf>, says: string) => void;

type TileRoot = { readonly level: number; readonly position: number; readonly root: Uint8Array };

/** As the partner's, and quicker: it is asked of every leaf. */
function isSameHash(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

/** Whether attestation and log disagree. */
export function isContradicted(leaf: AuditedLeaf): leaf is ContradictedLeaf {
  return leaf.made !== undefined && leaf.kept !== undefined && !isSameHash(leaf.made, leaf.kept);
}

/** The hash that tiles of one level hold at a place; undefined where they hold none. @param tiles by position */
export function keptLeaf(tiles: ReadonlyMap<number, Uint8Array>, index: number): Uint8Array | undefined {
  const at = (index % tileHashes) * hashBytes;
  const found = tiles.get(Math.floor(index / tileHashes))?.subarray(at, at + hashBytes);
  return found?.length === hashBytes ? found : undefined;
}

/**
 * The trees of one epoch. The first follows the kept leaf hashes. Where an attestation contradicts its hash, a second one
 * follows the attestations, until the next signed root says which of the two was changed.
 */
export function createTracks(
  { epoch, logged }: { readonly epoch: LogEpoch; readonly logged: number },
  { store, add }: { readonly store: AuditStore; readonly add: AddFinding },
) {
  let tileRoots: TileRoot[] = [];
  const onTileRoot = (level: number, position: number, root: Uint8Array) => {
    if ((position + 1) * tileHashes ** level <= logged) tileRoots.push({ level, position, root });
  };
  let tree = growTree(onTileRoot);
  /** What the attestations make since they contradict the hashes; null while they do not. */
  let ofRows: GrowingTree | null = null;
  let suspect: Suspect | null = null;
  /** The attestations were changed at the suspect, and nothing more is to be learned from their hashes. */
  let isBlamed = false;
  /** No root can be computed any more, or none agrees. */
  let isBlind = false;
  let lastGood = 0;

  function contradict(leaf: ContradictedLeaf): void {
    if (suspect === null) {
      suspect = { ...leaf, movedTo: null, movedFrom: null };
      ofRows = tree.copy();
    } else compareWith(suspect, leaf);
  }

  function grow({ index, made, kept }: AuditedLeaf): void {
    const hash = kept ?? made;
    if (hash === undefined) {
      isBlind = true;
      return;
    }
    if (kept === undefined && index < logged)
      add("TILES_CHANGED", { index }, `the log lacks the hash of leaf ${index}`);
    ofRows?.push(made ?? hash);
    tree.push(hash);
  }

  function blame(isRoot: boolean, isRootOfRows: boolean): void {
    if (suspect !== null && isRootOfRows && !isRoot && ofRows !== null) {
      const { index } = suspect;
      add("TILES_CHANGED", { index }, `the hash that the log keeps of leaf ${index} was changed`);
      tree = ofRows.copy(onTileRoot);
      tileRoots = [];
      suspect = null;
    } else isBlamed = true;
    ofRows = null;
  }

  return {
    leaf(leaf: AuditedLeaf) {
      if (isContradicted(leaf)) contradict(leaf);
      grow(leaf);
    },
    root({ size, root }: SignedRoot) {
      if (isBlind) return;
      const isRoot = isSameHash(tree.root() ?? new Uint8Array(), root);
      const isRootOfRows = ofRows !== null && isSameHash(ofRows.root() ?? new Uint8Array(), root);
      if (ofRows !== null && !isBlamed) blame(isRoot, isRootOfRows);
      else if (!isRoot) {
        const says = `leaves ${lastGood} to ${size - 1} are not what was signed for at ${size}`;
        const id = epoch.firstId + lastGood - openingLeaves(epoch);
        add("REWRITTEN", { index: lastGood, id }, says);
      }
      if (isRoot || isRootOfRows) lastGood = size;
      else isBlind = true;
    },
    async compareTiles() {
      const roots = tileRoots;
      tileRoots = [];
      if (isBlind || suspect !== null) return;
      let tiles = new Map<number, Uint8Array>();
      let read = "";
      for (const { level, position, root } of roots) {
        const place = Math.floor(position / tileHashes);
        if (read !== `${level} ${place}`)
          tiles = await store.tiles({ epoch: epoch.epoch, level, first: place, last: place });
        read = `${level} ${place}`;
        const kept = keptLeaf(tiles, position);
        if (kept !== undefined && isSameHash(kept, root)) continue;
        add("TILES_CHANGED", {}, `tile ${place} of level ${level} was changed or removed`);
      }
    },
    /** Where the two parted; null as long as they agree. */
    suspect: () => suspect,
  };
}
