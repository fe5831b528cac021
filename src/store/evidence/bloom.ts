const probes = 6;

/**
 * Bloom filters: bits that say of a name that it surely was not added, or that it may have been. However many names are
 * added, a filter stays as long as it is, a power of two bytes, and only says "maybe" more often.
 *
 * Filters are stored with the log of attestations, so how their bits are chosen is never changed.
 */
export function bitsOf(name: string, filterBytes: number): number[] {
  const start = hash(name, 0x811c9dc5);
  const step = hash(name, 0x9e3779b9) | 1;
  const bits = new Array<number>(probes);
  for (let n = 0; n < probes; n++) bits[n] = (start + Math.imul(step, n)) & (filterBytes * 8 - 1);
  return bits;
}

/** @returns false when the name surely was not there before */
export function addTo(filter: Uint8Array, name: string): boolean {
  let mayHaveHeld = true;
  for (const bit of bitsOf(name, filter.length)) {
    const byte = filter[bit >>> 3] ?? 0;
    const flag = 1 << (bit & 7);
    if ((byte & flag) !== 0) continue;
    mayHaveHeld = false;
    filter[bit >>> 3] = byte | flag;
  }
  return mayHaveHeld;
}

/** @param bits the name's, by {@link bitsOf}: many filters are asked for one name */
export function mayHold(filter: Uint8Array, bits: readonly number[]): boolean {
  return bits.every((bit) => ((filter[bit >>> 3] ?? 0xff) & (1 << (bit & 7))) !== 0);
}

/** FNV-1a over UTF-16 units, with the last steps of MurmurHash3 so that near names lie far apart. */
function hash(text: string, seed: number): number {
  let value = seed;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
