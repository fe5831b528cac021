const probes = 6;

/**
 * A Bloom filter: bits that say of a name that it surely was not added, or that it may have been. However many names are
 * added, it stays as long as it is, a power of two bytes, and only says "maybe" more often.
 * @returns false when the name surely was not there before
 */
export function addTo(filter: Uint8Array, name: string): boolean {
  const start = hash(name, 0x811c9dc5);
  const step = hash(name, 0x9e3779b9) | 1;
  let mayHaveHeld = true;
  for (let n = 0; n < probes; n++) {
    const bit = (start + Math.imul(step, n)) & (filter.length * 8 - 1);
    const byte = filter[bit >>> 3] ?? 0;
    const flag = 1 << (bit & 7);
    if ((byte & flag) !== 0) continue;
    mayHaveHeld = false;
    filter[bit >>> 3] = byte | flag;
  }
  return mayHaveHeld;
}

/** FNV-1a over UTF-16 units, with the last steps of MurmurHash3 so that near names lie far apart. */
function hash(text: string, seed: number): number {
  let value = seed;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
