/**
 * The memory of the signing boards: a block for each serving thread, in which it offers signatures to threads that
 * have nothing to do, and counts what it has to make. What crosses over is a key id, a hash and a signature; never a
 * key, and nothing of what an envelope says.
 */
export type BoardMemory = {
  readonly threads: number;
  /** All counters, flags and states; only ever touched with Atomics. */
  readonly words: Int32Array;
  /** Where a {@link word} of a thread lies among them. */
  wordAt(thread: number, index: number): number;
  /** Where the {@link state} of a slot lies among them. */
  stateAt(thread: number, slot: number): number;
  /** Where the length of a slot's signature lies among them. */
  lengthAt(thread: number, slot: number): number;
  /** The bytes of a slot. They belong to whom its state says, which also orders reads and writes of them. */
  kid(thread: number, slot: number): Uint8Array;
  hash(thread: number, slot: number): Uint8Array;
  signature(thread: number, slot: number): Uint8Array;
};

/** What a thread has in words of its own. */
export const word = {
  /** 1 while it has nothing to do and listens to its bell. Who sets it back to 0 has to ring. */
  asleep: 0,
  /** What it listens to; changed with each ring. */
  bell: 1,
  /** Signatures that it has still to make: of single checks, and of batches. */
  singles: 2,
  bulks: 3,
  /** 1 while a slot of it may be offered, so that others need not look at each. */
  offering: 4,
} as const;

/** Whose a slot is: its owner's when free, done or returned; anybody's when offered; one helper's when claimed. */
export const state = {
  free: 0,
  offered: 1,
  /** The signature is there. */
  done: 2,
  /** The helper could not sign, or has died: the owner does it. */
  returned: 3,
  /** Plus the number of the thread that signs, so that what a dead one had begun is known. */
  claimed: 16,
} as const;

/** Slots for single checks, which come first, and as many for what batches ask for. */
export const slotsOfSort = 32;
/** The longest key id that is shared: one of ours is a thumbprint of 43 characters (RFC 7638). */
export const kidBytes = 64;
const hashBytes = 32;
/** A signature of a 4096-bit key. */
const signatureBytes = 512;

/** Words of one thread, rounded up so that no two threads' lie in one line of a processor's cache. */
const ownWords = 16;
const slotsOfThread = 2 * slotsOfSort;
const wordsOfThread = ownWords + 2 * slotsOfThread;
const slotBytes = kidBytes + hashBytes + signatureBytes;
const blockBytes = wordsOfThread * Int32Array.BYTES_PER_ELEMENT + slotsOfThread * slotBytes;

/** The boards of a process with so many serving threads. */
export function newSigningBoards(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer(threads * blockBytes);
}

export function openBoardMemory(memory: SharedArrayBuffer): BoardMemory {
  const threads = memory.byteLength / blockBytes;
  const bytes = new Uint8Array(memory);
  const firstSlot = threads * wordsOfThread * Int32Array.BYTES_PER_ELEMENT;
  const part = (offset: number, length: number) => (thread: number, slot: number) => {
    const start = firstSlot + (thread * slotsOfThread + slot) * slotBytes + offset;
    return bytes.subarray(start, start + length);
  };
  return {
    threads,
    words: new Int32Array(memory, 0, threads * wordsOfThread),
    wordAt: (thread, index) => thread * wordsOfThread + index,
    stateAt: (thread, slot) => thread * wordsOfThread + ownWords + slot,
    lengthAt: (thread, slot) => thread * wordsOfThread + ownWords + slotsOfThread + slot,
    kid: part(0, kidBytes),
    hash: part(kidBytes, hashBytes),
    signature: part(kidBytes + hashBytes, signatureBytes),
  };
}
