/**
 * The Merkle tree of the evidence log (RFC 6962, section 2.1), stored in tiles. A tile has 256 hashes of one level. A
 * hash of the tile level above is the root over one full tile. So a proof reads a few tiles, however large the log is,
 * and an append changes only the last tile of each level (decision D13.1).
 */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { isSameHash } from "../../partner/merkle-proof.ts";

export const bytesPerHash = 32;
/** How many levels of the tree one level of tiles spans: a tile has 2^8 hashes. */
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

/** Buffers for the input of each hash. They are reused, because an audit computes millions of hashes. */
const attestationLeaf = Buffer.from(`\0tvs/v1/attestation\n${"-".repeat(bytesPerHash)}`);
const missingLeaf = Buffer.from(`\0tvs/v1/missing\n${"-".repeat(bytesPerHash)}`);
const node = Buffer.alloc(1 + 2 * bytesPerHash, 1);

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
  node.set(left, 1);
  node.set(right, 1 + bytesPerHash);
  return sha256(node);
}

/**
 * Finds the subtrees whose hashes make up a proof, from the bottom up: the siblings of each subtree on the way from the
 * root to the leaf before `end`.
 * @param stop ends the way at a subtree by returning the first part of the proof; null to continue
 */
function siblingsTo(end: number, tree: Range, stop: (subtree: Range) => Range[] | null): Range[] {
  const reached = stop(tree);
  if (reached !== null) return reached;
  // The left half of a tree has as many leaves as the largest power of two below their number (RFC 6962).
  let half = 1;
  while (half * 2 < tree.end - tree.start) half *= 2;
  const left = { start: tree.start, end: tree.start + half };
  const right = { start: left.end, end: tree.end };
  return end <= left.end ? [...siblingsTo(end, left, stop), right] : [...siblingsTo(end, right, stop), left];
}

/** A subtree's hash: the root over 2^within hashes of a tile, from `offset` on. */
type SubtreeHash = TileAddress & { readonly offset: number; readonly within: number };

function subtreesOf({ start, end }: Range): SubtreeHash[] {
  const subtrees: SubtreeHash[] = [];
  for (let from = start; from < end; ) {
    let height = 0;
    while (2 ** (height + 1) <= end - from) height++;
    const within = height % tileHeight;
    const first = from / 2 ** (height - within);
    const [position, offset] = [Math.floor(first / hashesPerTile), first % hashesPerTile];
    subtrees.push({ level: (height - within) / tileHeight, position, offset, within });
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

/** Computes the hash of each range, and reads all tiles for it at once. @throws RangeError if a tile lacks a hash */
async function hashesOf(ranges: readonly Range[], read: TileReader): Promise<Uint8Array[]> {
  const parts = ranges.map(subtreesOf);
  const keyOf = ({ level, position }: TileAddress) => `${level} ${position}`;
  const addresses = [...new Map(parts.flat().map((address) => [keyOf(address), address])).values()];
  const tiles = await read(addresses);
  const tileOf = new Map(addresses.map((address, at) => [keyOf(address), tiles[at]]));
  const hashOf = (address: SubtreeHash) =>
    hashInTile(tileOf.get(keyOf(address)) ?? new Uint8Array(), address.offset, address.within);
  return parts.map((part) => part.map(hashOf).reduceRight((right, left) => nodeHash(left, right)));
}

/** Computes the root over the first `size` leaves (0: the hash of no bytes). @throws RangeError if a tile lacks a hash */
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
 * @param index of the leaf, below `size`
 * @param size of the present tree or of an earlier one @throws RangeError if a tile lacks a hash
 */
export function makeInclusionProof(index: number, size: number, read: TileReader): Promise<Uint8Array[]> {
  const isLeaf = ({ start, end }: Range) => end - start === 1;
  const tree = { start: 0, end: size };
  return hashesOf(
    siblingsTo(index + 1, tree, (subtree) => (isLeaf(subtree) ? [] : null)),
    read,
  );
}

/** Makes the proof that a tree begins with an earlier one (RFC 6962, 2.1.2), for 1 ≤ from ≤ to. */
export function makeConsistencyProof(from: number, to: number, read: TileReader): Promise<Uint8Array[]> {
  // The verifier knows the earlier root, so the proof omits it if it is the root of a subtree of the later tree.
  const stop = (subtree: Range) => (subtree.end !== from ? null : subtree.start === 0 ? [] : [subtree]);
  return hashesOf(siblingsTo(from, { start: 0, end: to }, stop), read);
}

/** Reads the hash of one leaf. @returns null if the tree has no such leaf */
export async function readLeafHash(index: number, read: TileReader): Promise<Uint8Array | null> {
  const [tile = new Uint8Array()] = await read([{ level: 0, position: Math.floor(index / hashesPerTile) }]);
  const leaf = tileHashAt(tile, index);
  return leaf.length === bytesPerHash ? leaf : null;
}

/** Gets one hash of a tile. @param index of the hash in its level @returns an empty array if the tile is too short */
export function tileHashAt(tile: Uint8Array, index: number): Uint8Array {
  const offset = (index % hashesPerTile) * bytesPerHash;
  return tile.subarray(offset, offset + bytesPerHash);
}

type SignedTree = { readonly size: number; readonly root: Uint8Array };

/**
 * Reads a tile of leaves and proves that a signed tree contains them. Each full tile is compared with its hash in the
 * tile above. The signed root was computed from the last tile of each level.
 * @returns the tile's leaves up to the size of the signed tree; null if they do not lead to the signed root
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
 * Computes the roots of a tree that grows leaf by leaf. It keeps only the roots of its full subtrees in memory.
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
