/**
 * Verifies proofs in a Merkle tree (RFC 6962 section 2.1). An inclusion proof shows that a tree has a leaf, a consistency
 * proof that a tree begins with an older tree. A proof is read from its end: the last hash belongs to a child of the root.
 * Sizes go up to 2^53, so JavaScript's 32-bit operations are not used on sizes.
 */

import { concatenateBytes } from "./bytes.ts";

type Hash = Uint8Array<ArrayBuffer>;

type InclusionProof = {
  readonly leafHash: Hash;
  /** The leaf's index, from 0. */
  readonly index: number;
  /** The number of leaves in the tree. */
  readonly size: number;
  /** The hashes from the leaf's sibling up to the root's child. */
  readonly hashes: readonly Uint8Array[];
};

type ConsistencyProof = {
  /** The smaller tree's number of leaves, at least 1. */
  readonly from: number;
  /** The larger tree's number of leaves. */
  readonly to: number;
  readonly fromRoot: Hash;
  readonly toRoot: Hash;
  readonly hashes: readonly Hash[];
};

async function sha256(...parts: readonly Uint8Array[]): Promise<Hash> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", concatenateBytes(parts)));
}

const leafPrefix = Uint8Array.of(0);
const nodePrefix = Uint8Array.of(1);
const attestationPrefix = new TextEncoder().encode("tvs/v1/attestation\n");

function nodeHash(left: Uint8Array, right: Uint8Array): Promise<Hash> {
  return sha256(nodePrefix, left, right);
}

/** Hashes the leaf of an attestation (decision D13.1): a fixed line, then the SHA-256 of the compact JWS. */
export async function leafHashOfAttestation(jws: string): Promise<Hash> {
  return hashOfLeaf(attestationPrefix, await sha256(new TextEncoder().encode(jws)));
}

/** Compares two hashes. Hashes of a public tree are no secret, so the comparison need not take constant time. */
export function isSameHash(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

/** Counts the leaves below the root's left child: the largest power of two below `size`. */
function leftOf(size: number): number {
  let left = 1;
  while (left * 2 < size) left *= 2;
  return left;
}

/**
 * Computes the root from a leaf and its inclusion proof (RFC 6962 section 2.1.1). A tree with this root contains the leaf.
 * @returns null if the index is outside the tree, or the proof has too few or too many hashes
 */
export async function rootOfInclusionProof(proof: InclusionProof): Promise<Hash | null> {
  const { leafHash, index, size, hashes } = proof;
  if (index < 0 || index >= size) return null;
  const sibling = hashes.at(-1);
  if (size === 1 || sibling === undefined) return size === 1 && sibling === undefined ? leafHash : null;
  const left = leftOf(size);
  const isLeft = index < left;
  const half = { index: isLeft ? index : index - left, size: isLeft ? left : size - left };
  const root = await rootOfInclusionProof({ leafHash, ...half, hashes: hashes.slice(0, -1) });
  if (root === null) return null;
  return isLeft ? nodeHash(root, sibling) : nodeHash(sibling, root);
}

/** Computes the root of a tree from the hashes of its leaves (RFC 6962 section 2.1). */
export async function rootOfLeaves(leaves: readonly Hash[]): Promise<Hash> {
  const [only] = leaves;
  if (leaves.length <= 1) return only ?? sha256();
  const left = leftOf(leaves.length);
  const halves = [leaves.slice(0, left), leaves.slice(left)].map(rootOfLeaves);
  return nodeHash(...((await Promise.all(halves)) as [Hash, Hash]));
}

/** Hashes a leaf, whose content is given in parts (RFC 6962 section 2.1). */
export function hashOfLeaf(...entry: readonly Uint8Array[]): Promise<Hash> {
  return sha256(leafPrefix, ...entry);
}

type Roots = { readonly smaller: Hash; readonly larger: Hash };

/**
 * Computes the roots of both trees from their consistency proof (RFC 6962 section 2.1.2).
 * @param known the smaller tree's root, which the proof omits; null in a right subtree, where the proof has the root
 * @returns null if the proof has too few or too many hashes
 */
async function rootsOf(
  { from, to, hashes }: Pick<ConsistencyProof, "from" | "to" | "hashes">,
  known: Hash | null,
): Promise<Roots | null> {
  const other = hashes.at(-1);
  if (from === to) {
    const root = known ?? other;
    const isUsedUp = hashes.length === (known === null ? 1 : 0);
    return root !== undefined && isUsedUp ? { smaller: root, larger: root } : null;
  }
  if (other === undefined) return null;
  const [left, rest] = [leftOf(to), hashes.slice(0, -1)];
  const isLeft = from <= left;
  const half = isLeft ? { from, to: left } : { from: from - left, to: to - left };
  const roots = await rootsOf({ ...half, hashes: rest }, isLeft ? known : null);
  if (roots === null) return null;
  return isLeft
    ? { smaller: roots.smaller, larger: await nodeHash(roots.larger, other) }
    : { smaller: await nodeHash(other, roots.smaller), larger: await nodeHash(other, roots.larger) };
}

/**
 * Checks that the larger tree begins with all leaves of the smaller tree (RFC 6962 section 2.1.2). Trees of the same size
 * are consistent if their roots are equal and the proof has no hashes.
 */
export async function isConsistencyProven(proof: ConsistencyProof): Promise<boolean> {
  const { from, to, fromRoot, toRoot } = proof;
  if (from < 1 || from > to) return false;
  const roots = await rootsOf(proof, fromRoot);
  return roots !== null && isSameHash(roots.smaller, fromRoot) && isSameHash(roots.larger, toRoot);
}
