import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { attestationLeafHash, isConsistent, rootOfInclusion } from "../../src/partner/merkle-proof.ts";

type Hash = Uint8Array<ArrayBuffer>;

function sha256(...parts: readonly (string | Uint8Array)[]): Hash {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return new Uint8Array(hash.digest());
}

function node(left: Hash, right: Hash): Hash {
  return sha256(Uint8Array.of(1), left, right);
}

/** The seven leaves of RFC 6962, section 2.1.3, with the names of its picture. */
const [a, b, c, d, e, f, j] = ["a", "b", "c", "d", "e", "f", "j"].map((text) =>
  sha256(Uint8Array.of(0), text),
) as [Hash, Hash, Hash, Hash, Hash, Hash, Hash];
const [g, h, i] = [node(a, b), node(c, d), node(e, f)];
const [k, l] = [node(g, h), node(i, j)];
const root7 = node(k, l);
const root3 = node(g, c);
const root6 = node(k, i);

async function isIncluded(leafHash: Hash, index: number, size: number, hashes: Hash[]) {
  const root = await rootOfInclusion({ leafHash, index, size, hashes });
  return root !== null && Buffer.from(root).equals(root7);
}

describe("an inclusion proof", () => {
  test("of the examples of RFC 6962 leads to the root", async () => {
    expect(await isIncluded(a, 0, 7, [b, h, l])).toBe(true);
    expect(await isIncluded(d, 3, 7, [c, g, l])).toBe(true);
    expect(await isIncluded(f, 5, 7, [e, j, k])).toBe(true);
    expect(await isIncluded(j, 6, 7, [i, k])).toBe(true);
  });

  test("of another place, leaf, size or length does not", async () => {
    expect(await isIncluded(a, 1, 7, [b, h, l])).toBe(false);
    expect(await isIncluded(b, 0, 7, [b, h, l])).toBe(false);
    expect(await isIncluded(a, 0, 7, [b, h])).toBe(false);
    expect(await isIncluded(a, 0, 7, [b, h, l, l])).toBe(false);
    expect(await isIncluded(a, 0, 2, [b, h, l])).toBe(false);
    expect(await isIncluded(a, 7, 7, [b, h, l])).toBe(false);
    expect(await isIncluded(a, -1, 7, [b, h, l])).toBe(false);
    expect(await isIncluded(a, 0, 0, [])).toBe(false);
  });

  test("of a tree of one leaf has no hashes", async () => {
    expect(await rootOfInclusion({ leafHash: a, index: 0, size: 1, hashes: [] })).toEqual(a);
    expect(await rootOfInclusion({ leafHash: a, index: 0, size: 1, hashes: [b] })).toBeNull();
  });

  test("reaches beyond 2^32 leaves", async () => {
    const size = 2 ** 40;
    const hashes = Array.from({ length: 40 }, (_, level) => sha256(String(level)));
    let expected = a;
    for (const hash of hashes) expected = node(hash, expected);
    expect(await rootOfInclusion({ leafHash: a, index: size - 1, size, hashes })).toEqual(expected);
  });
});

describe("a consistency proof", () => {
  const grown = (from: number, fromRoot: Hash, hashes: Hash[], to = 7, toRoot = root7) =>
    isConsistent({ from, to, fromRoot, toRoot, hashes });

  test("of the examples of RFC 6962 is good", async () => {
    expect(await grown(3, root3, [c, d, g, l])).toBe(true);
    expect(await grown(4, k, [l])).toBe(true);
    expect(await grown(6, root6, [i, j, k])).toBe(true);
    expect(await grown(7, root7, [])).toBe(true);
  });

  test("of other trees, or with other hashes, is not", async () => {
    expect(await grown(3, root6, [c, d, g, l])).toBe(false);
    expect(await grown(3, root3, [c, d, g])).toBe(false);
    expect(await grown(3, root3, [c, d, g, l, l])).toBe(false);
    expect(await grown(3, root3, [d, d, g, l])).toBe(false);
    expect(await grown(3, root3, [c, c, g, l])).toBe(false);
    expect(await grown(4, g, [l])).toBe(false);
    expect(await grown(4, k, [])).toBe(false);
    expect(await grown(3, root3, [])).toBe(false);
    expect(await grown(7, root6, [])).toBe(false);
    expect(await grown(7, root7, [l])).toBe(false);
    expect(await grown(0, root7, [])).toBe(false);
    expect(await grown(8, root7, [])).toBe(false);
  });
});

test("an attestation's leaf is made of the bytes of its signature", async () => {
  const entry = Buffer.concat([Buffer.from("tvs/v1/attestation\n"), sha256("a.b.c")]);
  expect(await attestationLeafHash("a.b.c")).toEqual(sha256(Uint8Array.of(0), entry));
});
