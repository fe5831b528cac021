/**
 * Numbers that every serving thread counts for itself, in memory that all of them see: each thread has a block that
 * nobody else writes, so that counting needs no lock and no message, and who reads adds the blocks up.
 */

/** Memory of {@link newBlocks}, and which of its blocks is the caller's. */
export type SharedBlocks = { readonly memory: SharedArrayBuffer; readonly thread: number };

/** @param length numbers in one block */
export function newBlocks(threads: number, length: number): SharedArrayBuffer {
  return new SharedArrayBuffer(threads * length * Float64Array.BYTES_PER_ELEMENT);
}

/** Opens blocks for a thread; without shared memory, one of the caller's own. */
export function openBlocks(length: number, shared?: SharedBlocks) {
  const { memory, thread } = shared ?? { memory: newBlocks(1, length), thread: 0 };
  const bytes = length * Float64Array.BYTES_PER_ELEMENT;
  const threads = memory.byteLength / bytes;
  const all = Array.from({ length: threads }, (_, at) => new Float64Array(memory, at * bytes, length));
  const own = all[thread];
  if (own === undefined) throw new RangeError(`thread ${thread} of ${threads} has no block`);
  return {
    own,
    /** Every thread's block, in the order of the threads; of the others' only ever read. */
    all,
    /** What all threads have counted at a place. */
    sum(place: number): number {
      let sum = 0;
      for (const block of all) sum += block[place] as number;
      return sum;
    },
  };
}
