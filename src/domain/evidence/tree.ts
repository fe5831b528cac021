/**
 * The Merkle tree of the evidence log (RFC 6962, 2.1), kept in tiles: 256 hashes of one level each. A proof reads a few
 * tiles whatever the length of the log, and what is appended changes only the last one of each level (decision D13.1).
 */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { isSameHash } from "../../partner/merkle-proof.ts";

/** Of a SHA-256. */
export const hashBytes = 32;
/** Levels of the tree between a tile and the tile above it. */
const tileHeight = 8;
export const tileHashes = 2 ** tileHeight;

/** Where a tile stands: its level, counted from the leaves, and its place in that level. */
export type TilePlace = { readonly level: number; readonly position: number };
export type Tile = TilePlace & { readonly hashes: Uint8Array };
/** Reads tiles, in the order in which they are asked for; what a tile does not have yet is left out at its end. */
export type ReadTiles = (places: readonly TilePlace[]) => Promise<readonly Uint8Array[]>;

/** Leaves from `start` to before `end`. */
type Range = { readonly start: number; readonly end: number };
/** The subtree over the 2^height leaves from position × 2^height on. */
type Subtree = { readonly height: number; readonly position: number };

function sha256(bytes: string | Uint8Array): Uint8Array {
  return hash("sha256", bytes, "buffer");
}

/** What leaves and nodes are hashed of is written into the same memory each time: there are millions. */
const attestationLeaf = Buffer.from(`\0tvs/v1/attestation\n${"-".repeat(hashBytes)}`);
const missingLeaf = Buffer.from(`\0tvs/v1/missing\n${"-".repeat(hashBytes)}`);
const node = Buffer.alloc(1 + 2 * hashBytes, 1);

function hashOfLeaf(leaf: Buffer, text: string): Uint8Array {
  leaf.set(sha256(text), leaf.length - hashBytes);
  return sha256(leaf);
}

/** The hash of an attestation's leaf. @param jws the compact JWS that was answered */
export function leafHash(jws: string): Uint8Array {
  return hashOfLeaf(attestationLeaf, jws);
}

/** The hash of the leaf in the place of an attestation that was taken out before it had one. @param id its id */
export function missingLeafHash(id: number): Uint8Array {
  return hashOfLeaf(missingLeaf, String(id));
}

function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  node.set(left, 1);
  node.set(right, 1 + hashBytes);
  return sha256(node);
}

/** The largest power of two that is less than a number of leaves, at least two. */
function splitOf(leaves: number): number {
  let split = 1;
  while (split * 2 < leaves) split *= 2;
  return split;
}

/** The way from the root down to a leaf, until it is `reached`: what stands beside it at each fork, the lowest first. */
function waysPast(leaf: number, size: number, isReached: (part: Range) => boolean) {
  const beside: Range[] = [];
  let [start, end] = [0, size];
  while (!isReached({ start, end })) {
    const middle = start + splitOf(end - start);
    if (leaf < middle) {
      beside.unshift({ start: middle, end });
      end = middle;
    } else {
      beside.unshift({ start, end: middle });
      start = middle;
    }
  }
  return { beside, reached: { start, end } };
}

/** What an audit path consists of, from a leaf or from a whole subtree upwards (RFC 6962, 2.1.1). */
function inclusionRanges(of: Range, size: number): Range[] {
  return waysPast(of.start, size, ({ start, end }) => end - start <= of.end - of.start).beside;
}

/** What a consistency proof consists of (RFC 6962, 2.1.2); nothing for a tree with itself. */
function consistencyRanges(from: number, to: number): Range[] {
  const { beside, reached } = waysPast(from - 1, to, ({ end }) => end === from);
  return reached.start > 0 ? [reached, ...beside] : beside;
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

/** The hash that a tile has or makes: of 2^height of its hashes, from `offset` on. */
function hashInTile(tile: Uint8Array, offset: number, height: number): Uint8Array {
  if (height === 0) {
    const found = tile.subarray(offset * hashBytes, (offset + 1) * hashBytes);
    if (found.length !== hashBytes) throw new RangeError("the tile has no such hash");
    return found;
  }
  const half = 2 ** (height - 1);
  return nodeHash(hashInTile(tile, offset, height - 1), hashInTile(tile, offset + half, height - 1));
}

/** The root over the leaves of one tile, of which it may have fewer than all. */
function rootInTile(leaves: Uint8Array): Uint8Array {
  return subtreesOf({ start: 0, end: leaves.length / hashBytes })
    .map(({ height, position }) => hashInTile(leaves, position * 2 ** height, height))
    .reduceRight((right, left) => nodeHash(left, right));
}

/** Where a subtree's hash is found. */
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

/** The hash of each range; all tiles are asked for at once. */
async function hashesOf(ranges: readonly Range[], read: ReadTiles): Promise<Uint8Array[]> {
  const places = ranges.map((range) => subtreesOf(range).map(placeOf));
  const wanted = new Map(
    places.flat().map(({ level, position }) => [`${level} ${position}`, { level, position }]),
  );
  const tiles = await read([...wanted.values()]);
  const tileOf = new Map([...wanted.keys()].map((key, at) => [key, tiles[at] ?? new Uint8Array()]));
  return places.map((parts) =>
    parts
      .map(({ level, position, offset, within }) =>
        hashInTile(tileOf.get(`${level} ${position}`) ?? new Uint8Array(), offset, within),
      )
      .reduceRight((right, left) => nodeHash(left, right)),
  );
}

/** The root over the first `size` leaves; of none it is the hash of nothing. */
export async function rootOf(size: number, read: ReadTiles): Promise<Uint8Array> {
  if (size === 0) return sha256(new Uint8Array());
  const [root] = await hashesOf([{ start: 0, end: size }], read);
  return root as Uint8Array;
}

/**
 * The audit path of a leaf, from its sibling upwards (RFC 6962, 2.1.1).
 * @param index of the leaf, below `size`
 * @param size of the tree, which may have grown since
 */
export function inclusionProof(index: number, size: number, read: ReadTiles): Promise<Uint8Array[]> {
  return hashesOf(inclusionRanges({ start: index, end: index + 1 }, size), read);
}

/** A tree as it was signed for. */
type SignedTree = { readonly size: number; readonly root: Uint8Array };

/**
 * The hashes of a tile of leaves, as far as a signed tree has them, if they lead to its root: then they are its leaves,
 * whoever has written to the tiles.
 * @returns null when they do not
 */
export async function provenLeaves(
  position: number,
  { size, root }: SignedTree,
  read: ReadTiles,
): Promise<Uint8Array | null> {
  const start = position * tileHashes;
  const end = Math.min(size, start + tileHashes);
  const [tile = new Uint8Array()] = await read([{ level: 0, position }]);
  const leaves = tile.subarray(0, Math.max(0, end - start) * hashBytes);
  if (leaves.length === 0 || leaves.length < (end - start) * hashBytes) return null;
  try {
    let found = rootInTile(leaves);
    const path = inclusionRanges({ start, end }, size);
    for (const [at, beside] of (await hashesOf(path, read)).entries())
      found = (path[at]?.start ?? 0) < start ? nodeHash(beside, found) : nodeHash(found, beside);
    return isSameHash(found, root) ? leaves : null;
  } catch (error) {
    // The log has lost a tile that the path goes through.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The proof that a tree begins with an earlier one (RFC 6962, 2.1.2). @param from at least 1, and at most `to` */
export function consistencyProof(from: number, to: number, read: ReadTiles): Promise<Uint8Array[]> {
  return hashesOf(consistencyRanges(from, to), read);
}

/** The hash of one leaf. */
export async function leafAt(index: number, read: ReadTiles): Promise<Uint8Array> {
  const [leaf] = await hashesOf([{ start: index, end: index + 1 }], read);
  return leaf as Uint8Array;
}

/** The tiles that what is appended goes into: the last one of each level that may still have room. */
export function edgeOf(size: number): TilePlace[] {
  const places: TilePlace[] = [];
  for (let level = 0, entries = size; level === 0 || entries > 0; level++) {
    places.push({ level, position: Math.floor(entries / tileHashes) });
    entries = Math.floor(entries / tileHashes);
  }
  return places;
}

/**
 * Appends leaves.
 * @param size how many there are
 * @param edge the tiles of {@link edgeOf}; a level that has none yet has an empty one
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

/** A root of a complete part, which stands in a tile above the leaves'. */
export type TileRoot = { readonly level: number; readonly position: number; readonly root: Uint8Array };

/**
 * A tree that grows to the right, of which only the roots of its largest complete parts are kept.
 * @param onTileRoot told of the roots that tiles above the leaves hold
 */
export function growTree(onTileRoot: (found: TileRoot) => void) {
  const roots: Uint8Array[] = [];
  let size = 0;

  return {
    /** @param leaf its hash */
    push(leaf: Uint8Array): void {
      let root = leaf;
      let height = 0;
      // Each bit of the size is a complete part; adding one carries through those that are full.
      for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) {
        root = nodeHash(roots.pop() as Uint8Array, root);
        height++;
        if (height % tileHeight === 0)
          onTileRoot({ level: height / tileHeight, position: Math.floor(size / 2 ** height), root });
      }
      roots.push(root);
      size++;
    },
    /** @returns the root over what was pushed; undefined of nothing */
    root: (): Uint8Array | undefined =>
      roots.length === 0 ? undefined : roots.reduceRight((right, left) => nodeHash(left, right)),
  };
}
