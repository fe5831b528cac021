import type { TeacherEvent } from "../domain/events.ts";
import { bumpRevision } from "./deliveries.ts";
import type { RowsTarget, SqlStatement, Statement } from "./driver/driver.ts";

/** Events, each with whom it is told and the deliveries to them. Nothing else inserts into the table of events. */

const columns = ["event_id", "teacher_id", "event_type", "occurred_at", "content"] as const;
const rowsTarget: RowsTarget = { table: "events", columns };

const insertOfChange = `INSERT INTO events (${columns.join(", ")})
  SELECT ?, (SELECT id FROM teachers WHERE reg_no = ?), ?, ?, ? WHERE changes() = 1`;

const insertTestEvent = `INSERT INTO events (${columns.join(", ")})
  SELECT ?1, NULL, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM webhook_endpoints AS endpoint JOIN partners USING (partner_id)
    WHERE partner_id = ?5 AND endpoint.disabled_at IS NULL AND partners.disabled_at IS NULL)`;
const insertTestDelivery = `INSERT INTO deliveries (delivery_id, event, partner_id, created_at)
  SELECT ?, id, ?, occurred_at FROM events WHERE event_id = ? AND changes() = 1 RETURNING id`;

/** A UUID of version 7 with the time of the event's. */
const deliveryId = `substr(event_id, 1, 14) || '7' || substr(lower(hex(randomblob(2))), 2) || '-'
  || substr('89ab', 1 + (random() & 3), 1) || substr(lower(hex(randomblob(2))), 2) || '-' || lower(hex(randomblob(6)))`;

/**
 * Whether a partner has verified the teacher, also by attestations that were deleted. It is sought by the teacher (+), of
 * whom there are few.
 */
const hasVerified = `EXISTS (SELECT 1 FROM attestations
    WHERE attestations.teacher_id = events.teacher_id AND +partner_id = partners.partner_id)
  OR EXISTS (SELECT 1 FROM verified_before AS before
    WHERE before.teacher_id = events.teacher_id AND before.partner_id = partners.partner_id)`;

const isWatching = `EXISTS (SELECT 1 FROM watches WHERE watches.partner_id = partners.partner_id
    AND watches.reg_no = (SELECT reg_no FROM teachers WHERE teachers.id = events.teacher_id))`;

/** The rule of isTold (domain/told.ts), over many events. */
const isTold = `teacher_id IS NOT NULL AND partners.disabled_at IS NULL
  AND instr(told_events, '"' || event_type || '"') > 0
  AND CASE told_teachers WHEN 'all' THEN 1 WHEN 'verified' THEN ${hasVerified} ELSE ${isWatching} END`;

/** Events are never deleted, so those that were inserted last have the highest ids. */
const areNew = "changes() > 0 AND events.id > (SELECT max(id) FROM events) - ?";

const insertTold = `INSERT INTO told (partner_id, event, told_at)
  SELECT partner_id, events.id, coalesce((SELECT updated_at FROM teachers WHERE teachers.id = teacher_id), occurred_at)
  FROM events CROSS JOIN partners WHERE ${areNew} AND ${isTold}`;
const insertDeliveries = `INSERT INTO deliveries (delivery_id, event, partner_id, created_at)
  SELECT ${deliveryId}, events.id, told.partner_id, told_at
  FROM events CROSS JOIN webhook_endpoints AS endpoint CROSS JOIN told
    ON told.partner_id = endpoint.partner_id AND told.event = events.id WHERE ${areNew}`;

/**
 * Whom the events are told that the statement before it has stored, in the same transaction: each partner that this
 * transaction sees, and a delivery where it has an endpoint. It counts in changes(), so it stands behind all that
 * belongs to the change.
 * @param count how many events were to be stored; nothing happens when the last of them was not
 */
function fanOut(count: number): Statement[] {
  return [{ sql: insertTold, args: [count] }, { sql: insertDeliveries, args: [count] }, bumpRevision];
}

/**
 * The events of a change. They stand right behind the statement that makes the change, or behind another that depends
 * on it in the same way, and are stored only if that one changed its row.
 */
export function changeEvents(regNo: string, events: readonly TeacherEvent[]): Statement[] {
  if (events.length === 0) return [];
  const inserts = events.map(
    ({ eventId, eventType, occurredAt, body }): SqlStatement => ({
      sql: insertOfChange,
      args: [eventId, regNo, eventType, occurredAt, body],
    }),
  );
  return [...inserts, ...fanOut(events.length)];
}

/** The events of many teachers, unconditionally. */
export function eventsOf(teachers: readonly { id: number; events: readonly TeacherEvent[] }[]): Statement[] {
  const rows = teachers.flatMap(({ id, events }) =>
    events.map(({ eventId, eventType, occurredAt, body }) => [eventId, id, eventType, occurredAt, body]),
  );
  if (rows.length === 0) return [];
  return [{ insert: rowsTarget, rows: JSON.stringify(rows) }, ...fanOut(rows.length)];
}

/** An event that names nobody and its delivery to one partner, which the second statement returns if it was made. */
export function testEvent(event: TeacherEvent, to: { deliveryId: string; partnerId: string }): Statement[] {
  const facts = [event.eventId, event.eventType, event.occurredAt, event.body, to.partnerId];
  return [
    { sql: insertTestEvent, args: facts },
    { sql: insertTestDelivery, args: [to.deliveryId, to.partnerId, event.eventId] },
    bumpRevision,
  ];
}
