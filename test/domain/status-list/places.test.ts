import { describe, expect, test } from "bun:test";
import { deriveSecrets, newMasterKey } from "../../../src/domain/secrets.ts";
import {
  createStatusPlaces,
  listNumbers,
  listPlaces,
  readEras,
  statusErasName,
} from "../../../src/domain/status-list/places.ts";
import { places } from "../../harness/samples.ts";

const first = readEras(new Map());
const later = (...eras: [number, number, number][]) =>
  readEras(new Map([[statusErasName, JSON.stringify(eras)]]));

describe("the places of a list", () => {
  test("are each one row's, every one of them", () => {
    const taken = new Uint8Array(listPlaces);
    for (let id = 1; id <= listPlaces; id++) {
      const { list, idx } = places.of(id, first);
      if (list !== 0 || taken[idx] !== 0) throw new Error(`row ${id} has no place of its own`);
      taken[idx] = 1;
    }
    expect(taken.every((is) => is === 1)).toBe(true);
  });

  test("stay where they are under a key, and are elsewhere under another and in another list", () => {
    const of = (id: number) => places.of(id, first);
    expect([of(1), of(2), of(3)]).toEqual([
      { list: 0, idx: 274_608 },
      { list: 0, idx: 692_539 },
      { list: 0, idx: 827_793 },
    ]);
    expect(of(listPlaces + 1).list).toBe(1);
    expect(of(listPlaces + 1).idx).not.toBe(of(1).idx);
    const other = createStatusPlaces(deriveSecrets(newMasterKey()).statusListKey);
    const rows = Array.from({ length: 100 }, (_, n) => n + 1);
    expect(rows.filter((id) => other.of(id, first).idx === of(id).idx).length).toBeLessThan(5);
  });

  test("of rows that follow one another are as far apart as if drawn by lot", () => {
    const rows = Array.from({ length: 20_000 }, (_, n) => places.of(n + 1, first).idx);
    const near = rows.slice(1).filter((idx, n) => Math.abs(idx - (rows[n] as number)) < listPlaces / 100);
    // Of pairs that are drawn by lot 1.99 % are so near.
    expect(near.length).toBeWithin(300, 500);
    const buckets = new Array(16).fill(0);
    for (const idx of rows) buckets[Math.floor((idx * 16) / listPlaces)]++;
    // 1,250 each, with a deviation of some 34.
    expect(Math.max(...buckets) - Math.min(...buckets)).toBeLessThan(300);
  });
});

describe("after rows were lost", () => {
  const eras = later([2, 3, 1_000], [5, 3, 2_000], [6, 7, 3_000]);

  test("those who come get places in lists that nobody had", () => {
    const lists = [1, 3, 4, 7, 8].map((id) => places.of(id, eras).list);
    expect(lists).toEqual([0, 0, 16_384, 16_384, 20_480]);
    expect(places.of(3, eras)).toEqual(places.of(3, first));
    expect(listNumbers(eras, 8)).toEqual([0, 16_384, 20_480]);
    expect(listNumbers(eras, 7)).toEqual([0, 16_384]);
  });

  test("the places that others may have had are lost for good", () => {
    const lost = [...places.lost(later([2, 3, 1_000]))];
    expect(lost.length).toBe(listPlaces - 3);
    const kept = [1, 2, 3].map((id) => places.of(id, first).idx);
    expect(lost.some(({ list, idx }) => list !== 0 || kept.includes(idx))).toBe(false);
    expect([...places.lost(first)]).toEqual([]);
  });
});

test("there are as many lists as the newest row needs, and none before there is one", () => {
  const upTo = (newestId: number) => listNumbers(first, newestId);
  expect([upTo(0), upTo(1), upTo(listPlaces), upTo(listPlaces + 1)]).toEqual([[], [0], [0], [0, 1]]);
});
