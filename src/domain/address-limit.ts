import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "./clock.ts";

const windowMs = 60_000;
/** Rows of counters; an address is counted in each, at a place that its keyed hash picks. */
const rows = 4;
const countersPerRow = 1 << 17;
/** Addresses whose places are kept; then that begins anew. */
const maxKnown = 4_096;

export type AddressDecision = {
  allowed: boolean;
  limit: number;
  remaining: number;
  resetAt: number;
  retryAfterSeconds: number;
};

/** Counts one call of an address and says whether it may be made. */
export type AddressLimit = (address: string) => AddressDecision;

/**
 * A limit per source address and minute in a fixed two megabytes, whatever the number of addresses: a
 * count-min sketch (Cormode and Muthukrishnan, 2005). An address is never counted too low, so the limit
 * always holds; it is counted too high only when others collide with it in every row, which a million
 * addresses a minute do not bring about below a limit of about thirty. The places depend on a random key,
 * so nobody can choose addresses that collide.
 * @param perMinute calls an address has in each minute of the clock
 */
export function createAddressLimit(perMinute: number, clock: Clock): AddressLimit {
  const counters = new Uint32Array(rows * countersPerRow);
  const key = randomBytes(16);
  let windowStart = 0;

  /** The places of those who called lately; they are the same for as long as the process lives. */
  const known = new Map<string, readonly number[]>();

  function places(address: string): readonly number[] {
    const found = known.get(address);
    if (found !== undefined) return found;
    if (known.size >= maxKnown) known.clear();
    const computed = compute(address);
    known.set(address, computed);
    return computed;
  }

  function compute(address: string): number[] {
    const digest = createHash("sha256").update(key).update(address).digest();
    return Array.from(
      { length: rows },
      (_, row) => row * countersPerRow + (digest.readUInt32LE(row * 4) % countersPerRow),
    );
  }

  return (address) => {
    const now = clock.now();
    const start = Math.floor(now / windowMs) * windowMs;
    if (start !== windowStart) {
      counters.fill(0);
      windowStart = start;
    }
    const at = places(address);
    let used = perMinute;
    for (const place of at) used = Math.min(used, counters[place] ?? 0);
    const allowed = used < perMinute;
    // Only the smallest counters grow ("conservative update"), which keeps the others' excess low.
    if (allowed) for (const place of at) if (counters[place] === used) counters[place] = used + 1;
    const resetAt = (start + windowMs) / 1000;
    const retryAfterSeconds = Math.max(1, Math.ceil(resetAt - now / 1000));
    return {
      allowed,
      limit: perMinute,
      remaining: Math.max(0, perMinute - used - (allowed ? 1 : 0)),
      resetAt,
      retryAfterSeconds,
    };
  };
}
