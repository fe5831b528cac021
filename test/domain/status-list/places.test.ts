import { expect, test } from "bun:test";
import { deriveSecrets, newMasterKey } from "../../../src/domain/secrets.ts";
import { createStatusPlaces, listPlaces } from "../../../src/domain/status-list/lists.ts";
import { places } from "../../harness/samples.ts";

test("each place of a status list belongs to one teacher id", () => {
  const taken = new Uint8Array(listPlaces);
  for (let id = 1; id <= listPlaces; id++) {
    const { list, idx } = places(id);
    if (list !== 0 || taken[idx] !== 0) throw new Error(`id ${id} has no place of its own`);
    taken[idx] = 1;
  }
  expect(taken.every((is) => is === 1)).toBe(true);
});

test("places depend on the key and on the list's number", () => {
  expect([places(1), places(2), places(3)]).toEqual([
    { list: 0, idx: 274_608 },
    { list: 0, idx: 692_539 },
    { list: 0, idx: 827_793 },
  ]);
  // As large as a list's number is after a restore in the year 2100.
  for (const list of [1, 4_102_444_800]) {
    const { list: found, idx } = places(list * listPlaces + 1);
    expect([found, idx === places(1).idx]).toEqual([list, false]);
  }
  const other = createStatusPlaces(deriveSecrets(newMasterKey()).statusListKey);
  const ids = Array.from({ length: 100 }, (_, n) => n + 1);
  expect(ids.filter((id) => other(id).idx === places(id).idx).length).toBeLessThan(5);
});

test("places of consecutive ids are as far apart as random ones", () => {
  const indexes = Array.from({ length: 20_000 }, (_, n) => places(n + 1).idx);
  const near = indexes.slice(1).filter((idx, n) => Math.abs(idx - (indexes[n] as number)) < listPlaces / 100);
  // Of pairs that are drawn by lot 1.99 % are so near.
  expect(near.length).toBeWithin(300, 500);
  const buckets = new Array(16).fill(0);
  for (const idx of indexes) buckets[Math.floor((idx * 16) / listPlaces)]++;
  // 1,250 each, with a deviation of some 34.
  expect(Math.max(...buckets) - Math.min(...buckets)).toBeLessThan(300);
});
