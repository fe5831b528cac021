import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  isConsistencyProven,
  isSameHash,
  leafHashOfAttestation,
  rootOfInclusionProof,
  rootOfLeaves,
} from "../../src/partner/merkle-proof.ts";
import { leaf, mth } from "../fixtures/rfc6962.ts";

type Hash = Uint8Array<ArrayBuffer>;
const asHash = (hash: Buffer): Hash => new Uint8Array(hash);

/** The seven leaves of the example tree in RFC 6962, section 2.1.3. The names are those of its picture. */
const leaves = ["a", "b", "c", "d", "e", "f", "j"].map((text) => leaf(Buffer.from(text)));
const rootOf = (from: number, to: number) => asHash(mth(leaves.slice(from, to)));
const [a, b, c, d, e, f, j] = leaves.map(asHash) as [Hash, Hash, Hash, Hash, Hash, Hash, Hash];
const [g, h, i] = [rootOf(0, 2), rootOf(2, 4), rootOf(4, 6)];
const [k, l] = [rootOf(0, 4), rootOf(4, 7)];
const [root3, root6, root7] = [rootOf(0, 3), rootOf(0, 6), rootOf(0, 7)];

test.each<[name: string, leafHash: Hash, index: number, hashes: Hash[]]>([
  ["a", a, 0, [b, h, l]],
  ["d", d, 3, [c, g, l]],
  ["f", f, 5, [e, j, k]],
  ["j", j, 6, [i, k]],
])("RFC 6962's inclusion proof of the leaf %s leads to the root", async (_name, leafHash, index, hashes) => {
  expect(await rootOfInclusionProof({ leafHash, index, size: 7, hashes })).toEqual(root7);
});

test("an inclusion proof with a wrong index or number of hashes leads to no root", async () => {
  for (const [index, size, hashes] of [
    [7, 7, [b, h, l]],
    [-1, 7, [b, h, l]],
    [0, 0, []],
    [7, 7, [i, k]],
    [0, 1, [b]],
    [0, 2, []],
    [0, 2, [b, h, l]],
  ] as const)
    expect(await rootOfInclusionProof({ leafHash: a, index, size, hashes })).toBeNull();
  expect(await rootOfInclusionProof({ leafHash: a, index: 0, size: 1, hashes: [] })).toEqual(a);
});

test("an inclusion proof is verified in a tree of more than 2^32 leaves", async () => {
  const size = 2 ** 40;
  const hashes = Array.from({ length: 40 }, (_, level) => leaf(Buffer.from(String(level))));
  const root = hashes.reduce((node, hash) => mth([hash, node]), leaves[0] as Buffer);
  const found = await rootOfInclusionProof({
    leafHash: a,
    index: size - 1,
    size,
    hashes: hashes.map(asHash),
  });
  expect(found).toEqual(asHash(root));
});

test.each<[from: number, fromRoot: Hash, hashes: Hash[], isGood: boolean]>([
  [1, a, [b, h, l], true],
  [3, root3, [c, d, g, l], true],
  [3, root3, [d, g, l], false],
  [4, k, [], false],
  [4, k, [l], true],
  [6, root6, [i, j, k], true],
  [7, root7, [], true],
  [7, root6, [], false],
  [7, root7, [l], false],
  [0, root7, [], false],
  [8, root7, [], false],
])(
  "a consistency proof from a tree of %i leaves is accepted or refused as RFC 6962 says",
  async (from, fromRoot, hashes, isGood) => {
    expect(await isConsistencyProven({ from, to: 7, fromRoot, toRoot: root7, hashes })).toBe(isGood);
  },
);

test("the leaf of an attestation is computed from the attestation's whole JWS", async () => {
  const digest = createHash("sha256").update("a.b.c").digest();
  const entry = Buffer.concat([Buffer.from("tvs/v1/attestation\n"), digest]);
  expect(await leafHashOfAttestation("a.b.c")).toEqual(asHash(leaf(entry)));
});

test("a consistency proof from a larger to a smaller tree is refused, even if its roots match", async () => {
  const around = (inner: Buffer) =>
    asHash(leaves.slice(2, 5).reduce((node, left) => mth([left, node]), inner));
  const [smaller, larger] = [leaves[0] as Buffer, mth(leaves.slice(0, 2))];
  const proof = { fromRoot: around(smaller), toRoot: around(larger), hashes: [a, b, c, d, e] };
  expect(await isConsistencyProven({ from: 8, to: 7, ...proof })).toBe(false);
});

test("rootOfLeaves computes the roots of RFC 6962", async () => {
  for (let size = 0; size <= leaves.length; size++) {
    const some = leaves.slice(0, size);
    expect(await rootOfLeaves(some.map(asHash))).toEqual(asHash(mth(some)));
  }
});

test("isSameHash compares all bytes of two hashes", () => {
  expect([a, a.subarray(0, 31), b].map((other) => isSameHash(other, a))).toEqual([true, false, false]);
});
