import { Buffer } from "node:buffer";

/** Attestations of one stretch of the log, and the size of its filter: sixteen bits an attestation. */
export const stretchRows = 4096;
const filterBytes = 8192;
const probes = 6;

/** Whom or what attestations are sought by. */
export type SoughtBy =
  | { readonly teacherId: number }
  | { readonly ninIndex: Uint8Array }
  | { readonly partnerId: string };

/**
 * A Bloom filter over one stretch: says surely that a teacher, a NIN or a partner does not occur in it, and
 * mistakes one in a thousand others. Filters are stored, so how they are computed is never changed.
 */
export function makeFilter(keys: Iterable<SoughtBy>): Uint8Array {
  const filter = new Uint8Array(filterBytes);
  for (const key of keys) {
    for (const bit of bitsOf(key)) filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7));
  }
  return filter;
}

export function mayHold(filter: Uint8Array, bits: readonly number[]): boolean {
  return bits.every((bit) => ((filter[bit >>> 3] ?? 0xff) & (1 << (bit & 7))) !== 0);
}

export function bitsOf(key: SoughtBy): number[] {
  const name = nameOf(key);
  const start = hash(name, 0x811c9dc5);
  const step = hash(name, 0x9e3779b9) | 1;
  return Array.from({ length: probes }, (_, n) => (start + Math.imul(step, n)) & (filterBytes * 8 - 1));
}

function nameOf(key: SoughtBy): string {
  if ("teacherId" in key) return `t${key.teacherId}`;
  if ("partnerId" in key) return `p${key.partnerId}`;
  return `n${Buffer.from(key.ninIndex).toString("hex").toUpperCase()}`;
}

/** FNV-1a over UTF-16 units, with the last steps of MurmurHash3 so that near names lie far apart. */
function hash(text: string, seed: number): number {
  let value = seed;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
