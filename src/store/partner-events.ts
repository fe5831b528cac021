import type { Driver } from "./driver/driver.ts";
import { text } from "./driver/rows.ts";

const oldest =
  "SELECT published_at FROM partner_events WHERE partner_events.partner_id = partners.partner_id ORDER BY event LIMIT 1";
/** Finds the partners whose two oldest events were both published before `?1`, so that the oldest may be deleted. */
const prunable = `SELECT partner_id FROM partners WHERE (${oldest}) < ?1 AND (${oldest} OFFSET 1) < ?1`;
/** Deletes a partner's oldest events without leaving a gap, each only if the next event is old too. */
const prune = `DELETE FROM partner_events WHERE partner_id = ?1 AND event IN (SELECT event FROM
  (SELECT event, lead(event) OVER (ORDER BY event) AS next,
    max(published_at) OVER (ORDER BY event ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) AS newest FROM
    (SELECT event, published_at FROM partner_events WHERE partner_id = ?1 ORDER BY event LIMIT ?3 + 1))
  WHERE newest < ?2 AND next IS NOT NULL) RETURNING 1 AS gone`;
const page = `SELECT event_id, content FROM partner_events CROSS JOIN events ON events.id = event
  WHERE partner_id = ?1 AND event >= iif(?2 IS NULL, 0, (SELECT id FROM events WHERE event_id = ?2))
  ORDER BY event LIMIT ?3`;

export type PartnerEventStore = ReturnType<typeof createPartnerEventStore>;

/** Creates the store of the events published to each partner. `events.ts` writes them. */
export function createPartnerEventStore(driver: Driver) {
  return {
    /** Reads a partner's events in the order of their commits, from the event `from` on, or from the first if null. */
    async page(partnerId: string, { from, limit }: { from: string | null; limit: number }) {
      const rows = await driver.query(page, [partnerId, from, limit]);
      return rows.map((row) => ({ eventId: text(row, "event_id"), content: text(row, "content") }));
    },
    async partnersOf(eventId: string) {
      const sql = `SELECT partner_id FROM partners WHERE EXISTS (SELECT 1 FROM partner_events WHERE partner_events.partner_id = partners.partner_id
        AND event = (SELECT id FROM events WHERE event_id = ?)) ORDER BY partner_id`;
      return (await driver.query(sql, [eventId])).map((row) => text(row, "partner_id"));
    },
    /** Lists the partners that have events to delete, which were published before a time. */
    async prunable(before: number) {
      return (await driver.query(prunable, [before])).map((row) => text(row, "partner_id"));
    },
    /**
     * Deletes events that were published to a partner before a time, and keeps the newest of these events. A partner
     * that has fetched all of them passes this newest event as `after`, and would get EVENTS_GONE without it.
     * @returns the number of deleted events, at most `limit`, oldest first
     */
    async prune(partnerId: string, { before, limit }: { before: number; limit: number }) {
      const [rows = []] = await driver.batch([{ sql: prune, args: [partnerId, before, limit] }]);
      return rows.length;
    },
  };
}
