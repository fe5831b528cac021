import type { ToldStore } from "../domain/told.ts";
import type { Driver } from "./driver/driver.ts";
import { text } from "./driver/rows.ts";

/** Whose oldest row is old and not the newest as well. */
const prunable = `SELECT partner_id FROM partners WHERE
  (SELECT told_at FROM told WHERE told.partner_id = partners.partner_id ORDER BY event LIMIT 1) < ?
  AND (SELECT min(event) <> max(event) FROM told WHERE told.partner_id = partners.partner_id)`;
/** From the oldest on: a row that lies behind one that is kept is kept too, so what is kept has no gap. */
const prune = `DELETE FROM told WHERE partner_id = ?1 AND event IN
    (SELECT event FROM (SELECT event, max(told_at) OVER (ORDER BY event) AS newest FROM
      (SELECT event, told_at FROM told WHERE partner_id = ?1 ORDER BY event LIMIT ?3)) WHERE newest < ?2)
  AND event < (SELECT max(event) FROM told WHERE partner_id = ?1) RETURNING 1 AS gone`;

/** Which events each partner was told of; they are written with the events ({@link file://./events.ts}). */
export function createToldStore(driver: Driver): ToldStore {
  return {
    async prunable(before) {
      return (await driver.query(prunable, [before])).map((row) => text(row, "partner_id"));
    },
    async prune(partnerId, { before, limit }) {
      const [rows = []] = await driver.batch([{ sql: prune, args: [partnerId, before, limit] }]);
      return rows.length;
    },
  };
}
