/** Whom partners watch: registration numbers, whether somebody has them or not, so that nothing tells who is registered. */

import { TvsError } from "./errors.ts";
import type { Partner } from "./partners.ts";
import { cleanTerm, meantTerm } from "./teachers/search-term.ts";
import { canonicalRegNo } from "./teachers/teachers.ts";

/** Canonical numbers, each once and none in both. */
export type WatchChange = { readonly add: readonly string[]; readonly remove: readonly string[] };

export type WatchStore = {
  /**
   * Takes numbers in and out, all or nothing. What is watched already, or not, stays so.
   * @returns how many the partner watches now; null, having changed nothing, when that were more than its limit
   */
  change(partnerId: string, change: WatchChange): Promise<number | null>;
  /** The numbers after one, in their order. @param after "" for the first */
  page(partnerId: string, range: { after: string; limit: number }): Promise<string[]>;
  /** Which partners watch a number, in the order of their ids. */
  watchersOf(regNo: string): Promise<string[]>;
};

export const maxWatchChange = 2_000;

/** A number as it is watched, understood as in the look-ups. @returns null for a text that is no registration number */
export function watchedRegNo(text: string): string | null {
  return canonicalRegNo(meantTerm(cleanTerm(text)));
}

/**
 * Changes whom a partner watches.
 * @returns how many it watches now
 * @throws TvsError WATCH_LIMIT, having changed nothing
 */
export async function changeWatches(
  watches: WatchStore,
  { partnerId, watchLimit }: Partner,
  change: WatchChange,
): Promise<number> {
  const watched = await watches.change(partnerId, change);
  if (watched !== null) return watched;
  throw new TvsError(
    "WATCH_LIMIT",
    `that would be more than the ${watchLimit} teachers that you may watch; nothing was changed`,
  );
}
