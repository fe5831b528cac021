const probes = 6;
const firstSeed = 0x811c9dc5;
const secondSeed = 0x9747b28c;

/**
 * A Bloom filter over identifiers: says of one that it surely is new, or that it may have been seen. Its memory is
 * fixed, however many it is given; with very many it only says "maybe" more often. All kinds share the one filter.
 *
 * Every method adds its identifier and returns false when it surely is new.
 */
export type Bloom = {
  /** @param index a keyed hash of 8 bytes or more: they are as good as random already */
  addHash(index: Uint8Array): boolean;
  addText(text: string): boolean;
  /** @param value a safe integer from 0 on */
  addNumber(value: number): boolean;
};

/** @param megabytes a power of two; 32 keep three million apart with one false alarm in ten million */
export function createBloom(megabytes: number): Bloom {
  const words = new Uint32Array(megabytes * 256 * 1024);
  const mask = words.length * 32 - 1;

  /** Two numbers make all the probes. */
  function add(first: number, second: number): boolean {
    const step = second | 1;
    let bit = first >>> 0;
    let seen = true;
    for (let probe = 0; probe < probes; probe++) {
      const word = (bit & mask) >>> 5;
      const flag = 1 << (bit & 31);
      const value = words[word] ?? 0;
      if ((value & flag) === 0) {
        seen = false;
        words[word] = value | flag;
      }
      bit = (bit + step) >>> 0;
    }
    return seen;
  }

  return {
    addHash(index) {
      return add(word(index, 0), word(index, 4));
    },
    addText(text) {
      let first = firstSeed;
      let second = secondSeed;
      for (let at = 0; at < text.length; at++) {
        const unit = text.charCodeAt(at);
        first = Math.imul(first ^ unit, 0x01000193);
        second = Math.imul(second ^ unit, 0x5bd1e995);
        second ^= second >>> 15;
      }
      return add(mixed(first), mixed(second));
    },
    addNumber(value) {
      const low = value >>> 0;
      const high = Math.floor(value / 2 ** 32);
      return add(mixed(low ^ Math.imul(high, firstSeed)), mixed(low + Math.imul(high + 1, secondSeed)));
    },
  };
}

/** Read byte by byte: a view of so small an array costs more than everything else here. */
function word(bytes: Uint8Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
  return (a << 24) | (b << 16) | (c << 8) | d;
}

/** Spreads every bit over the whole number (the last step of MurmurHash3). */
function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
