/** Inserts events, the partners that may fetch each event, and the events' deliveries. No other file inserts events. */

import type { TeacherEvent } from "../domain/events.ts";
import { bind, makeInserts } from "./driver/driver.ts";

const columns = ["event_id", "teacher_id", "event_type", "occurred_at", "content"] as const;

const insertTestDelivery = `INSERT INTO deliveries (delivery_id, event, partner_id, created_at)
  SELECT ?, id, ?, occurred_at FROM events WHERE event_id = ?`;

/** SQL for a version 7 UUID with the timestamp of the event's id. */
const deliveryId = `substr(event_id, 1, 14) || '7' || substr(lower(hex(randomblob(2))), 2) || '-'
  || substr('89ab', 1 + (random() & 3), 1) || substr(lower(hex(randomblob(2))), 2) || '-' || lower(hex(randomblob(6)))`;

/**
 * SQL condition: the partner has verified the teacher, by an attestation that exists or was deleted. The `+` makes
 * SQLite search by teacher, because a teacher has fewer attestations than a partner.
 */
const hasVerified = `EXISTS (SELECT 1 FROM attestations
    WHERE attestations.teacher_id = events.teacher_id AND +partner_id = partners.partner_id)
  OR EXISTS (SELECT 1 FROM verified_before AS before
    WHERE before.teacher_id = events.teacher_id AND before.partner_id = partners.partner_id)`;

const isWatching = `EXISTS (SELECT 1 FROM watches WHERE watches.partner_id = partners.partner_id
    AND watches.reg_no = (SELECT reg_no FROM teachers WHERE teachers.id = events.teacher_id))`;

/** SQL condition: the partner is enabled and its event filter has the event. A test event (no teacher) never passes. */
const isPublishedTo = `teacher_id IS NOT NULL AND partners.disabled_at IS NULL
  AND instr(event_filter, '"' || event_type || '"') > 0
  AND CASE teacher_filter WHEN 'all' THEN 1 WHEN 'verified' THEN ${hasVerified} ELSE ${isWatching} END`;

/** SQL condition: the event is one of the last `?` inserted, which have the highest ids: events are never deleted. */
const areNew = "events.id > (SELECT max(id) FROM events) - ?";

const insertPublished = `INSERT INTO partner_events (partner_id, event, published_at)
  SELECT partner_id, events.id, coalesce((SELECT updated_at FROM teachers WHERE teachers.id = teacher_id), occurred_at)
  FROM events CROSS JOIN partners WHERE ${areNew} AND ${isPublishedTo}`;
const insertDeliveries = `INSERT INTO deliveries (delivery_id, event, partner_id, created_at)
  SELECT ${deliveryId}, events.id, partner_events.partner_id, published_at
  FROM events CROSS JOIN webhook_endpoints AS endpoint CROSS JOIN partner_events
    ON partner_events.partner_id = endpoint.partner_id AND partner_events.event = events.id WHERE ${areNew}`;

/** Makes statements that store events, the partners whose filters include each event, and the events' deliveries. */
export function makeEventStatements(teachers: readonly { id: number; events: readonly TeacherEvent[] }[]) {
  const rows = teachers.flatMap(({ id, events }) =>
    events.map(({ eventId, eventType, occurredAt, body }) => [eventId, id, eventType, occurredAt, body]),
  );
  if (rows.length === 0) return [];
  return [
    ...makeInserts("events", columns, rows),
    bind(insertPublished, [rows.length]),
    bind(insertDeliveries, [rows.length]),
  ];
}

/** Makes statements for a test event, which names no teacher, and its delivery to one partner. */
export function makeTestEventStatements(event: TeacherEvent, to: { deliveryId: string; partnerId: string }) {
  return [
    ...makeInserts("events", columns, [[event.eventId, null, event.eventType, event.occurredAt, event.body]]),
    bind(insertTestDelivery, [to.deliveryId, to.partnerId, event.eventId]),
  ];
}
