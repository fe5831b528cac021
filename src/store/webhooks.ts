import { service } from "../domain/changes.ts";
import type { TeacherEvent } from "../domain/events.ts";
import type { DisabledReason, EndpointTerms, WebhookEndpoint } from "../domain/webhooks.ts";
import { createRecorder } from "./changes.ts";
import { createDeliveryStore } from "./deliveries.ts";
import type { Driver, Row } from "./driver/driver.ts";
import { bytes, bytesOrNull, integer, integerOrNull, text, textOrNull } from "./driver/rows.ts";
import { testEvent } from "./events.ts";
import { partnerChange } from "./partners.ts";

/** Of one that is so already nothing is changed, and so nothing is recorded. */
const set = `INSERT INTO webhook_endpoints
    (partner_id, url, secret, created_at) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT (partner_id) DO UPDATE SET url = excluded.url, disabled_at = NULL, disabled_reason = NULL,
    failing_since = NULL, last_error = NULL
    WHERE url <> excluded.url OR coalesce(disabled_at, failing_since, last_error) IS NOT NULL`;
/**
 * A new secret. The condition stands in the statement: of two rotations at once only one makes the secret that
 * counts.
 */
const rotate = `UPDATE webhook_endpoints SET previous_secret = CASE WHEN ?1 IS NULL THEN NULL ELSE secret END,
  previous_until = ?1, secret = ?2 WHERE partner_id = ?3 AND secret = ?4 RETURNING *`;
/** Of one that is so already nothing is changed, and so nothing is recorded. */
const disable = `UPDATE webhook_endpoints SET disabled_at = ?1, disabled_reason = 'operator'
  WHERE partner_id = ?2 AND disabled_at IS NULL`;
const enable = `UPDATE webhook_endpoints SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL,
  last_error = NULL WHERE partner_id = ? AND coalesce(disabled_at, failing_since, last_error) IS NOT NULL`;

type SecretChange = { replaced: Uint8Array; secret: Uint8Array; previousUntil: number | null };

export type WebhookStore = ReturnType<typeof createWebhookStore>;

/**
 * Webhook endpoints, and the deliveries to them as an operator sees them.
 * @param acting in whose name they are changed
 */
export function createWebhookStore(driver: Driver, acting = service) {
  const recorded = createRecorder(acting);
  const ofEndpoint = (partnerId: string, action: string, detail: string | null = null) =>
    recorded({ action: `webhook ${action}`, kind: "partner", id: partnerId, detail });

  async function endpoint(partnerId: string): Promise<WebhookEndpoint | null> {
    const [row] = await driver.query("SELECT * FROM webhook_endpoints WHERE partner_id = ?", [partnerId]);
    return row === undefined ? null : webhookEndpoint(row);
  }

  return {
    ...createDeliveryStore(driver, recorded),
    endpoint,
    async endpoints() {
      const rows = await driver.query("SELECT * FROM webhook_endpoints ORDER BY partner_id");
      return rows.map(webhookEndpoint);
    },
    /** Makes an endpoint, or changes the one there is. Its secret stays. */
    async set({ partnerId, url, told = {}, secret, at }: EndpointTerms) {
      const args = [partnerId, url, secret, at];
      const filter = Object.keys(told).length === 0 ? [] : partnerChange(partnerId, { told }, recorded);
      // Of the address only where it leads: the rest may hold what opens it.
      await driver.batch([
        { sql: set, args },
        ofEndpoint(partnerId, "set", URL.parse(url)?.origin),
        ...filter,
      ]);
      const made = await endpoint(partnerId);
      if (made === null) throw new TypeError("the endpoint was not stored");
      return made;
    },
    /**
     * Puts a new secret in the place of the one that is `replaced`.
     * @returns null, having changed nothing, when the secret is another one by now
     */
    async rotateSecret(partnerId: string, { replaced, secret, previousUntil }: SecretChange) {
      const args = [previousUntil, secret, partnerId, replaced];
      const [rows] = await driver.batch([{ sql: rotate, args }, ofEndpoint(partnerId, "secret rotated")]);
      return rows?.[0] === undefined ? null : webhookEndpoint(rows[0]);
    },
    /** One that is disabled already keeps its time and reason. @returns null when there is none */
    async disable(partnerId: string, at: number) {
      await driver.batch([{ sql: disable, args: [at, partnerId] }, ofEndpoint(partnerId, "disabled")]);
      return endpoint(partnerId);
    },
    /** Enables, and forgets the failures. @returns null when there is none */
    async enable(partnerId: string) {
      await driver.batch([{ sql: enable, args: [partnerId] }, ofEndpoint(partnerId, "enabled")]);
      return endpoint(partnerId);
    },
    /** @returns false when there is none */
    async remove(partnerId: string) {
      const sql = "DELETE FROM webhook_endpoints WHERE partner_id = ? RETURNING partner_id";
      const [rows] = await driver.batch([{ sql, args: [partnerId] }, ofEndpoint(partnerId, "removed")]);
      return rows?.length === 1;
    },
    /** Stores an event and its delivery to this one partner. @returns false when its endpoint is not enabled */
    async addTest({ event, ...to }: { event: TeacherEvent; deliveryId: string; partnerId: string }) {
      const statements = [...testEvent(event, to), ofEndpoint(to.partnerId, "tested")];
      return (await driver.batch(statements))[1]?.length === 1;
    },
  };
}

function webhookEndpoint(row: Row): WebhookEndpoint {
  return {
    partnerId: text(row, "partner_id"),
    url: text(row, "url"),
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
