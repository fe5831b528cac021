import type { DisabledReason, TeacherChoice, WebhookEndpoint, WebhookStore } from "../domain/webhooks.ts";
import { type EventType, eventTypes } from "../partner/contract.ts";
import { createDeliveryStore } from "./deliveries.ts";
import type { Driver, Row, Value } from "./driver/driver.ts";
import { bytes, bytesOrNull, integer, integerOrNull, text, textOrNull } from "./driver/rows.ts";
import { testEvent } from "./events.ts";

const set = `INSERT INTO webhook_endpoints
    (partner_id, url, events, teachers, secret, created_at, disabled_at, disabled_reason)
  VALUES (?1, ?2, coalesce(?3, ?7), coalesce(?4, 'all'), ?5, ?6, iif(?8, ?6, NULL), iif(?8, 'operator', NULL))
  ON CONFLICT (partner_id) DO UPDATE SET url = excluded.url, events = coalesce(?3, events),
    teachers = coalesce(?4, teachers), disabled_at = excluded.disabled_at,
    disabled_reason = excluded.disabled_reason, failing_since = NULL, last_error = NULL
  RETURNING *`;
/**
 * A new secret. The condition stands in the statement: of two rotations at once only one makes the secret that
 * counts.
 */
const rotate = `UPDATE webhook_endpoints SET previous_secret = CASE WHEN ?1 IS NULL THEN NULL ELSE secret END,
  previous_until = ?1, secret = ?2 WHERE partner_id = ?3 AND secret = ?4 RETURNING *`;
const disable = `UPDATE webhook_endpoints SET disabled_at = coalesce(disabled_at, ?1),
  disabled_reason = coalesce(disabled_reason, 'operator') WHERE partner_id = ?2 RETURNING *`;
const enable = `UPDATE webhook_endpoints SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL,
  last_error = NULL WHERE partner_id = ? RETURNING *`;

/** Webhook endpoints, and the deliveries to them as an operator sees them. */
export function createWebhookStore(driver: Driver): WebhookStore {
  async function change(sql: string, args: readonly Value[]): Promise<WebhookEndpoint | null> {
    const [rows] = await driver.batch([{ sql, args }]);
    return rows?.[0] === undefined ? null : webhookEndpoint(rows[0]);
  }

  return {
    ...createDeliveryStore(driver),
    async endpoints() {
      const rows = await driver.query("SELECT * FROM webhook_endpoints ORDER BY partner_id");
      return rows.map(webhookEndpoint);
    },
    async endpoint(partnerId) {
      const [row] = await driver.query("SELECT * FROM webhook_endpoints WHERE partner_id = ?", [partnerId]);
      return row === undefined ? null : webhookEndpoint(row);
    },
    async set({ partnerId, url, events, teachers, secret, at, isDisabled = false }) {
      const list = events === null ? null : JSON.stringify(events);
      const made = await change(set, [
        partnerId,
        url,
        list,
        teachers,
        secret,
        at,
        JSON.stringify(eventTypes),
        isDisabled ? 1 : 0,
      ]);
      if (made === null) throw new TypeError("the endpoint was not stored");
      return made;
    },
    rotateSecret: (partnerId, { replaced, secret, previousUntil }) =>
      change(rotate, [previousUntil, secret, partnerId, replaced]),
    disable: (partnerId, at) => change(disable, [at, partnerId]),
    enable: (partnerId) => change(enable, [partnerId]),
    async remove(partnerId) {
      const sql = "DELETE FROM webhook_endpoints WHERE partner_id = ? RETURNING partner_id";
      const [rows] = await driver.batch([{ sql, args: [partnerId] }]);
      return rows?.length === 1;
    },
    async addTest({ event, ...to }) {
      return (await driver.batch(testEvent(event, to)))[1]?.length === 1;
    },
  };
}

function webhookEndpoint(row: Row): WebhookEndpoint {
  return {
    partnerId: text(row, "partner_id"),
    url: text(row, "url"),
    events: JSON.parse(text(row, "events")) as EventType[],
    teachers: text(row, "teachers") as TeacherChoice,
    secret: bytes(row, "secret"),
    previousSecret: bytesOrNull(row, "previous_secret"),
    previousUntil: integerOrNull(row, "previous_until"),
    createdAt: integer(row, "created_at"),
    disabledAt: integerOrNull(row, "disabled_at"),
    disabledReason: textOrNull(row, "disabled_reason") as DisabledReason | null,
    failingSince: integerOrNull(row, "failing_since"),
    lastError: textOrNull(row, "last_error"),
  };
}
