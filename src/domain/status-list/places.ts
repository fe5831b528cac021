/**
 * Which place of which signed status list is whose (decision D15.2). Nothing is stored for it: a place follows from the
 * number of the teacher's row, and tells nothing of the row to who lacks the master key.
 */

import { Buffer } from "node:buffer";
import { createCipheriv } from "node:crypto";

/** The places of one list. */
export const listPlaces = 2 ** 20;

/** A place is two halves of ten bits. */
const half = 2 ** 10;
/** As many as NIST's FF1 has; each has a table of its own, so that all of them together cost some ten reads. */
const rounds = 10;

/** The lists of one epoch of the evidence log are numbered from here: four thousand million teachers fit in. */
const listsOfEpoch = 4096;

/**
 * The rows above a number that have been given since an epoch of the evidence log was opened. A register that has lost
 * rows gives their numbers again, to others: these get places in lists of their own.
 */
export type StatusEra = { readonly epoch: number; readonly above: number; readonly since: number };

/** The setting that remembers them, `[epoch, above, since]` each. */
export const statusErasName = "status_list_eras";

export function readEras(stored: ReadonlyMap<string, string>): readonly StatusEra[] {
  const later = JSON.parse(stored.get(statusErasName) ?? "[]") as [number, number, number][];
  const eras = later.map(([epoch, above, since]) => ({ epoch, above, since }));
  return [{ epoch: 1, above: 0, since: 0 }, ...eras];
}

type StatusPlace = { readonly list: number; readonly idx: number };

/** The places of a register's teachers. */
export type StatusPlaces = {
  /** The place of a row. */
  of(teacherId: number, eras: readonly StatusEra[]): StatusPlace;
  /** The places that rows may have had which the register has lost: nobody gets them again. */
  lost(eras: readonly StatusEra[]): Iterable<StatusPlace>;
};

/** The numbers of all lists, when this is the newest row. */
export function listNumbers(eras: readonly StatusEra[], newestId: number): number[] {
  return eras.flatMap(({ epoch, above }, at) => {
    const rows = (eras[at + 1]?.above ?? newestId) - above;
    const lists = Math.ceil(rows / listPlaces);
    return Array.from({ length: lists }, (_, n) => (epoch - 1) * listsOfEpoch + n);
  });
}

/** @param key 32 bytes, of the register's own */
export function createStatusPlaces(key: Uint8Array): StatusPlaces {
  const permutations = new Map<number, (place: number) => number>();

  function placeIn({ epoch, above }: StatusEra, teacherId: number): StatusPlace {
    const row = teacherId - above - 1;
    const list = (epoch - 1) * listsOfEpoch + Math.floor(row / listPlaces);
    const permute = permutations.get(list) ?? permutation(key, list);
    permutations.set(list, permute);
    return { list, idx: permute(row % listPlaces) };
  }

  return {
    of: (teacherId, eras) => placeIn(eras.findLast(({ above }) => teacherId > above) as StatusEra, teacherId),
    *lost(eras) {
      for (const [at, era] of eras.entries()) {
        const end = eras[at + 1]?.above;
        if (end === undefined || end === era.above) continue;
        const full = era.above + Math.ceil((end - era.above) / listPlaces) * listPlaces;
        for (let id = end + 1; id <= full; id++) yield placeIn(era, id);
      }
    },
  };
}

/**
 * A permutation of a list's places: a Feistel network over the halves. What each round adds is read from a table of
 * random numbers, the key stream of AES-256 in counter mode, which begins elsewhere for each list.
 */
function permutation(key: Uint8Array, list: number): (place: number) => number {
  const start = Buffer.alloc(16);
  start.writeUInt32BE(list);
  const stream = createCipheriv("aes-256-ctr", key, start).update(Buffer.alloc(rounds * half * 2));
  const tables = Uint16Array.from({ length: rounds * half }, (_, at) => stream.readUInt16LE(at * 2) % half);
  return (place) => {
    let left = Math.floor(place / half);
    let right = place % half;
    for (let table = 0; table < tables.length; table += half) {
      const mixed = left ^ (tables[table + right] as number);
      left = right;
      right = mixed;
    }
    return left * half + right;
  };
}
