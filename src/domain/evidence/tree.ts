/**
 * The Merkle tree of the evidence log (RFC 6962, 2.1), stored in tiles: a tile has 256 hashes of one level, and each hash of
 * the next tile level is the root over one full tile. A proof reads a few tiles whatever the size of the log, and an append
 * changes only the last tile of each level (decision D13.1).
 */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { isSameHash } from "../../partner/merkle-proof.ts";

/** Bytes of a SHA-256. */
export const hashBytes = 32;
/** Levels of the tree between a tile's hashes and those of the tile above it. */
const tileHeight = 8;
export const tileHashes = 2 ** tileHeight;

/** The address of a tile: its level, counted from the leaves, and its index in that level. */
export type TilePlace = { readonly level: number; readonly position: number };
export type Tile = TilePlace & { readonly hashes: Uint8Array };
/** Reads tiles in the given order. The last tile of a level has only the hashes that exist; a tile that is missing is empty. */
export type ReadTiles = (places: readonly TilePlace[]) => Promise<readonly Uint8Array[]>;

/** The leaves from `start` to before `end`. */
type Range = { readonly start: number; readonly end: number };
/** The subtree over the 2^height leaves from position × 2^height on. */
type Subtree = { readonly height: number; readonly position: number };

function sha256(bytes: string | Uint8Array): Uint8Array {
  return hash("sha256", bytes, "buffer");
}

/** Inputs of the hash functions below, reused for each hash: an audit makes millions of hashes. */
const attestationLeaf = Buffer.from(`\0tvs/v1/attestation\n${"-".repeat(hashBytes)}`);
const missingLeaf = Buffer.from(`\0tvs/v1/missing\n${"-".repeat(hashBytes)}`);
const node = Buffer.alloc(1 + 2 * hashBytes, 1);

function hashOfLeaf(leaf: Buffer, text: string): Uint8Array {
  leaf.set(sha256(text), leaf.length - hashBytes);
  return sha256(leaf);
}

/** The leaf hash of an attestation. @param jws the compact JWS that was answered */
export function leafHash(jws: string): Uint8Array {
  return hashOfLeaf(attestationLeaf, jws);
}

/** The leaf hash that stands for an attestation that was removed before it had a leaf. @param id its id */
export function missingLeafHash(id: number): Uint8Array {
  return hashOfLeaf(missingLeaf, String(id));
}

function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  node.set(left, 1);
  node.set(right, 1 + hashBytes);
  return sha256(node);
}

/** Where a subtree over at least two leaves splits: after the largest power of two below their number. */
function middleOf({ start, end }: Range): number {
  let split = 1;
  while (split * 2 < end - start) split *= 2;
  return start + split;
}

/** The subtrees of an audit path, from the leaf's sibling upwards (RFC 6962, 2.1.1). */
function inclusionRanges(index: number, tree: Range): Range[] {
  const { start, end } = tree;
  if (end - start === 1) return [];
  const middle = middleOf(tree);
  return index < middle
    ? [...inclusionRanges(index, { start, end: middle }), { start: middle, end }]
    : [...inclusionRanges(index, { start: middle, end }), { start, end: middle }];
}

/** The subtrees of a consistency proof (RFC 6962, 2.1.2); none for a tree with itself. */
function consistencyRanges(from: number, tree: Range): Range[] {
  const { start, end } = tree;
  if (from === end) return start === 0 ? [] : [tree];
  const middle = middleOf(tree);
  return from <= middle
    ? [...consistencyRanges(from, { start, end: middle }), { start: middle, end }]
    : [...consistencyRanges(from, { start: middle, end }), { start, end: middle }];
}

/** The complete subtrees that make up a range, from the left. */
function subtreesOf({ start, end }: Range): Subtree[] {
  const subtrees: Subtree[] = [];
  for (let from = start; from < end; ) {
    let height = 0;
    while (2 ** (height + 1) <= end - from) height++;
    subtrees.push({ height, position: from / 2 ** height });
    from += 2 ** height;
  }
  return subtrees;
}

/** One hash of a tile, or the root over 2^height of its hashes from `offset` on. @throws RangeError when the tile is too short */
function hashInTile(tile: Uint8Array, offset: number, height: number): Uint8Array {
  if (height === 0) {
    const found = tile.subarray(offset * hashBytes, (offset + 1) * hashBytes);
    if (found.length !== hashBytes) throw new RangeError("the tile has no such hash");
    return found;
  }
  const half = 2 ** (height - 1);
  return nodeHash(hashInTile(tile, offset, height - 1), hashInTile(tile, offset + half, height - 1));
}

/** The tile that has a subtree's hash, or the hashes below it, and where in the tile they are. */
function placeOf({ height, position }: Subtree): TilePlace & { offset: number; within: number } {
  const within = height % tileHeight;
  const first = position * 2 ** within;
  return {
    level: (height - within) / tileHeight,
    position: Math.floor(first / tileHashes),
    offset: first % tileHashes,
    within,
  };
}

/** The hash of each range, from one read of tiles. @throws RangeError when a tile lacks a hash */
async function hashesOf(ranges: readonly Range[], read: ReadTiles): Promise<Uint8Array[]> {
  const parts = ranges.map((range) => subtreesOf(range).map(placeOf));
  const keyOf = ({ level, position }: TilePlace) => `${level} ${position}`;
  const places = [...new Map(parts.flat().map((place) => [keyOf(place), place])).values()];
  const tiles = await read(places);
  const tileOf = new Map(places.map((place, at) => [keyOf(place), tiles[at]]));
  const hashOf = (place: ReturnType<typeof placeOf>) =>
    hashInTile(tileOf.get(keyOf(place)) ?? new Uint8Array(), place.offset, place.within);
  return parts.map((part) => part.map(hashOf).reduceRight((right, left) => nodeHash(left, right)));
}

/** The root over the first `size` leaves; of no leaves the hash of nothing. @throws RangeError when a tile lacks a hash */
export async function rootOf(size: number, read: ReadTiles): Promise<Uint8Array> {
  if (size === 0) return sha256(new Uint8Array());
  const [root] = await hashesOf([{ start: 0, end: size }], read);
  return root as Uint8Array;
}

/** Whether the first `size` leaves have this root; false too when a tile lacks a hash. */
export async function hasRoot({ size, root }: SignedTree, read: ReadTiles): Promise<boolean> {
  try {
    return isSameHash(await rootOf(size, read), root);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/**
 * The audit path of a leaf, from its sibling upwards (RFC 6962, 2.1.1).
 * @param index of the leaf, below `size`
 * @param size of the tree as it is or was
 */
export function inclusionProof(index: number, size: number, read: ReadTiles): Promise<Uint8Array[]> {
  return hashesOf(inclusionRanges(index, { start: 0, end: size }), read);
}

/** The proof that a tree begins with an earlier one (RFC 6962, 2.1.2). @param from at least 1, and at most `to` */
export function consistencyProof(from: number, to: number, read: ReadTiles): Promise<Uint8Array[]> {
  return hashesOf(consistencyRanges(from, { start: 0, end: to }), read);
}

/** The hash of one leaf; null when the tree has no such leaf. */
export async function leafAt(index: number, read: ReadTiles): Promise<Uint8Array | null> {
  const [tile = new Uint8Array()] = await read([{ level: 0, position: Math.floor(index / tileHashes) }]);
  const leaf = hashAt(tile, index);
  return leaf.length === hashBytes ? leaf : null;
}

/** The hash of an index of a level, in the tile that has this index; empty when the tile is too short. */
export function hashAt(tile: Uint8Array, index: number): Uint8Array {
  const offset = (index % tileHashes) * hashBytes;
  return tile.subarray(offset, offset + hashBytes);
}

/** A tree as it was signed for. */
type SignedTree = { readonly size: number; readonly root: Uint8Array };

/**
 * The hashes of a tile of leaves, as far as a signed tree has them, if they lead to the signed root. Then nobody has changed
 * them since: each full tile is compared with its hash in the tile above, up to a tile that the root is computed from.
 * @returns null when they do not lead to the root
 */
export async function provenLeaves(
  position: number,
  signed: SignedTree,
  read: ReadTiles,
): Promise<Uint8Array | null> {
  if (!(await hasRoot(signed, read))) return null;
  let leaves: Uint8Array | null = null;
  let below: { index: number; root: Uint8Array } | null = null;
  let index = position;
  for (let level = 0; ; level++) {
    const [tile = new Uint8Array()] = await read([{ level, position: index }]);
    const inLevel = Math.floor(signed.size / tileHashes ** level);
    const count = Math.min(tileHashes, inLevel - index * tileHashes);
    if (count <= 0 || tile.length < count * hashBytes) return null;
    if (below !== null && !isSameHash(hashAt(tile, below.index), below.root)) return null;
    leaves ??= tile.subarray(0, count * hashBytes);
    if (count < tileHashes) return leaves;
    below = { index, root: hashInTile(tile, 0, tileHeight) };
    index = Math.floor(index / tileHashes);
  }
}

/** The tiles that an append begins to write at: the last tile of each level. */
export function edgeOf(size: number): TilePlace[] {
  const places: TilePlace[] = [];
  for (let level = 0, entries = size; level === 0 || entries > 0; level++) {
    places.push({ level, position: Math.floor(entries / tileHashes) });
    entries = Math.floor(entries / tileHashes);
  }
  return places;
}

/**
 * Appends leaves to a tree.
 * @param size leaves that the tree has
 * @param edge the tiles of {@link edgeOf}, empty where a level has no such tile yet
 * @returns every tile that is new or has grown
 */
export function appendTo(
  size: number,
  edge: readonly Uint8Array[],
  leaves: readonly Uint8Array[],
): readonly Tile[] {
  const changed: Tile[] = [];
  let hashes = leaves;
  for (let level = 0, entries = size; hashes.length > 0; level++) {
    const roots: Uint8Array[] = [];
    let position = Math.floor(entries / tileHashes);
    let tile = (edge[level] ?? new Uint8Array()).subarray(0, (entries % tileHashes) * hashBytes);
    for (let at = 0; at < hashes.length; ) {
      const room = tileHashes - tile.length / hashBytes;
      tile = Buffer.concat([tile, ...hashes.slice(at, at + room)]);
      at += room;
      changed.push({ level, position, hashes: tile });
      if (tile.length < tileHashes * hashBytes) break;
      roots.push(hashInTile(tile, 0, tileHeight));
      position++;
      tile = new Uint8Array();
    }
    entries = Math.floor(entries / tileHashes);
    hashes = roots;
  }
  return changed;
}

/**
 * Computes roots of a tree to which one leaf after the other is added. Only the roots of its largest full subtrees are kept.
 * @param onTileRoot is called with each hash that a tile above the leaves has
 */
export function growTree(onTileRoot: (place: TilePlace, root: Uint8Array) => void) {
  const roots: Uint8Array[] = [];
  let size = 0;

  return {
    push(leaf: Uint8Array): void {
      let [root, height] = [leaf, 0];
      // Each bit of the size is a full subtree. A new leaf is joined with those whose bits carry.
      for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) {
        root = nodeHash(roots.pop() as Uint8Array, root);
        height++;
        if (height % tileHeight === 0)
          onTileRoot({ level: height / tileHeight, position: Math.floor(size / 2 ** height) }, root);
      }
      roots.push(root);
      size++;
    },
    /** The root over all leaves so far; undefined before the first. */
    root: (): Uint8Array | undefined =>
      roots.length === 0 ? undefined : roots.reduceRight((right, left) => nodeHash(left, right)),
  };
}
