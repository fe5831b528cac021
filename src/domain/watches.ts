/** Partners' watch lists of registration numbers. Unknown numbers are accepted, so no answer shows who is registered. */

import type { WatchStore } from "../store/watches.ts";
import { TvsError } from "./errors.ts";
import type { Partner } from "./partners.ts";
import { cleanTerm, correctTypingErrors } from "./teachers/search-term.ts";
import { canonicalizeRegNo } from "./teachers/teachers.ts";

/** The registration numbers to add and to remove, in canonical form. No number is in both lists. */
export type WatchChange = { readonly add: readonly string[]; readonly remove: readonly string[] };

export const maxWatchListChanges = 2_000;

/** Parses a registration number as lookups do. @returns null if `text` is not a registration number */
export function parseWatchedRegNo(text: string): string | null {
  return canonicalizeRegNo(correctTypingErrors(cleanTerm(text)));
}

/** Changes a watch list. @returns the list's new length. @throws TvsError WATCH_LIMIT */
export async function changeWatchList(
  watches: WatchStore,
  { partnerId, watchLimit }: Partner,
  change: WatchChange,
  revision: number,
): Promise<number> {
  const watched = await watches.change(partnerId, change, revision);
  if (watched !== null) return watched;
  const message = `that would be more than the ${watchLimit} teachers that you may watch; nothing was changed`;
  throw new TvsError("WATCH_LIMIT", message);
}
