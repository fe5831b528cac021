import QuickLRU from "quick-lru";
import type { Clock } from "./clock.ts";
import type { QuotaState } from "./quota.ts";

const windowMs = 60_000;
/** How much more a wider block may do: it holds more customers than one, and fewer than all of its addresses. */
const widerFactor = 16;
/** The part of the limit that lookups of a person have: names could be harvested by guessing numbers. */
const personalPart = 3;
/**
 * Blocks that are remembered at the least; at most twice as many, in some 70 MB. When more blocks call, the count of
 * those that called longest ago begins again.
 */
const rememberedBlocks = 100_000;

export type AddressDecision = QuotaState & { readonly allowed: boolean; readonly retryAfterSeconds: number };

/** Counts a call of an address, which is given by the blocks that it lies in, the narrowest first. */
type Count = (blocks: readonly string[]) => AddressDecision;

type AddressLimit = {
  /** Counts a lookup, whatever it asks for. */
  readonly lookup: Count;
  /** Counts a lookup once more when it names a person by NIN, e-mail or phone (search-term.ts, isPersonalTerm). */
  readonly personalLookup: Count;
};

/** What a block has used in a minute of the clock. */
type Used = { readonly minute: number; lookups: number; personal: number };

/**
 * A limit per source address and minute of the clock, in bounded memory.
 * @param perMinute calls that the narrowest block has now in each minute
 */
export function createAddressLimit(perMinute: () => number, clock: Clock): AddressLimit {
  const known = new QuickLRU<string, Used>({ maxSize: rememberedBlocks });

  function usedOf(block: string, minute: number): Used | undefined {
    const used = known.get(block);
    return used?.minute === minute ? used : undefined;
  }

  /** Takes a call from every block, or from none when one of them has spent its limit. */
  function take(budget: "lookups" | "personal", blocks: readonly string[], narrowest: number) {
    const now = clock.now();
    const minute = Math.floor(now / windowMs);
    const windows = blocks.map((block, at) => {
      const limit = at === 0 ? narrowest : narrowest * widerFactor;
      return { limit, left: limit - (usedOf(block, minute)?.[budget] ?? 0) };
    });
    const allowed = windows.every(({ left }) => left > 0);
    for (const block of allowed ? blocks : []) {
      let used = usedOf(block, minute);
      if (used === undefined) {
        used = { minute, lookups: 0, personal: 0 };
        known.set(block, used);
      }
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
    lookup: (blocks) => take("lookups", blocks, perMinute()),
    personalLookup: (blocks) => take("personal", blocks, Math.max(1, Math.ceil(perMinute() / personalPart))),
  };
}
