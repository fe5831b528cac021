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
import { mth, path, proof } from "../../fixtures/rfc6962.ts";

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
        expect(hex([await leafAt(index, read)])).toEqual(hex([leaves[index] as Buffer]));
        expect(hex(await inclusionProof(index, n, read))).toEqual(hex(path(index, d)));
      }
      for (const from of sizes.filter((m) => m <= n))
        expect(hex(await consistencyProof(from, n, read))).toEqual(hex(proof(from, d)));
    }
  });

  test("has the hash of nothing for a root before its first leaf", async () => {
    const { read } = await grown([]);
    expect(hex([await rootOf(0, read)])).toEqual(hex([mth([])]));
  });
});
