import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  appendTo,
  consistencyProof,
  edgeOf,
  inclusionProof,
  leafAt,
  type ReadTiles,
  rootOf,
  type Tile,
} from "../../../src/domain/evidence/tree.ts";

/** RFC 6962, 2.1, word for word, over leaf hashes. */
function node(left: Uint8Array, right: Uint8Array): Uint8Array {
  return createHash("sha256").update(Uint8Array.of(1)).update(left).update(right).digest();
}
function split(n: number): number {
  return n <= 2 ? 1 : 2 ** Math.ceil(Math.log2(n) - 1);
}
function mth(d: readonly Uint8Array[]): Uint8Array {
  if (d.length === 0) return createHash("sha256").digest();
  const k = split(d.length);
  return d.length === 1 ? (d[0] as Uint8Array) : node(mth(d.slice(0, k)), mth(d.slice(k)));
}
function path(m: number, d: readonly Uint8Array[]): Uint8Array[] {
  if (d.length <= 1) return [];
  const k = split(d.length);
  return m < k
    ? [...path(m, d.slice(0, k)), mth(d.slice(k))]
    : [...path(m - k, d.slice(k)), mth(d.slice(0, k))];
}
function subproof(m: number, d: readonly Uint8Array[], whole: boolean): Uint8Array[] {
  if (m === d.length) return whole ? [] : [mth(d)];
  const k = split(d.length);
  return m <= k
    ? [...subproof(m, d.slice(0, k), whole), mth(d.slice(k))]
    : [...subproof(m - k, d.slice(k), false), mth(d.slice(0, k))];
}

const leaves = Array.from({ length: 1500 }, (_, n) => createHash("sha256").update(`leaf ${n}`).digest());

/** A tree in memory, grown in the given steps. */
async function grown(steps: readonly number[]): Promise<{ size: number; read: ReadTiles }> {
  const tiles = new Map<string, Uint8Array>();
  const read: ReadTiles = async (places) =>
    places.map(({ level, position }) => tiles.get(`${level} ${position}`) ?? new Uint8Array());
  let size = 0;
  for (const step of steps) {
    const changed: readonly Tile[] = appendTo(
      size,
      await read(edgeOf(size)),
      leaves.slice(size, size + step),
    );
    for (const { level, position, hashes } of changed) tiles.set(`${level} ${position}`, hashes);
    size += step;
  }
  return { size, read };
}

const hex = (hashes: readonly Uint8Array[]) => hashes.map((one) => Buffer.from(one).toString("hex"));

describe("the tree in tiles", () => {
  test.each([
    [[1, 1, 1, 1, 1, 3]],
    [[255, 1, 1, 255, 1]],
    [[256, 256, 1]],
    [[512, 512, 400]],
    [[3, 700, 2, 500]],
  ])("has the roots and proofs of RFC 6962 when it is grown by %p", async (steps) => {
    const { size, read } = await grown(steps);
    const sizes = [1, 2, 3, 5, 128, 255, 256, 257, 511, 512, 513, 700, 1023, 1024, size].filter(
      (n) => n <= size,
    );
    for (const n of sizes) {
      const d = leaves.slice(0, n);
      expect(hex([await rootOf(n, read)])).toEqual(hex([mth(d)]));
      for (const index of [0, 1, 2, 127, 255, 256, 511, 512, n - 1].filter((at) => at < n)) {
        expect(hex([await leafAt(index, read)])).toEqual(hex([leaves[index] as Uint8Array]));
        expect(hex(await inclusionProof(index, n, read))).toEqual(hex(path(index, d)));
      }
      for (const from of sizes.filter((m) => m <= n))
        expect(hex(await consistencyProof(from, n, read))).toEqual(hex(subproof(from, d, true)));
    }
  });

  test("has the hash of nothing for a root before its first leaf", async () => {
    const { read } = await grown([]);
    expect(hex([await rootOf(0, read)])).toEqual(hex([mth([])]));
  });
});
