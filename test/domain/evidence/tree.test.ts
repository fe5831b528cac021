import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  appendToTree,
  computeRoot,
  createRootBuilder,
  hasRoot,
  leafHashOf,
  leafHashOfMissing,
  makeConsistencyProof,
  makeInclusionProof,
  readLeafHash,
  readProvenLeaves,
  type Tile,
  type TileAddress,
  type TileReader,
} from "../../../src/domain/evidence/tree.ts";
import { leaf, mth, path, proof } from "../../fixtures/rfc6962.ts";
import { catchError } from "../../harness/rejection.ts";

const leaves = Array.from({ length: 1500 }, (_, n) => createHash("sha256").update(`leaf ${n}`).digest());

/** Grows a tree in memory. Each step appends the given number of leaves. */
async function grown(steps: readonly number[]): Promise<{ size: number; read: TileReader }> {
  const tiles = new Map<string, Uint8Array>();
  const read: TileReader = async (places) =>
    places.map(({ level, position }) => tiles.get(`${level} ${position}`) ?? new Uint8Array());
  let size = 0;
  for (const step of steps) {
    const changed: readonly Tile[] = await appendToTree(size, leaves.slice(size, size + step), read);
    for (const { level, position, hashes } of changed) tiles.set(`${level} ${position}`, hashes);
    size += step;
  }
  return { size, read };
}

const hex = (hashes: readonly Uint8Array[]) => hashes.map((one) => Buffer.from(one).toString("hex"));

// biome-ignore format: a table reads better in rows
test.each([
  [[1, 1, 1, 1, 1, 3]], [[255, 1, 1, 255, 1]], [[256, 256, 1]], [[512, 512, 400]], [[3, 700, 2, 500]],
])("a tree that grows in steps of %p has the roots and proofs of RFC 6962", async (steps) => {
  const { size, read } = await grown(steps);
  const sizes = [1, 2, 3, 5, 128, 255, 256, 257, 511, 512, 513, 700, 1023, 1024, size].filter(
    (n) => n <= size,
  );
  for (const n of sizes) {
    const d = leaves.slice(0, n);
    expect(hex([await computeRoot(n, read)])).toEqual(hex([mth(d)]));
    for (const index of [0, 1, 2, 127, 255, 256, 511, 512, n - 1].filter((at) => at < n)) {
      expect(hex([(await readLeafHash(index, read)) ?? new Uint8Array()])).toEqual(hex([leaves[index] as Buffer]));
      expect(hex(await makeInclusionProof(index, n, read))).toEqual(hex(path(index, d)));
    }
    for (const from of sizes.filter((m) => m <= n))
      expect(hex(await makeConsistencyProof(from, n, read))).toEqual(hex(proof(from, d)));
  }
});

test("an empty tree's root is the hash of an empty text, and a tree of n leaves has no leaf with index n", async () => {
  const [{ read: empty }, { read }] = [await grown([]), await grown([3])];
  expect(hex([await computeRoot(0, empty)])).toEqual(hex([mth([])]));
  expect([await readLeafHash(0, empty), await readLeafHash(3, read)]).toEqual([null, null]);
});

test("an append changes only the tiles that grow, and ignores hashes beyond the given tree size", async () => {
  const { read } = await grown([]);
  const changedBy = async (count: number) =>
    (await appendToTree(0, leaves.slice(0, count), read)).map(({ level, position }) => [level, position]);
  expect(await changedBy(0)).toEqual([]);
  expect(await changedBy(1)).toEqual([[0, 0]]);
  expect((await changedBy(256)).join(" ")).toBe("0,0 1,0");
  const [first, second, third] = leaves as [Buffer, Buffer, Buffer];
  const [tile] = await appendToTree(1, [third], async () => [Buffer.concat([first, second])]);
  expect(hex([tile?.hashes as Uint8Array])).toEqual(hex([Buffer.concat([first, third])]));
});

test("leafHashOf and leafHashOfMissing hash the same text to different leaves", () => {
  for (const text of ["a.b.c", "7"]) {
    const digest = createHash("sha256").update(text).digest();
    const made = ["attestation", "missing"].map((kind) =>
      leaf(Buffer.concat([Buffer.from(`tvs/v1/${kind}\n`), digest])),
    );
    const found = [leafHashOf(text), leafHashOfMissing(text as unknown as number)];
    expect(hex(found)).toEqual(hex(made));
  }
});

test("readProvenLeaves returns the leaves of a tile only if they lead to the signed root", async () => {
  const { read } = await grown([1500]);
  for (const size of [0, 1, 200, 256, 257, 700, 1024, 1500]) {
    const signed = { size, root: mth(leaves.slice(0, size)) };
    for (const position of [0, 1, 2, 3, 5, 6]) {
      const own = leaves.slice(position * 256, Math.min(size, position * 256 + 256));
      const found = await readProvenLeaves(position, signed, read);
      expect(found && hex([found])).toEqual(own.length === 0 ? null : hex([Buffer.concat(own)]));
      expect(
        await readProvenLeaves(position, { size, root: mth([leaf(Buffer.from("x"))]) }, read),
      ).toBeNull();
    }
  }
  const signed = { size: 1500, root: mth(leaves) };
  const short: TileReader = async (places) => (await read(places)).map((tile) => tile.subarray(0, 31 * 32));
  const without =
    (level: number): TileReader =>
    async (places) =>
      (await read(places)).map((tile, at) => (places[at]?.level === level ? new Uint8Array() : tile));
  // The signed root is computed from the hash above a full tile, so a changed leaf shows only in the tile itself.
  const changed: TileReader = async (places) =>
    (await read(places)).map((tile, at) => (places[at]?.level === 0 ? tile.map((byte) => byte ^ 1) : tile));
  const hasChanged = { size: 1280, root: mth(leaves.slice(0, 1280)) };
  expect(await hasRoot(hasChanged, changed)).toBe(true);
  expect(await readProvenLeaves(1, hasChanged, changed)).toBeNull();
  for (const lost of [short, without(0), without(1), async () => []])
    expect(await readProvenLeaves(1, signed, lost)).toBeNull();
  expect(await hasRoot(signed, async () => [])).toBe(false);
  const error = await catchError(makeInclusionProof(1, 2, async () => []));
  expect(error).toEqual(new RangeError("the tile has no such hash"));
  const broken: TileReader = async (places) =>
    places[0]?.level === 0 ? read(places) : Promise.reject("gone");
  expect(await catchError(readProvenLeaves(1, signed, broken))).toBe("gone");
});

test("the root builder computes the tree's root after each leaf, and reports each hash of the tiles above the leaves", async () => {
  const { read } = await grown([1500]);
  const found: { place: TileAddress; root: Uint8Array }[] = [];
  const tree = createRootBuilder((place, root) => found.push({ place, root }));
  expect(tree.root()).toBeUndefined();
  for (const [at, one] of leaves.entries()) {
    tree.push(one);
    if (at < 70 || at > 1495)
      expect(hex([tree.root() as Uint8Array])).toEqual(hex([mth(leaves.slice(0, at + 1))]));
  }
  const [above = new Uint8Array()] = await read([{ level: 1, position: 0 }]);
  const places = [0, 1, 2, 3, 4].map((position) => ({ level: 1, position }));
  expect(found.map(({ place }) => place)).toEqual(places);
  expect(hex([Buffer.concat(found.map(({ root }) => root))])).toEqual(hex([above]));
});
