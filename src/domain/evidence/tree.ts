/**
 * The Merkle tree of the evidence log (RFC 6962, section 2.1), stored in tiles. A tile has 256 hashes of one level of
 * tiles. The next level has one hash for each full tile: the root over this tile. A proof therefore reads a few tiles,
 * however large the log is, and an append changes only the last tile of each level (decision D13.1).
 */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { isSameHash } from "../../partner/merkle-proof.ts";

export const bytesPerHash = 32;
/** Levels of the tree that one level of tiles spans. A tile has 2^8 hashes. */
const tileHeight = 8;
export const hashesPerTile = 2 ** tileHeight;

/** The address of a tile: its level, 0 for leaves, and its index in that level. */
export type TileAddress = { readonly level: number; readonly position: number };
export type Tile = TileAddress & { readonly hashes: Uint8Array };
/** Reads tiles in the given order. The last tile of a level may have fewer hashes, and a missing tile is empty. */
export type TileReader = (addresses: readonly TileAddress[]) => Promise<readonly Uint8Array[]>;

type Range = { readonly start: number; readonly end: number };

function sha256(bytes: string | Uint8Array): Uint8Array {
  return hash("sha256", bytes, "buffer");
}

/** Buffers with the inputs of the hash function, reused because an audit computes millions of hashes. */
const attestationLeaf = Buffer.from(`\0tvs/v1/attestation\n${"-".repeat(bytesPerHash)}`);
const missingLeaf = Buffer.from(`\0tvs/v1/missing\n${"-".repeat(bytesPerHash)}`);
const nodeInput = Buffer.alloc(1 + 2 * bytesPerHash, 1);

function hashOfLeaf(leaf: Buffer, text: string): Uint8Array {
  leaf.set(sha256(text), leaf.length - bytesPerHash);
  return sha256(leaf);
}

/** Computes the leaf hash of an attestation. @param jws the compact JWS in the answer */
export function leafHashOf(jws: string): Uint8Array {
  return hashOfLeaf(attestationLeaf, jws);
}

/** Computes the leaf hash for an attestation that was removed before it got a leaf. @param id the attestation's id */
export function leafHashOfMissing(id: number): Uint8Array {
  return hashOfLeaf(missingLeaf, String(id));
}

function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  nodeInput.set(left, 1);
  nodeInput.set(right, 1 + bytesPerHash);
  return sha256(nodeInput);
}

/**
 * Lists the subtrees whose hashes make up a proof, from the bottom up. The function walks from the root to the leaf
 * before `end`, and lists the sibling of each subtree on this path.
 * @param stop called at each subtree: null continues the walk, a list ends the walk and becomes the start of the proof
 */
function siblingsTo(end: number, tree: Range, stop: (subtree: Range) => Range[] | null): Range[] {
  const reached = stop(tree);
  if (reached !== null) return reached;
  // Of n leaves, the left half has the largest power of two below n (RFC 6962).
  let half = 1;
  while (half * 2 < tree.end - tree.start) half *= 2;
  const left = { start: tree.start, end: tree.start + half };
  const right = { start: left.end, end: tree.end };
  return end <= left.end ? [...siblingsTo(end, left, stop), right] : [...siblingsTo(end, right, stop), left];
}

/** A subtree's hash: the root over 2^heightInTile hashes of a tile, from hash number `offset` on. */
type SubtreeHash = TileAddress & { readonly offset: number; readonly heightInTile: number };

function subtreesOf({ start, end }: Range): SubtreeHash[] {
  const subtrees: SubtreeHash[] = [];
  for (let from = start; from < end; ) {
    let height = 0;
    while (2 ** (height + 1) <= end - from) height++;
    const heightInTile = height % tileHeight;
    const first = from / 2 ** (height - heightInTile);
    const [position, offset] = [Math.floor(first / hashesPerTile), first % hashesPerTile];
    subtrees.push({ level: (height - heightInTile) / tileHeight, position, offset, heightInTile });
    from += 2 ** height;
  }
  return subtrees;
}

/** Computes the root over 2^height hashes of a tile from `offset` on. @throws RangeError if the tile is too short */
function hashInTile(tile: Uint8Array, offset: number, height: number): Uint8Array {
  if (height === 0) {
    const found = tile.subarray(offset * bytesPerHash, (offset + 1) * bytesPerHash);
    if (found.length !== bytesPerHash) throw new RangeError("the tile has no such hash");
    return found;
  }
  const half = 2 ** (height - 1);
  return nodeHash(hashInTile(tile, offset, height - 1), hashInTile(tile, offset + half, height - 1));
}

/** Computes the hash of each range of leaves. Reads all tiles together. @throws RangeError if a tile lacks a hash */
async function hashesOf(ranges: readonly Range[], read: TileReader): Promise<Uint8Array[]> {
  const parts = ranges.map(subtreesOf);
  const keyOf = ({ level, position }: TileAddress) => `${level} ${position}`;
  const addresses = [...new Map(parts.flat().map((address) => [keyOf(address), address])).values()];
  const tiles = await read(addresses);
  const tileOf = new Map(addresses.map((address, at) => [keyOf(address), tiles[at]]));
  const hashOf = (address: SubtreeHash) =>
    hashInTile(tileOf.get(keyOf(address)) ?? new Uint8Array(), address.offset, address.heightInTile);
  return parts.map((part) => part.map(hashOf).reduceRight((right, left) => nodeHash(left, right)));
}

/** Computes the root over the first `size` leaves, which may be none. @throws RangeError if a tile lacks a hash */
export async function computeRoot(size: number, read: TileReader): Promise<Uint8Array> {
  if (size === 0) return sha256(new Uint8Array());
  const [root] = await hashesOf([{ start: 0, end: size }], read);
  return root as Uint8Array;
}

/** Whether the first `size` leaves have this root; false also if a tile lacks a hash. */
export async function hasRoot({ size, root }: SignedTree, read: TileReader): Promise<boolean> {
  try {
    return isSameHash(await computeRoot(size, read), root);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/**
 * Makes the audit path of a leaf, from its sibling upwards (RFC 6962, 2.1.1).
 * @param index the leaf's index, below `size`
 * @param size the number of leaves of the present tree or an earlier one @throws RangeError if a tile lacks a hash
 */
export function makeInclusionProof(index: number, size: number, read: TileReader): Promise<Uint8Array[]> {
  const isLeaf = ({ start, end }: Range) => end - start === 1;
  const tree = { start: 0, end: size };
  return hashesOf(
    siblingsTo(index + 1, tree, (subtree) => (isLeaf(subtree) ? [] : null)),
    read,
  );
}

/** Makes the proof that the tree of `to` leaves extends that of `from` (RFC 6962, 2.1.2), for 1 ≤ from ≤ to. */
export function makeConsistencyProof(from: number, to: number, read: TileReader): Promise<Uint8Array[]> {
  // The verifier knows the earlier root. The proof omits this root if a subtree of the later tree has the same root.
  const stop = (subtree: Range) => (subtree.end !== from ? null : subtree.start === 0 ? [] : [subtree]);
  return hashesOf(siblingsTo(from, { start: 0, end: to }, stop), read);
}

/** Reads the hash of one leaf. @returns null if the tree has no such leaf */
export async function readLeafHash(index: number, read: TileReader): Promise<Uint8Array | null> {
  const [tile = new Uint8Array()] = await read([{ level: 0, position: Math.floor(index / hashesPerTile) }]);
  const leaf = tileHashAt(tile, index);
  return leaf.length === bytesPerHash ? leaf : null;
}

/** Gets one hash of a tile. @param index the hash's index in the level @returns an empty array for a short tile */
export function tileHashAt(tile: Uint8Array, index: number): Uint8Array {
  const offset = (index % hashesPerTile) * bytesPerHash;
  return tile.subarray(offset, offset + bytesPerHash);
}

type SignedTree = { readonly size: number; readonly root: Uint8Array };

/**
 * Reads a tile of leaves and proves that a signed tree has these leaves. The signed root proves the last tile of each
 * level. Each full tile is compared with its hash in the tile above.
 * @returns the tile's leaves up to the size of the signed tree; null if the tiles do not lead to the signed root
 */
export async function readProvenLeaves(position: number, signed: SignedTree, read: TileReader) {
  if (!(await hasRoot(signed, read))) return null;
  let leaves: Uint8Array | null = null;
  let below: { index: number; root: Uint8Array } | null = null;
  let index = position;
  for (let level = 0; ; level++) {
    const [tile = new Uint8Array()] = await read([{ level, position: index }]);
    const inLevel = Math.floor(signed.size / hashesPerTile ** level);
    const count = Math.min(hashesPerTile, inLevel - index * hashesPerTile);
    if (count <= 0 || tile.length < count * bytesPerHash) return null;
    if (below !== null && !isSameHash(tileHashAt(tile, below.index), below.root)) return null;
    leaves ??= tile.subarray(0, count * bytesPerHash);
    if (count < hashesPerTile) return leaves;
    below = { index, root: hashInTile(tile, 0, tileHeight) };
    index = Math.floor(index / hashesPerTile);
  }
}

/** Appends leaves to a tree of `size` leaves, in memory. @returns each tile that is new or has grown */
export async function appendToTree(size: number, leaves: readonly Uint8Array[], read: TileReader) {
  const changed: Tile[] = [];
  let hashes = leaves;
  for (let level = 0, entries = size; hashes.length > 0; level++) {
    const roots: Uint8Array[] = [];
    let position = Math.floor(entries / hashesPerTile);
    const [last = new Uint8Array()] = await read([{ level, position }]);
    let tile = last.subarray(0, (entries % hashesPerTile) * bytesPerHash);
    for (let at = 0; at < hashes.length; ) {
      const room = hashesPerTile - tile.length / bytesPerHash;
      tile = Buffer.concat([tile, ...hashes.slice(at, at + room)]);
      at += room;
      changed.push({ level, position, hashes: tile });
      if (tile.length < hashesPerTile * bytesPerHash) break;
      roots.push(hashInTile(tile, 0, tileHeight));
      position++;
      tile = new Uint8Array();
    }
    entries = Math.floor(entries / hashesPerTile);
    hashes = roots;
  }
  return changed;
}

/**
 * Creates a builder that computes the root while leaves are added. The builder stores only the roots of full subtrees.
 * @param onTileRoot called with each hash of the tiles above the leaves, as soon as the hash is complete
 */
export function createRootBuilder(onTileRoot: (address: TileAddress, root: Uint8Array) => void) {
  const roots: Uint8Array[] = [];
  let size = 0;

  return {
    push(leaf: Uint8Array): void {
      let [root, height] = [leaf, 0];
      // Each 1 bit of the size is a full subtree. Adding a leaf joins subtrees as adding 1 carries bits.
      for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) {
        root = nodeHash(roots.pop() as Uint8Array, root);
        height++;
        if (height % tileHeight === 0)
          onTileRoot({ level: height / tileHeight, position: Math.floor(size / 2 ** height) }, root);
      }
      roots.push(root);
      size++;
    },
    /** Computes the root over all leaves so far; undefined before the first leaf. */
    root: (): Uint8Array | undefined =>
      roots.length === 0 ? undefined : roots.reduceRight((right, left) => nodeHash(left, right)),
  };
}
