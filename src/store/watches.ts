import type { WatchChange } from "../domain/watches.ts";
import { bind, type Driver } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";
import { requireRevision } from "./settings.ts";

const selectCount = `SELECT watch_limit, coalesce(watched, 0) AS watched
  FROM partners LEFT JOIN watch_counts USING (partner_id) WHERE partner_id = ?`;
const ofList = "partner_id = ? AND reg_no IN (SELECT value FROM json_each(?))";
const countOfList = `SELECT count(*) AS n FROM watches WHERE ${ofList}`;
const add = "INSERT OR IGNORE INTO watches (partner_id, reg_no) SELECT ?, value FROM json_each(?)";
const setCount = `INSERT INTO watch_counts (partner_id, watched) VALUES (?, ?)
  ON CONFLICT (partner_id) DO UPDATE SET watched = excluded.watched`;

/** Formats registration numbers as JSON. They are sorted, so that a statement changes neighbouring pages. */
const listOf = (regNos: readonly string[]) => JSON.stringify([...regNos].sort());

export type WatchStore = ReturnType<typeof createWatchStore>;

export function createWatchStore(driver: Driver) {
  return {
    /**
     * Adds and removes registration numbers, all or none. Numbers that are already on or off the list are ignored.
     * @param revision the configuration's revision when the caller was authenticated; undefined for an operator
     * @throws ConflictError if the configuration has changed; nothing is changed then
     * @returns how many numbers the partner then watches; null, without a change, if that would exceed its limit
     */
    change(partnerId: string, change: WatchChange, revision?: number) {
      const [toRemove, toAdd] = [listOf(change.remove), listOf(change.add)];
      return driver.write(async (tx) => {
        if (revision !== undefined) await requireRevision(tx, revision);
        const [[now = {}] = [], [removed = {}] = [], [present = {}] = []] = await tx.batch([
          bind(selectCount, [partnerId]),
          bind(countOfList, [partnerId, toRemove]),
          bind(countOfList, [partnerId, toAdd]),
        ]);
        const added = change.add.length - integer(present, "n");
        const watched = integer(now, "watched") - integer(removed, "n") + added;
        if (added > 0 && watched > integer(now, "watch_limit")) return null;
        await tx.finish([
          bind(`DELETE FROM watches WHERE ${ofList}`, [partnerId, toRemove]),
          bind(add, [partnerId, toAdd]),
          bind(setCount, [partnerId, watched]),
        ]);
        return watched;
      });
    },
    /** Lists watched numbers in ascending order. @param after the number before the page; "" for the first page */
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
