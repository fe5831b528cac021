/**
 * The place of each teacher in the signed status lists (decision D15.2). Nothing is stored for it: a place follows from
 * the teacher's id, and tells nothing of the id without the master key.
 */

import { Buffer } from "node:buffer";
import { createCipheriv } from "node:crypto";

export const listPlaces = 2 ** 20;

/** A place is two halves of ten bits. */
const half = 2 ** 10;
/** As many as NIST's FF1 has; each has a table of its own, so that all of them together cost some ten reads. */
const rounds = 10;

/**
 * The setting below which no new teacher gets an id (decision D15.4). After a restore some of these ids may belong to
 * teachers whom the register has lost.
 */
export const teacherIdsAfterName = "teacher_ids_after";

/** The time of the newest restore, by the ids that it kept from being given again. */
export function restoreTimeOf(teacherIdsAfter: number): number {
  return (teacherIdsAfter / listPlaces) * 1000;
}

type StatusPlace = { readonly list: number; readonly idx: number };

/** @returns the place of a teacher, by the teacher's id */
export type StatusPlaces = (teacherId: number) => StatusPlace;

/** @param key 32 bytes, of the register's own */
export function createStatusPlaces(key: Uint8Array): StatusPlaces {
  const permutations = new Map<number, (place: number) => number>();
  return (teacherId) => {
    const list = Math.floor((teacherId - 1) / listPlaces);
    const permute = permutations.get(list) ?? permutation(key, list);
    permutations.set(list, permute);
    return { list, idx: permute((teacherId - 1) % listPlaces) };
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
