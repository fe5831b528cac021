/** What an audit builds a tree with: leaf by leaf, with the root at any size on the way (RFC 6962, 2.1). */

import { nodeHash, tileHeight } from "./tree.ts";

/** A tree that grows to the right, of which only the roots of its largest complete parts are kept. */
export type GrowingTree = {
  /** @param leaf its hash */
  push(leaf: Uint8Array): void;
  size(): number;
  /** @returns the root over what was pushed; undefined of nothing */
  root(): Uint8Array | undefined;
  /** Another tree with the same leaves, which grows by itself. */
  copy(onTileRoot?: OnTileRoot): GrowingTree;
};

/** Told of each root of a complete part that stands in a tile above the leaves'. */
export type OnTileRoot = (level: number, position: number, root: Uint8Array) => void;

/**
 * @param onTileRoot told of the roots that tiles above the leaves hold
 * @param parts roots of the complete parts of what is there already, the largest first, and how many leaves they have
 */
export function growTree(
  onTileRoot: OnTileRoot = () => {},
  parts: { readonly roots: readonly Uint8Array[]; readonly size: number } = { roots: [], size: 0 },
): GrowingTree {
  const roots = [...parts.roots];
  let size = parts.size;

  return {
    push(leaf) {
      let root = leaf;
      let height = 0;
      // Each bit of the size is a complete part; adding one carries through those that are full.
      for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) {
        root = nodeHash(roots.pop() as Uint8Array, root);
        height++;
        if (height % tileHeight === 0) onTileRoot(height / tileHeight, Math.floor(size / 2 ** height), root);
      }
      roots.push(root);
      size++;
    },
    size: () => size,
    root: () => (roots.length === 0 ? undefined : roots.reduceRight((right, left) => nodeHash(left, right))),
    copy: (onTileRootOfCopy) => growTree(onTileRootOfCopy, { roots, size }),
  };
}
