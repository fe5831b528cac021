import QuickLRU from "quick-lru";
import type { Clock } from "./clock.ts";
import type { QuotaState } from "./quota.ts";

const windowMs = 60_000;
/** A wider address block has many customers, so its limit is this multiple of the narrowest block's limit. */
const widerFactor = 16;
/** Lookups by NIN, e-mail or phone get one third of the limit, because a guessed number would show a name. */
const personalPart = 3;
/** At least this many blocks are counted, at most twice as many (70 MB); the least recently used are forgotten. */
const rememberedBlocks = 100_000;

export type RateLimitDecision = QuotaState & {
  readonly allowed: boolean;
  readonly retryAfterSeconds: number;
};

type Used = { readonly minute: number; lookups: number; personal: number };

/** Makes fixed-window counters per client IP and UTC minute. @param perMinute the limit of the narrowest block */
export function createIpRateLimiter(perMinute: () => number, clock: Clock) {
  const known = new QuickLRU<string, Used>({ maxSize: rememberedBlocks });

  function usedOf(block: string, minute: number): Used | undefined {
    const used = known.get(block);
    return used?.minute === minute ? used : undefined;
  }

  /** Counts a lookup in every block, or in no block if one of them has no room. */
  function count(budget: "lookups" | "personal", blocks: readonly string[], narrowest: number) {
    const now = clock.now();
    const minute = Math.floor(now / windowMs);
    const windows = blocks.map((block, at) => {
      const limit = at === 0 ? narrowest : narrowest * widerFactor;
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
    /** Counts a lookup, or refuses it. @param blocks the address blocks of the client, the narrowest first */
    lookup: (blocks: readonly string[]) => count("lookups", blocks, perMinute()),
    /** Counts a lookup by NIN, e-mail or phone against a second, smaller limit. */
    personalLookup: (blocks: readonly string[]) =>
      count("personal", blocks, Math.max(1, Math.ceil(perMinute() / personalPart))),
  };
}
