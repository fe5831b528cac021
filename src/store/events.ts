import type { TeacherEvent } from "../domain/events.ts";
import type { Statement } from "./driver/driver.ts";

const insert = `INSERT INTO events (event_id, teacher_id, event_type, occurred_at, body)
  SELECT ?, (SELECT id FROM teachers WHERE reg_no = ?), ?, ?, ? WHERE changes() = 1`;

/**
 * The event of a change. It stands right after the statement that makes the change, or after another that
 * depends on it in the same way, and is stored only if that one changed its row.
 */
export function insertEvent(regNo: string, event: TeacherEvent): Statement {
  return { sql: insert, args: [event.eventId, regNo, event.eventType, event.occurredAt, event.body] };
}
