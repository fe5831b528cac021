/** The evidence log as it is kept: its epochs, leaves and checkpoints, and what is proven of them (decision D13.1). */

import { Buffer } from "node:buffer";
import { isSameHash } from "../../partner/merkle-proof.ts";
import type { EvidenceStore } from "../../store/evidence/evidence.ts";
import type { Tile } from "./tree.ts";
import { consistencyProof, hashBytes, inclusionProof, leafAt, openingLeafHash, tileHashes } from "./tree.ts";

/** One tree with a name and a key of its own (decision D13.4). Times are milliseconds since the epoch. */
export type LogEpoch = {
  readonly epoch: number;
  /** The first line of its checkpoints. */
  readonly origin: string;
  /** Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array;
  /** PKCS #8 of the private half, sealed with the origin as its name; null once a later epoch was opened. */
  readonly sealed: Uint8Array | null;
  /** The id of its first attestation, whether it is there already or not. */
  readonly firstId: number;
  /** Leaves that the tree has. */
  readonly size: number;
  readonly openedAt: number;
  /** Why it was opened; null for the first. */
  readonly reason: string | null;
  /** The last checkpoint that is known of the epoch before it, as a signed note; null for the first. */
  readonly previous: string | null;
};

/** What an epoch is opened with. */
export type EpochOpening = Omit<LogEpoch, "firstId" | "size"> & {
  /** The newest epoch until then and what of it was signed for, as they were read; zeros without any. */
  readonly after: { readonly epoch: number; readonly signedSize: number };
  /** With which id it has to begin, and the mark of retention that says so; undefined where nobody has noted it. */
  readonly noted?: { readonly firstId: number; readonly mark: string | null } | undefined;
};

/** A checkpoint as the database has it: what its note says, in columns. */
export type StoredCheckpoint = {
  readonly epoch: number;
  readonly size: number;
  /** In milliseconds since the epoch, a whole second. */
  readonly signedAt: number;
  /** The signed note, as it left. */
  readonly note: string;
};

/** How far the newest epoch's tree has come behind the attestations, and its checkpoints behind the tree. */
export type LogProgress = {
  readonly epoch: number;
  readonly origin: string;
  readonly size: number;
  /** Leaves that the newest checkpoint covers. */
  readonly signedSize: number;
  /** When that was signed, milliseconds since the epoch; null before the first. */
  readonly signedAt: number | null;
  /** Attestations that are not in the tree yet. */
  readonly waiting: number;
  /** Of the newest attestations in the tree, how many are not in the database any more; always 0, unless somebody took them out. */
  readonly missing: number;
};

/** Leaves that are to be appended, and what changes by them. */
export type Appended = {
  readonly epoch: number;
  /** How many leaves there were: it is appended only while there are as many. */
  readonly from: number;
  readonly to: number;
  readonly tiles: readonly Tile[];
  /** The id of the first attestation among them, and the prefixes of all their leaf hashes in order. */
  readonly firstId: number;
  readonly prefixes: readonly number[];
  readonly checkpoint: StoredCheckpoint | null;
  /** The newest checkpoint until then: one that names it is stored only while it is. */
  readonly previous: StoredCheckpoint | null;
};

/** A leaf in a tree that a checkpoint signs for. */
export type Inclusion = {
  readonly index: number;
  readonly size: number;
  /** From the leaf's sibling upwards. */
  readonly hashes: readonly Uint8Array[];
  /** The signed note. */
  readonly checkpoint: string;
};

/** One tree's growth. */
type Consistency = { readonly epoch: number; readonly hashes: readonly Uint8Array[] };

/** What anybody may ask the log. */
export type EvidenceReader = ReturnType<typeof createEvidenceReader>;

/** Attestations of one part of the index by which leaf hashes are found, as a power of two. */
export const partBits = 18;

/** The first six bytes of a leaf hash, as a number. */
export function prefixOf(leafHash: Uint8Array): number {
  return Buffer.from(leafHash.buffer, leafHash.byteOffset, leafHash.length).readUIntBE(0, 6);
}

/** How many leaves of an epoch are no attestation: a later one begins with a leaf that names the one before. */
export function openingLeaves({ previous }: Pick<LogEpoch, "previous">): number {
  return previous === null ? 0 : 1;
}

/** The id of the attestation that is appended next. One that was closed before anything was signed lost its opening leaf. */
export function nextId(epoch: Pick<LogEpoch, "firstId" | "size" | "previous">): number {
  return epoch.firstId + Math.max(0, epoch.size - openingLeaves(epoch));
}

/** The place of an attestation's leaf in the tree of its epoch. */
export function indexOf(epoch: Pick<LogEpoch, "firstId" | "previous">, id: number): number {
  return id - epoch.firstId + openingLeaves(epoch);
}

/** The hash that the log keeps of an attestation; undefined for one that has no leaf. */
export async function keptLeaf(
  { epochs, tiles }: Pick<EvidenceStore, "epochs" | "tiles">,
  id: number,
): Promise<Uint8Array | undefined> {
  const epoch = (await epochs()).findLast(({ firstId }) => id >= firstId);
  if (epoch === undefined || id >= nextId(epoch)) return undefined;
  const index = indexOf(epoch, id);
  const [tile] = await tiles(epoch.epoch)([{ level: 0, position: Math.floor(index / tileHashes) }]);
  const at = (index % tileHashes) * hashBytes;
  return tile?.subarray(at, at + hashBytes);
}

export function createEvidenceReader(store: EvidenceStore) {
  async function proofAt(epoch: LogEpoch, index: number, size?: number): Promise<Inclusion | null> {
    const checkpoint = await (size === undefined
      ? store.covering(epoch.epoch, index)
      : store.ofSize(epoch.epoch, size));
    if (checkpoint === null || checkpoint.size <= index) return null;
    const hashes = await inclusionProof(index, checkpoint.size, store.tiles(epoch.epoch));
    return { index, size: checkpoint.size, hashes, checkpoint: checkpoint.note };
  }

  async function find(wanted: Uint8Array): Promise<{ epoch: LogEpoch; index: number } | null> {
    const epochs = await store.epochs();
    const isWanted = (hash: Uint8Array) => isSameHash(hash, wanted);
    // What was lost openly has its leaf still, and its id is that of another one in a later epoch.
    for (const id of await store.withPrefix(prefixOf(wanted)))
      for (const epoch of epochs.filter((one) => id >= one.firstId && id < nextId(one))) {
        const index = indexOf(epoch, id);
        if (isWanted(await leafAt(index, store.tiles(epoch.epoch)))) return { epoch, index };
      }
    const opened = epochs.find(({ previous }) => previous !== null && isWanted(openingLeafHash(previous)));
    return opened === undefined ? null : { epoch: opened, index: 0 };
  }

  return {
    epochs: store.epochs,
    /** The newest checkpoint; null as long as there is none. */
    newest: store.newest,
    /**
     * @param size of a checkpoint; without it, the earliest one that covers the leaf
     * @returns null for a hash that is no leaf's, or that no checkpoint covers yet; `no-checkpoint` when there was never
     *   one of that size that covers it
     */
    async inclusion(leafHash: Uint8Array, size?: number): Promise<Inclusion | "no-checkpoint" | null> {
      const found = await find(leafHash);
      if (found === null) return null;
      const proof = await proofAt(found.epoch, found.index, size);
      return proof ?? (size === undefined ? null : "no-checkpoint");
    },
    /**
     * Between two sizes of the newest epoch's tree, 1 ≤ from ≤ to.
     * @returns null when no checkpoint covers `to` leaves yet
     */
    async consistency(from: number, to: number): Promise<Consistency | null> {
      const newest = await store.newest();
      if (newest === null || to > newest.size) return null;
      const { epoch } = newest;
      return { epoch, hashes: await consistencyProof(from, to, store.tiles(epoch)) };
    },
  };
}
