import type { Driver } from "./driver/driver.ts";
import { text } from "./driver/rows.ts";

const oldest =
  "SELECT published_at FROM partner_events WHERE partner_events.partner_id = partners.partner_id ORDER BY event LIMIT 1";
/** Whose two oldest rows are old. */
const prunable = `SELECT partner_id FROM partners WHERE (${oldest}) < ?1 AND (${oldest} OFFSET 1) < ?1`;
/** From the oldest on, without a gap, each only when the one behind it is old too. */
const prune = `DELETE FROM partner_events WHERE partner_id = ?1 AND event IN (SELECT event FROM
  (SELECT event, lead(event) OVER (ORDER BY event) AS next,
    max(published_at) OVER (ORDER BY event ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) AS newest FROM
    (SELECT event, published_at FROM partner_events WHERE partner_id = ?1 ORDER BY event LIMIT ?3 + 1))
  WHERE newest < ?2 AND next IS NOT NULL) RETURNING 1 AS gone`;
/** From an event that does not exist, it finds nothing. */
const page = `SELECT event_id, content FROM partner_events CROSS JOIN events ON events.id = event
  WHERE partner_id = ?1 AND event >= iif(?2 IS NULL, 0, (SELECT id FROM events WHERE event_id = ?2))
  ORDER BY event LIMIT ?3`;

export type PartnerEventStore = ReturnType<typeof createPartnerEventStore>;

/** Which events each partner was told of; they are written with the events ({@link file://./events.ts}). */
export function createPartnerEventStore(driver: Driver) {
  return {
    /** The events that a partner was told of, in the order of their commits, from the event with the id `from` on. */
    async page(partnerId: string, { from, limit }: { from: string | null; limit: number }) {
      const rows = await driver.query(page, [partnerId, from, limit]);
      return rows.map((row) => ({ eventId: text(row, "event_id"), content: text(row, "content") }));
    },
    async partnersOf(eventId: string) {
      const sql = `SELECT partner_id FROM partners WHERE EXISTS (SELECT 1 FROM partner_events WHERE partner_events.partner_id = partners.partner_id
        AND event = (SELECT id FROM events WHERE event_id = ?)) ORDER BY partner_id`;
      return (await driver.query(sql, [eventId])).map((row) => text(row, "partner_id"));
    },
    /** The partners of which there is something to forget of before a time. */
    async prunable(before: number) {
      return (await driver.query(prunable, [before])).map((row) => text(row, "partner_id"));
    },
    /**
     * Forgets which events a partner was told of before a time, but for the last of them: who has fetched that one goes on
     * from it, and has missed nothing.
     * @returns how many of them, the oldest first, up to the limit
     */
    async prune(partnerId: string, { before, limit }: { before: number; limit: number }) {
      const [rows = []] = await driver.batch([{ sql: prune, args: [partnerId, before, limit] }]);
      return rows.length;
    },
  };
}
