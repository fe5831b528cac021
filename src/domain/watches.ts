/** Whom partners watch: registration numbers, whether somebody has them or not, so that nothing tells who is registered. */

/** Canonical numbers; none is in both. */
type WatchChange = { readonly add: readonly string[]; readonly remove: readonly string[] };

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
