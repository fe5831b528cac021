const probes = 6;

/**
 * A Bloom filter over blind indexes: says of one that it surely is new, or that it may have been seen. Its
 * memory is fixed, however many it is given; with very many it only says "maybe" more often.
 */
export type Bloom = {
  /** Adds a blind index. @returns false when it surely is new */
  add(index: Uint8Array): boolean;
};

/** @param megabytes a power of two; 16 keep a million apart with one false alarm in a hundred million */
export function createBloom(megabytes: number): Bloom {
  const words = new Uint32Array(megabytes * 256 * 1024);
  const mask = words.length * 32 - 1;

  return {
    add(index) {
      // The bytes of a keyed hash are as good as random: two numbers out of them make all the probes.
      const view = new DataView(index.buffer, index.byteOffset);
      const step = view.getUint32(4) | 1;
      let bit = view.getUint32(0);
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
    },
  };
}
