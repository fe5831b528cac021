import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "./clock.ts";

const windowMs = 60_000;
/** Rows of counters; an address is counted in each, at a place that its keyed hash picks. */
const rows = 4;
const countersPerRow = 1 << 18;
/** Keys whose places are remembered; beyond it all are forgotten. */
const maxKnown = 16_384;

export type AddressDecision = {
  allowed: boolean;
  limit: number;
  remaining: number;
  resetAt: number;
  retryAfterSeconds: number;
};

/** Counts a call of an address, which is given by the blocks that it lies in, the narrowest first. */
type Count = (blocks: readonly string[]) => AddressDecision;

export type AddressLimit = {
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
 * A limit per source address and minute in a fixed four megabytes, whatever the number of addresses: a
 * count-min sketch (Cormode and Muthukrishnan, 2005). An address is never counted too low, so the limit
 * always holds; it is counted too high only when others collide with it in every row, which a million
 * addresses a minute do not bring about at a limit of sixty. The places depend on a random key, so nobody can
 * choose addresses that collide.
 * @param perMinute calls that the narrowest block has in each minute of the clock
 */
export function createAddressLimit(perMinute: number, clock: Clock): AddressLimit {
  const take = createSketch(clock);
  const personalPerMinute = Math.max(1, Math.ceil(perMinute / personalPart));
  const count =
    (name: string, narrowest: number): Count =>
    (blocks) =>
      take(
        blocks.map((block, at) => ({
          key: `${name} ${block}`,
          limit: at === 0 ? narrowest : narrowest * widerFactor,
        })),
      );
  return { lookup: count("any", perMinute), personalLookup: count("personal", personalPerMinute) };
}

/** What may be spent in a minute under one key. */
type Budget = { readonly key: string; readonly limit: number };

/** @returns takes one call from every budget, or from none when one of them is spent */
function createSketch(clock: Clock): (budgets: readonly Budget[]) => AddressDecision {
  const counters = new Uint32Array(rows * countersPerRow);
  const secret = randomBytes(16);
  let windowStart = 0;

  /** The places of those who called lately; they are the same for as long as the process lives. */
  const known = new Map<string, readonly number[]>();

  function places(key: string): readonly number[] {
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size >= maxKnown) known.clear();
    const computed = compute(key);
    known.set(key, computed);
    return computed;
  }

  function compute(key: string): number[] {
    const digest = createHash("sha256").update(secret).update(key).digest();
    return Array.from(
      { length: rows },
      (_, row) => row * countersPerRow + (digest.readUInt32LE(row * 4) % countersPerRow),
    );
  }

  function usedOf(budget: Budget) {
    const at = places(budget.key);
    let used = budget.limit;
    for (const place of at) used = Math.min(used, counters[place] ?? 0);
    return { at, used, limit: budget.limit };
  }

  return (budgets) => {
    const now = clock.now();
    const start = Math.floor(now / windowMs) * windowMs;
    if (start !== windowStart) {
      counters.fill(0);
      windowStart = start;
    }
    const found = budgets.map(usedOf);
    const allowed = found.every(({ used, limit }) => used < limit);
    // Only the smallest counters grow ("conservative update"), which keeps the others' excess low.
    for (const { at, used } of allowed ? found : [])
      for (const place of at) if (counters[place] === used) counters[place] = used + 1;
    const left = ({ used, limit }: { used: number; limit: number }) => limit - used - (allowed ? 1 : 0);
    const tightest = found.reduce((one, other) => (left(other) < left(one) ? other : one));
    const resetAt = (start + windowMs) / 1000;
    const retryAfterSeconds = Math.max(1, Math.ceil(resetAt - now / 1000));
    return {
      allowed,
      limit: tightest.limit,
      remaining: Math.max(0, left(tightest)),
      resetAt,
      retryAfterSeconds,
    };
  };
}
