/**
 * Proofs in a Merkle tree of RFC 6962 (section 2.1): that an entry is in it, and that one tree grew out of another. The
 * steps are those of RFC 9162, sections 2.1.3.2 and 2.1.4.2, which spell them out.
 *
 * Sizes go up to 2^53, so no bit operation of JavaScript may touch them.
 */

import { concatenated } from "./bytes.ts";

type Hash = Uint8Array<ArrayBuffer>;

export type InclusionProof = {
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
 *
 * @param jws the compact JWS, exactly as it was answered
 */
export async function attestationLeafHash(jws: string): Promise<Hash> {
  return sha256(leafPrefix, attestationPrefix, await sha256(new TextEncoder().encode(jws)));
}

/**
 * Whether two hashes are the same. Nothing in a public tree is secret, so it may take what time it takes.
 *
 * @param one 32 bytes
 * @param other 32 bytes
 */
export function isSameHash(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

function half(number: number): number {
  return Math.floor(number / 2);
}

function isOdd(number: number): boolean {
  return number % 2 === 1;
}

/** The way from a node up to the root: its place, and that of the last node on the same level. */
type Climb = { place: number; last: number };

/** Goes past the levels on which the node, the last one there, has no sibling and is its own parent. */
function skipUnpaired(climb: Climb): void {
  while (!isOdd(climb.place) && climb.place !== 0) {
    climb.place = half(climb.place);
    climb.last = half(climb.last);
  }
}

/** Whether the next hash of a proof stands to the left; the climb goes on to the parent. */
function stepUp(climb: Climb): boolean {
  const isLeft = isOdd(climb.place) || climb.place === climb.last;
  if (isLeft) skipUnpaired(climb);
  climb.place = half(climb.place);
  climb.last = half(climb.last);
  return isLeft;
}

/**
 * The root that an inclusion proof leads to (RFC 9162 section 2.1.3.2). The leaf is in the tree when this is its root.
 *
 * @param proof the leaf, its place, the tree's size, and the hashes
 * @returns the root, or null when there is no such place, or the proof has too few or too many hashes
 */
export async function rootOfInclusion({
  leafHash,
  index,
  size,
  hashes,
}: InclusionProof): Promise<Hash | null> {
  if (index < 0 || index >= size) return null;
  const climb = { place: index, last: size - 1 };
  let root = leafHash;
  for (const hash of hashes) {
    if (climb.last === 0) return null;
    root = await (stepUp(climb) ? nodeHash(hash, root) : nodeHash(root, hash));
  }
  return climb.last === 0 ? root : null;
}

/** From where the smaller tree's last full subtree climbs. */
function climbOfConsistency(from: number, to: number): Climb {
  const climb = { place: from - 1, last: to - 1 };
  while (isOdd(climb.place)) {
    climb.place = half(climb.place);
    climb.last = half(climb.last);
  }
  return climb;
}

/** A smaller tree that is one full subtree of the larger is not repeated in the proof. */
function isPowerOfTwo(size: number): boolean {
  return Number.isInteger(Math.log2(size)) && 2 ** Math.log2(size) === size;
}

/**
 * Whether one tree grew out of another: every leaf of the smaller is at the same place in the larger (RFC 9162 section
 * 2.1.4.2). Trees of the same size are the same tree, with a proof of no hashes.
 *
 * @param proof both sizes and roots, and the hashes
 */
export async function isConsistent({
  from,
  to,
  fromRoot,
  toRoot,
  hashes,
}: ConsistencyProof): Promise<boolean> {
  if (from < 1 || from > to) return false;
  if (from === to) return hashes.length === 0 && isSameHash(fromRoot, toRoot);
  const [first, ...rest] = isPowerOfTwo(from) ? [fromRoot, ...hashes] : hashes;
  if (first === undefined || hashes.length === 0) return false;
  const climb = climbOfConsistency(from, to);
  let [smaller, larger] = [first, first];
  for (const hash of rest) {
    if (climb.last === 0) return false;
    if (stepUp(climb)) {
      smaller = await nodeHash(hash, smaller);
      larger = await nodeHash(hash, larger);
    } else larger = await nodeHash(larger, hash);
  }
  return climb.last === 0 && isSameHash(smaller, fromRoot) && isSameHash(larger, toRoot);
}
