import QuickLRU from "quick-lru";
import type { Clock } from "./clock.ts";
import type { LimitState } from "./quota.ts";

const windowMs = 60_000;
/** An IPv6 /48 block has many customers, so its limit is this multiple of the limit of a /64 block. */
const widerBlockFactor = 16;
/** Lookups by NIN, e-mail or phone number get one third of the limit, because a right guess shows a person's name. */
const personalLookupDivisor = 3;
/** The cache keeps the counters of at least this many of the last used blocks, and of at most twice as many (70 MB). */
const minCachedBlocks = 100_000;

export type RateLimitDecision = LimitState & {
  readonly allowed: boolean;
  readonly retryAfterSeconds: number;
};

type Used = { readonly minute: number; lookups: number; personal: number };

/** Limits lookups per IP address block and UTC minute. @param perMinute gives the limit of an IPv4 address or /64 */
export function createIpRateLimiter(perMinute: () => number, clock: Clock) {
  const known = new QuickLRU<string, Used>({ maxSize: minCachedBlocks });

  function usedOf(block: string, minute: number): Used | undefined {
    const used = known.get(block);
    return used?.minute === minute ? used : undefined;
  }

  /** Counts a lookup in each block that contains the client's address, or in no block if one has used up its limit. */
  function countLookup(budget: "lookups" | "personal", blocks: readonly string[], narrowest: number) {
    const now = clock.now();
    const minute = Math.floor(now / windowMs);
    const windows = blocks.map((block, at) => {
      const limit = at === 0 ? narrowest : narrowest * widerBlockFactor;
      return { limit, left: limit - (usedOf(block, minute)?.[budget] ?? 0) };
    });
    const allowed = windows.every(({ left }) => left > 0);
    for (const block of allowed ? blocks : []) {
      const used = usedOf(block, minute) ?? { minute, lookups: 0, personal: 0 };
      known.set(block, used);
      used[budget]++;
    }
    const tightest = windows.reduce((one, other) => (other.left < one.left ? other : one));
    const resetAt = ((minute + 1) * windowMs) / 1000;
    const retryAfterSeconds = Math.max(1, Math.ceil(resetAt - now / 1000));
    const { limit } = tightest;
    const remaining = Math.max(0, tightest.left - (allowed ? 1 : 0));
    const window = { name: "address", limit, lasts: 60, left: remaining, endsIn: retryAfterSeconds } as const;
    return { allowed, limit, remaining, resetAt, retryAfterSeconds, windows: [window] };
  }

  return {
    /** Counts or refuses a lookup. @param blocks the client's IPv4 address, or its IPv6 /64 block and its /48 block */
    lookup: (blocks: readonly string[]) => countLookup("lookups", blocks, perMinute()),
    /** Counts or refuses a lookup by NIN, e-mail or phone number. Such lookups have their own counter and limit. */
    personalLookup: (blocks: readonly string[]) =>
      countLookup("personal", blocks, Math.max(1, Math.ceil(perMinute() / personalLookupDivisor))),
  };
}
