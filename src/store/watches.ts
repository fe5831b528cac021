import type { WatchStore } from "../domain/watches.ts";
import type { Driver } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

// ?1 is the partner, ?2 the numbers to add and ?3 those to remove. Each statement asks by itself whether all of it fits, and
// each finds the same as the one before it.
const isWatched = "EXISTS (SELECT 1 FROM watches WHERE partner_id = ?1 AND reg_no = value)";
const watched = "coalesce((SELECT watched FROM watch_counts WHERE partner_id = ?1), 0)";
const isNothingNew = `NOT EXISTS (SELECT 1 FROM json_each(?2) WHERE NOT ${isWatched})`;
const fits = `(${isNothingNew} OR ${watched} + (SELECT count(*) FROM json_each(?2) WHERE NOT ${isWatched})
  - (SELECT count(*) FROM json_each(?3) WHERE ${isWatched}) <= (SELECT watch_limit FROM partners WHERE partner_id = ?1))`;

const remove = `DELETE FROM watches WHERE partner_id = ?1 AND reg_no IN (SELECT value FROM json_each(?3)) AND ${fits}`;
const add = `INSERT INTO watches (partner_id, reg_no) SELECT ?1, value FROM json_each(?2) WHERE NOT ${isWatched} AND ${fits}`;
/** Stands right behind the statement whose rows it counts. */
const count = (sign: "+" | "-") =>
  `UPDATE watch_counts SET watched = watched ${sign} changes() WHERE partner_id = ?1`;
const begin = "INSERT OR IGNORE INTO watch_counts (partner_id, watched) VALUES (?1, 0)";

export function createWatchStore(driver: Driver): WatchStore {
  return {
    async change(partnerId, { add: added, remove: removed }) {
      const lists = [partnerId, JSON.stringify(added), JSON.stringify(removed)];
      const own = [partnerId];
      const results = await driver.batch([
        { sql: begin, args: own },
        { sql: remove, args: lists },
        { sql: count("-"), args: own },
        { sql: add, args: lists },
        { sql: count("+"), args: own },
        { sql: `SELECT ${watched} AS watched, ${isNothingNew} AS is_done`, args: lists.slice(0, 2) },
      ]);
      const row = results.at(-1)?.[0] ?? {};
      return integer(row, "is_done") === 1 ? integer(row, "watched") : null;
    },
    async page(partnerId, { after, limit }) {
      const sql = "SELECT reg_no FROM watches WHERE partner_id = ? AND reg_no > ? ORDER BY reg_no LIMIT ?";
      return (await driver.query(sql, [partnerId, after, limit])).map((row) => text(row, "reg_no"));
    },
    async watchersOf(regNo) {
      const sql = "SELECT partner_id FROM watches WHERE reg_no = ? ORDER BY partner_id";
      return (await driver.query(sql, [regNo])).map((row) => text(row, "partner_id"));
    },
  };
}
