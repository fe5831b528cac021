import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "./clock.ts";
import type { QuotaState } from "./quota.ts";

const windowMs = 60_000;
/** Rows of counters; an address is counted in each, at a place that its keyed hash picks. */
const rows = 4;
const countersPerRow = 1 << 18;
/** Counters of one minute. There are two such halves: while one counts, the other is cleared for the next minute. */
const half = rows * countersPerRow;
const secretBytes = 16;
/** Keys whose places are remembered; beyond it all are forgotten. */
const maxKnown = 16_384;

export type AddressDecision = QuotaState & { readonly allowed: boolean; readonly retryAfterSeconds: number };

/** Counts a call of an address, which is given by the blocks that it lies in, the narrowest first. */
type Count = (blocks: readonly string[]) => AddressDecision;

type AddressLimit = {
  /** Counts a lookup, whatever it asks for. */
  readonly lookup: Count;
  /** Counts it once more when it names a person by NIN, e-mail or phone (search-term.ts, isPersonalTerm). */
  readonly personalLookup: Count;
};

/** How much more a wider block may do: it holds more customers than one, and fewer than all of its addresses. */
const widerFactor = 16;
/** The part of the limit that lookups of a person have: names can be harvested by numbers that are guessed. */
const personalPart = 3;

/**
 * The counters of one process, whatever the number of its threads, and the random key by which addresses find their
 * places in them.
 */
export function newAddressCounts(): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((2 * half + 1) * 4 + secretBytes);
  secretOf(memory).set(randomBytes(secretBytes));
  return memory;
}

/** Behind the counters, and the word that says which minute is counted in which half. */
function secretOf(memory: SharedArrayBuffer): Uint8Array {
  return new Uint8Array(memory, (2 * half + 1) * 4, secretBytes);
}

/**
 * A limit per source address and minute in a fixed eight megabytes, whatever the number of addresses: a
 * count-min sketch (Cormode and Muthukrishnan, 2005). An address is never counted too low, so the limit
 * always holds; it is counted too high only when others collide with it in every row, which a million
 * addresses a minute do not bring about at a limit of sixty. The places depend on a random key, so nobody can
 * choose addresses that collide.
 * @param perMinute calls that the narrowest block has now in each minute of the clock
 * @param memory the counters of all threads, of {@link newAddressCounts}; without them this thread counts alone
 */
export function createAddressLimit(
  perMinute: () => number,
  clock: Clock,
  memory: SharedArrayBuffer = newAddressCounts(),
): AddressLimit {
  const take = createSketch(clock, memory);
  const personalPerMinute = () => Math.max(1, Math.ceil(perMinute() / personalPart));
  const count =
    (name: string, limitNow: () => number): Count =>
    (blocks) => {
      const narrowest = limitNow();
      return take(
        blocks.map((block, at) => ({
          key: `${name} ${block}`,
          limit: at === 0 ? narrowest : narrowest * widerFactor,
        })),
      );
    };
  return { lookup: count("any", perMinute), personalLookup: count("personal", personalPerMinute) };
}

/** What may be spent in a minute under one key. */
type Budget = { readonly key: string; readonly limit: number };
/** A budget's places in the sketch, and what is used of it; `limit` and over when it is spent. */
type Found = { readonly at: readonly number[]; used: number; readonly limit: number };

/** @returns takes one call from every budget, or from none when one of them is spent */
function createSketch(
  clock: Clock,
  memory: SharedArrayBuffer,
): (budgets: readonly Budget[]) => AddressDecision {
  const counters = openCounters(memory);
  const placesOf = createPlaces(secretOf(memory));

  return (budgets) => {
    const now = clock.now();
    const minute = Math.floor(now / windowMs);
    const from = counters.halfOf(minute);
    const found: Found[] = budgets.map(({ key, limit }) => {
      const at = placesOf(key).map((place) => from + place);
      return { at, used: counters.used(at), limit };
    });
    let allowed = found.every(({ used, limit }) => used < limit);
    for (const one of allowed ? found : []) {
      one.used = counters.take(one.at, one.limit);
      // Another thread took the last one since: what was taken of the narrower block stays taken.
      if (one.used >= one.limit) allowed = false;
    }
    const left = ({ used, limit }: Found) => limit - used - (allowed ? 1 : 0);
    const tightest = found.reduce((one, other) => (left(other) < left(one) ? other : one));
    const resetAt = ((minute + 1) * windowMs) / 1000;
    const retryAfterSeconds = Math.max(1, Math.ceil(resetAt - now / 1000));
    const { limit } = tightest;
    const remaining = Math.max(0, left(tightest));
    const window = { name: "address", limit, lasts: 60, left: remaining, endsIn: retryAfterSeconds } as const;
    return { allowed, limit, remaining, resetAt, retryAfterSeconds, windows: [window] };
  };
}

/** @returns finds the places of a key, and remembers them of those who called lately */
function createPlaces(secret: Uint8Array): (key: string) => readonly number[] {
  const known = new Map<string, readonly number[]>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size >= maxKnown) known.clear();
    const digest = createHash("sha256").update(secret).update(key).digest();
    const places = Array.from(
      { length: rows },
      (_, row) => row * countersPerRow + (digest.readUInt32LE(row * 4) % countersPerRow),
    );
    known.set(key, places);
    return places;
  };
}

/** The counters of a sketch, which other threads change at the same time. */
function openCounters(memory: SharedArrayBuffer) {
  const words = new Uint32Array(memory, 0, 2 * half);
  /** The minute that is counted, and in its last bit in which half. */
  const turn = new Uint32Array(memory, 2 * half * 4, 1);

  function raise(place: number, count: number): void {
    for (;;) {
      const known = Atomics.load(words, place);
      if (known >= count || Atomics.compareExchange(words, place, known, count) === known) return;
    }
  }

  function used(at: readonly number[]): number {
    return Math.min(...at.map((place) => Atomics.load(words, place)));
  }

  return {
    /** Where the half begins in which a minute is counted. Whoever is the first of a minute turns to the other half. */
    halfOf(minute: number): number {
      const before = Atomics.load(turn, 0);
      const counted = before >>> 1;
      // A thread's clock may turn to a minute later than another's: what it takes counts in that one already.
      if (counted !== minute && counted !== minute + 1) {
        const next = ((minute << 1) | (~before & 1)) >>> 0;
        const isOurs = Atomics.compareExchange(turn, 0, before, next) === before;
        if (isOurs) words.fill(0, (before & 1) * half, ((before & 1) + 1) * half);
      }
      return (Atomics.load(turn, 0) & 1) * half;
    },
    /** How often a key was counted: the least of its counters. */
    used,
    /**
     * Counts a key once more, unless its limit is reached.
     * @returns how often it was counted before; the limit or more when it was not counted
     */
    // Only the smallest counters grow ("conservative update"), which keeps the others' excess low. Of several threads
    // that count one key at once, each raises all of its counters but one, and then that one: whoever finds it
    // changed meanwhile was not the one who counted, and looks again. So no two of them count the same call.
    take(at: readonly number[], limit: number): number {
      for (;;) {
        const before = used(at);
        if (before >= limit) return before;
        const decisive = at.find((place) => Atomics.load(words, place) === before);
        if (decisive === undefined) continue;
        for (const other of at) if (other !== decisive) raise(other, before + 1);
        if (Atomics.compareExchange(words, decisive, before, before + 1) === before) return before;
      }
    },
  };
}
