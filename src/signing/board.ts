import { Buffer } from "node:buffer";
import type { Load } from "./admission.ts";

/**
 * The memory of the signing boards: a block for each serving thread, in which it offers signatures to threads that
 * have nothing to do, and counts what it has to make. What crosses over is a key id, a hash and a signature; never a
 * key, and nothing of what an envelope says.
 */
type BoardMemory = ReturnType<typeof openBoardMemory>;

/** What a thread has in words of its own. */
const word = {
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
const kidBytes = 64;
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

function openBoardMemory(memory: SharedArrayBuffer) {
  const threads = memory.byteLength / blockBytes;
  const bytes = new Uint8Array(memory);
  const firstSlot = threads * wordsOfThread * Int32Array.BYTES_PER_ELEMENT;
  const part = (offset: number, length: number) => (thread: number, slot: number) => {
    const start = firstSlot + (thread * slotsOfThread + slot) * slotBytes + offset;
    return bytes.subarray(start, start + length);
  };
  return {
    threads,
    /** All counters, flags and states; only ever touched with Atomics. */
    words: new Int32Array(memory, 0, threads * wordsOfThread),
    /** Where a {@link word} of a thread lies among them; then the {@link state} of a slot, and its signature's length. */
    wordAt: (thread: number, index: number) => thread * wordsOfThread + index,
    stateAt: (thread: number, slot: number) => thread * wordsOfThread + ownWords + slot,
    lengthAt: (thread: number, slot: number) => thread * wordsOfThread + ownWords + slotsOfThread + slot,
    /** The bytes of a slot. They belong to whom its state says, which also orders reads and writes of them. */
    kid: part(0, kidBytes),
    hash: part(kidBytes, hashBytes),
    signature: part(kidBytes + hashBytes, signatureBytes),
  };
}

/** A signature that somebody else may make. */
type Offer = { readonly kid: string; readonly hash: Uint8Array; readonly bulk: boolean };

/** One of another thread that this thread has taken, and nobody else will. */
type Claim = {
  readonly owner: number;
  readonly slot: number;
  readonly kid: string;
  /** SHA-256 of what is to be signed. */
  readonly hash: Uint8Array;
};

type HasKey = (kid: string) => boolean;

/** What has become of an offer: the signature's bytes, or that it is still offered, being signed, or given back. */
type Outcome = Uint8Array | "offered" | "claimed" | "returned";

export type SigningBoard = ReturnType<typeof openSigningBoard>;

/**
 * One thread's access to the boards of the process. An offer is made to threads that are asleep, each of which is
 * rung once; whoever changes a slot's state from offered owns it, so that every signature is made once.
 * @param thread this thread's number, from 0
 */
export function openSigningBoard(memory: SharedArrayBuffer, thread: number) {
  const board = openBoardMemory(memory);
  return {
    ...openCounts(board, thread),
    ...openOffers(board, thread),
    ...openClaims(board, thread),
    ...openBell(board, thread),
    /** Clears what a thread has left that has died; to be called by another, before it is replaced. */
    abandon: (dead: number) => abandon(board, dead),
  };
}

/** Rings one thread, if it is asleep: one that works looks by itself, and waking costs a system call. */
function ring({ words, wordAt }: BoardMemory, thread: number): boolean {
  const isOurs = Atomics.compareExchange(words, wordAt(thread, word.asleep), 1, 0) === 1;
  if (isOurs) soundBell(words, wordAt(thread, word.bell));
  return isOurs;
}

function soundBell(words: Int32Array, bell: number): void {
  Atomics.add(words, bell, 1);
  // Only one listens to a bell, but one that died in its place might still be in the list.
  Atomics.notify(words, bell);
}

function openCounts({ threads, words, wordAt }: BoardMemory, thread: number): Load {
  const sum = (index: number) => {
    let total = 0;
    for (let one = 0; one < threads; one++) total += Atomics.load(words, wordAt(one, index));
    return total;
  };
  return {
    threads,
    count: (bulk, change) =>
      void Atomics.add(words, wordAt(thread, bulk ? word.bulks : word.singles), change),
    waiting: (bulk) => sum(bulk ? word.bulks : word.singles),
  };
}

/** What this thread asks of others. */
function openOffers(board: BoardMemory, thread: number) {
  const { threads, words, wordAt, stateAt } = board;
  /** Slots that hold something of this thread, whatever has become of it. */
  const held = new Set<number>();
  const encoder = new TextEncoder();
  const stateOf = (slot: number) => Atomics.load(words, stateAt(thread, slot));

  /** A slot in which nothing is, and nothing is left by who had this number before and has died. */
  function freeSlot(bulk: boolean): number | undefined {
    const first = bulk ? slotsOfSort : 0;
    for (let slot = first; slot < first + slotsOfSort; slot++) {
      if (!held.has(slot) && stateOf(slot) < state.claimed) return slot;
    }
    return undefined;
  }

  /** Rings the next thread that sleeps, beginning with this one's neighbour, so that not all ring the same. */
  function ringOne(): void {
    for (let i = 1; i < threads; i++) if (ring(board, (thread + i) % threads)) return;
  }

  return {
    isAnyoneAsleep() {
      for (let one = 0; one < threads; one++) {
        if (one !== thread && Atomics.load(words, wordAt(one, word.asleep)) === 1) return true;
      }
      return false;
    },
    hasRoom: (bulk: boolean) => freeSlot(bulk) !== undefined,
    /**
     * Offers a signature and rings one thread that is asleep.
     * @returns its slot; undefined when there is no room, or the key id is longer than any of ours
     */
    offer({ kid, hash, bulk }: Offer): number | undefined {
      const slot = kid.length > kidBytes ? undefined : freeSlot(bulk);
      if (slot === undefined) return undefined;
      held.add(slot);
      board.kid(thread, slot).fill(0);
      encoder.encodeInto(kid, board.kid(thread, slot));
      board.hash(thread, slot).set(hash);
      Atomics.store(words, stateAt(thread, slot), state.offered);
      Atomics.store(words, wordAt(thread, word.offering), 1);
      ringOne();
      return slot;
    },
    /** Takes an offer back. @returns false when another thread has it */
    takeBack(slot: number): boolean {
      const at = stateAt(thread, slot);
      const isOurs = Atomics.compareExchange(words, at, state.offered, state.free) === state.offered;
      if (isOurs) held.delete(slot);
      return isOurs;
    },
    outcome(slot: number): Outcome {
      const now = stateOf(slot);
      if (now === state.offered) return "offered";
      if (now >= state.claimed) return "claimed";
      if (now !== state.done) return "returned";
      return board.signature(thread, slot).subarray(0, Atomics.load(words, board.lengthAt(thread, slot)));
    },
    /** Gives a slot free whose outcome was taken. */
    release(slot: number): void {
      Atomics.store(words, stateAt(thread, slot), state.free);
      held.delete(slot);
    },
    /** Says whether this thread has anything offered, so that others look. */
    announce: (isOffering: boolean) =>
      void Atomics.store(words, wordAt(thread, word.offering), isOffering ? 1 : 0),
  };
}

/** What this thread does for others. */
function openClaims(board: BoardMemory, thread: number) {
  const { threads, words, wordAt, stateAt } = board;
  const mine = state.claimed + thread;

  /** Looks through what other threads offer, single checks first. @returns what `take` makes of the first it wants */
  function find<T>(take: (owner: number, slot: number) => T | undefined): T | undefined {
    for (const first of [0, slotsOfSort]) {
      for (let i = 1; i < threads; i++) {
        const owner = (thread + i) % threads;
        if (Atomics.load(words, wordAt(owner, word.offering)) === 0) continue;
        for (let slot = first; slot < first + slotsOfSort; slot++) {
          const found = take(owner, slot);
          if (found !== undefined) return found;
        }
      }
    }
    return undefined;
  }

  function kidOf(owner: number, slot: number): string {
    const name = Buffer.from(board.kid(owner, slot));
    const end = name.indexOf(0);
    return name.toString("latin1", 0, end === -1 ? kidBytes : end);
  }

  const isOffered = (owner: number, slot: number, hasKey: HasKey) =>
    Atomics.load(words, stateAt(owner, slot)) === state.offered && hasKey(kidOf(owner, slot));

  function take(owner: number, slot: number): Claim | undefined {
    const at = stateAt(owner, slot);
    if (Atomics.compareExchange(words, at, state.offered, mine) !== state.offered) return undefined;
    // Read once more: between the look and the claim the slot could have been used anew, for another key.
    return { owner, slot, kid: kidOf(owner, slot), hash: board.hash(owner, slot).slice() };
  }

  return {
    /**
     * Takes something that another thread offers, single checks first; what it has no key for it leaves to others.
     * @param hasKey whether this thread has the key of a key id
     */
    claim: (hasKey: HasKey): Claim | undefined =>
      find((owner, slot) => (isOffered(owner, slot, hasKey) ? take(owner, slot) : undefined)),
    /** Gives a signature to who asked for it; null when this thread cannot make it. */
    deliver({ owner, slot }: Claim, signature: Uint8Array | null): void {
      if (signature !== null) {
        board.signature(owner, slot).set(signature);
        Atomics.store(words, board.lengthAt(owner, slot), signature.length);
      }
      Atomics.store(words, stateAt(owner, slot), signature === null ? state.returned : state.done);
      ring(board, owner);
    },
    /** Whether others offer so many at least. */
    areOffered(count: number, hasKey: HasKey): boolean {
      let seen = 0;
      const isLast = (owner: number, slot: number) => isOffered(owner, slot, hasKey) && ++seen === count;
      return find((owner, slot) => (isLast(owner, slot) ? slot : undefined)) !== undefined;
    },
  };
}

function openBell({ words, wordAt }: BoardMemory, thread: number) {
  const [asleep, bell] = [wordAt(thread, word.asleep), wordAt(thread, word.bell)];
  return {
    /** From now on, until it is rung or rises, this thread is rung for offers and for outcomes of its own. */
    sleep: () => void Atomics.store(words, asleep, 1),
    rise: () => void Atomics.store(words, asleep, 0),
    /** Calls back for each ring; it must be what this thread does next. @returns ends that */
    listen(onRing: () => void): () => void {
      let isOver = false;
      let heard = Atomics.load(words, bell);
      const go = async () => {
        while (!isOver) {
          // What was heard last, and not what the bell is by now: a ring in between must not be missed.
          const wait = Atomics.waitAsync(words, bell, heard);
          if (wait.async) await wait.value;
          heard = Atomics.load(words, bell);
          if (!isOver) onRing();
        }
      };
      void go();
      return () => {
        isOver = true;
        Atomics.store(words, asleep, 0);
        soundBell(words, bell);
      };
    },
  };
}

/** What it had claimed goes back to its owners; what it offered and what it counted is nobody's any more. */
function abandon(board: BoardMemory, dead: number): void {
  const { threads, words, wordAt, stateAt } = board;
  for (let owner = 0; owner < threads; owner++) {
    for (let slot = 0; slot < 2 * slotsOfSort; slot++) {
      const at = stateAt(owner, slot);
      const claimed = state.claimed + dead;
      if (Atomics.compareExchange(words, at, claimed, state.returned) === claimed) ring(board, owner);
      if (owner === dead) Atomics.compareExchange(words, at, state.offered, state.free);
    }
  }
  for (const index of [word.asleep, word.singles, word.bulks, word.offering]) {
    Atomics.store(words, wordAt(dead, index), 0);
  }
}
