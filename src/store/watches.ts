import { isTvsError } from "../domain/errors.ts";
import type { WatchChange } from "../domain/watches.ts";
import type { Driver } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

const begin = "INSERT OR IGNORE INTO watch_counts (partner_id, watched) VALUES (?, 0)";
const remove = "DELETE FROM watches WHERE partner_id = ? AND reg_no IN (SELECT value FROM json_each(?))";
const add = "INSERT OR IGNORE INTO watches (partner_id, reg_no) SELECT ?, value FROM json_each(?)";
// Each stands right behind the statement whose rows it counts.
const removed = "UPDATE watch_counts SET watched = watched - changes() WHERE partner_id = ?";
/** Fails by a missing value, and the whole act with it, where that were more than the limit. */
const added = `UPDATE watch_counts SET watched = CASE WHEN changes() = 0 OR watched + changes() <=
    (SELECT watch_limit FROM partners WHERE partner_id = ?1) THEN watched + changes() END
  WHERE partner_id = ?1 RETURNING watched`;

/** Numbers are changed in their order: neighbours in the list are neighbours on the disk. */
const listOf = (regNos: readonly string[]) => JSON.stringify([...regNos].sort());

export type WatchStore = ReturnType<typeof createWatchStore>;

export function createWatchStore(driver: Driver) {
  return {
    /**
     * Takes numbers in and out, all or nothing. What is watched already, or not, stays so.
     * @returns how many the partner watches now; null, having changed nothing, when that were more than its limit
     */
    async change(partnerId: string, change: WatchChange): Promise<number | null> {
      const own = [partnerId];
      try {
        const results = await driver.batch([
          { sql: begin, args: own },
          { sql: remove, args: [partnerId, listOf(change.remove)] },
          { sql: removed, args: own },
          { sql: add, args: [partnerId, listOf(change.add)] },
          { sql: added, args: own },
        ]);
        return integer(results.at(-1)?.[0] ?? {}, "watched");
      } catch (error) {
        const isOver =
          isTvsError(error, "STORE_CONSTRAINT") && error.detail?.includes("watch_counts.watched");
        if (isOver) return null;
        throw error;
      }
    },
    /** The numbers after one, in their order. @param after "" for the first */
    async page(partnerId: string, { after, limit }: { after: string; limit: number }) {
      const sql = "SELECT reg_no FROM watches WHERE partner_id = ? AND reg_no > ? ORDER BY reg_no LIMIT ?";
      return (await driver.query(sql, [partnerId, after, limit])).map((row) => text(row, "reg_no"));
    },
    async watchersOf(regNo: string) {
      const sql = `SELECT partner_id FROM partners WHERE EXISTS (SELECT 1 FROM watches
        WHERE watches.partner_id = partners.partner_id AND reg_no = ?) ORDER BY partner_id`;
      return (await driver.query(sql, [regNo])).map((row) => text(row, "partner_id"));
    },
  };
}
