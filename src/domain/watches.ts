/** Whom partners watch: registration numbers, whether somebody has them or not, so that nothing tells who is registered. */

import type { WatchStore } from "../store/watches.ts";
import { TvsError } from "./errors.ts";
import type { Partner } from "./partners.ts";
import { cleanTerm, meantTerm } from "./teachers/search-term.ts";
import { canonicalRegNo } from "./teachers/teachers.ts";

/** Canonical numbers, each once and none in both. */
export type WatchChange = { readonly add: readonly string[]; readonly remove: readonly string[] };

export const maxWatchChange = 2_000;

/** A number as it is watched, understood as in the look-ups. @returns null for a text that is no registration number */
export function watchedRegNo(text: string): string | null {
  return canonicalRegNo(meantTerm(cleanTerm(text)));
}

/** Changes whom a partner watches. @returns how many it watches now. @throws TvsError WATCH_LIMIT */
export async function changeWatches(
  watches: WatchStore,
  { partnerId, watchLimit }: Partner,
  change: WatchChange,
  revision: number,
): Promise<number> {
  const watched = await watches.change(partnerId, change, revision);
  if (watched !== null) return watched;
  throw new TvsError(
    "WATCH_LIMIT",
    `that would be more than the ${watchLimit} teachers that you may watch; nothing was changed`,
  );
}
