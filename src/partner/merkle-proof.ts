/**
 * Proofs in a Merkle tree of RFC 6962 (section 2.1): that an entry is in it, and that one tree grew out of another. Each
 * is checked as the RFC defines how it is made, read backwards: the last hash is that of the root's other half.
 *
 * Sizes go up to 2^53, so no bit operation of JavaScript may touch them.
 */

import { concatenated } from "./bytes.ts";

type Hash = Uint8Array<ArrayBuffer>;

type InclusionProof = {
  /** The hash of the leaf. */
  readonly leafHash: Hash;
  /** Where the leaf is, from 0. */
  readonly index: number;
  /** The number of leaves. */
  readonly size: number;
  /** From the leaf's sibling up to the root's child. */
  readonly hashes: readonly Hash[];
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
  return new Uint8Array(await crypto.subtle.digest("SHA-256", concatenated(parts)));
}

const leafPrefix = Uint8Array.of(0);
const nodePrefix = Uint8Array.of(1);
const attestationPrefix = new TextEncoder().encode("tvs/v1/attestation\n");

function nodeHash(left: Uint8Array, right: Uint8Array): Promise<Hash> {
  return sha256(nodePrefix, left, right);
}

/**
 * The leaf hash of an attestation (decision D13.1): its entry is a fixed line and the SHA-256 of the compact JWS.
 * @param jws the compact JWS, exactly as it was answered
 */
export async function attestationLeafHash(jws: string): Promise<Hash> {
  return hashOfLeaf(attestationPrefix, await sha256(new TextEncoder().encode(jws)));
}

/**
 * Whether two hashes are the same. Nothing in a public tree is secret, so it may take what time it takes.
 * @param one 32 bytes
 * @param other 32 bytes
 */
export function isSameHash(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

/** Of so many leaves, how many lie left of the root: the largest power of two that is less. */
function leftOf(size: number): number {
  let left = 1;
  while (left * 2 < size) left *= 2;
  return left;
}

/**
 * The root that an inclusion proof leads to (RFC 6962 section 2.1.1). The leaf is in the tree when this is its root.
 * @param proof the leaf, its place, the tree's size, and the hashes
 * @returns the root, or null when there is no such place, or the proof has too few or too many hashes
 */
export async function rootOfInclusion(proof: InclusionProof): Promise<Hash | null> {
  const { leafHash, index, size, hashes } = proof;
  if (index < 0 || index >= size) return null;
  const sibling = hashes.at(-1);
  if (size === 1 || sibling === undefined) return size === 1 && sibling === undefined ? leafHash : null;
  const left = leftOf(size);
  const isLeft = index < left;
  const half = { index: isLeft ? index : index - left, size: isLeft ? left : size - left };
  const root = await rootOfInclusion({ leafHash, ...half, hashes: hashes.slice(0, -1) });
  if (root === null) return null;
  return isLeft ? nodeHash(root, sibling) : nodeHash(sibling, root);
}

/**
 * The root of the tree over some leaves (RFC 6962 section 2.1).
 * @param leaves their hashes; of none it is the hash of nothing
 */
export async function rootOfLeaves(leaves: readonly Hash[]): Promise<Hash> {
  const [only] = leaves;
  if (leaves.length <= 1) return only ?? sha256();
  const left = leftOf(leaves.length);
  const halves = [leaves.slice(0, left), leaves.slice(left)].map(rootOfLeaves);
  return nodeHash(...((await Promise.all(halves)) as [Hash, Hash]));
}

/**
 * The hash of a leaf (RFC 6962 section 2.1).
 * @param entry what the leaf is made of, in parts
 */
export function hashOfLeaf(...entry: readonly Uint8Array[]): Promise<Hash> {
  return sha256(leafPrefix, ...entry);
}

type Roots = { readonly smaller: Hash; readonly larger: Hash };

/**
 * The roots of both trees (RFC 6962 section 2.1.2).
 * @param known the smaller tree's root, as long as that begins where this part of the larger does: it is not in the proof
 * @returns null when the proof has too few or too many hashes
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
 * Whether one tree grew out of another: every leaf of the smaller is at the same place in the larger. Trees of the same
 * size are the same tree, with a proof of no hashes.
 * @param proof both sizes and roots, and the hashes
 */
export async function isConsistent(proof: ConsistencyProof): Promise<boolean> {
  const { from, to, fromRoot, toRoot } = proof;
  if (from < 1 || from > to) return false;
  const roots = await rootsOf(proof, fromRoot);
  return roots !== null && isSameHash(roots.smaller, fromRoot) && isSameHash(roots.larger, toRoot);
}
