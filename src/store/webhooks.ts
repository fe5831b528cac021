import { Buffer } from "node:buffer";
import { service } from "../domain/changes.ts";
import type { TeacherEvent } from "../domain/events.ts";
import type { EndpointTerms, WebhookEndpoint } from "../domain/webhooks.ts";
import { createRecorder } from "./changes.ts";
import { createDeliveryStore } from "./deliveries.ts";
import { type Driver, type Statement, statement, type Transaction } from "./driver/driver.ts";
import { bytes, bytesOrNull, integer, integerOrNull, text, textOrNull } from "./driver/rows.ts";
import { testEvent } from "./events.ts";
import { partnerChange, readPartner } from "./partners.ts";
import { reading } from "./records.ts";

const selectEndpoint = "SELECT * FROM webhook_endpoints WHERE partner_id = ?";
const set = `INSERT INTO webhook_endpoints
    (partner_id, url, secret, created_at) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT (partner_id) DO UPDATE SET url = excluded.url, disabled_at = NULL, disabled_reason = NULL,
    failing_since = NULL, last_error = NULL`;
const rotate = `UPDATE webhook_endpoints SET previous_secret = CASE WHEN ?1 IS NULL THEN NULL ELSE secret END,
  previous_until = ?1, secret = ?2 WHERE partner_id = ?3`;
const disable =
  "UPDATE webhook_endpoints SET disabled_at = ?, disabled_reason = 'operator' WHERE partner_id = ?";
const enable = `UPDATE webhook_endpoints SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL,
  last_error = NULL WHERE partner_id = ?`;

type SecretChange = { replaced: Uint8Array; secret: Uint8Array; previousUntil: number | null };
type TestEvent = { event: TeacherEvent; deliveryId: string; partnerId: string };

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
    const [row] = await driver.query(selectEndpoint, [partnerId]);
    return row === undefined ? null : webhookEndpoint(row);
  }

  /** Changes an endpoint by the statements of `changeOf`. @returns the changed endpoint; null where there is none */
  function change(partnerId: string, changeOf: (before: WebhookEndpoint) => readonly Statement[]) {
    return driver.write(async (tx) => {
      const before = await readEndpoint(tx, partnerId);
      if (before === null) return null;
      await tx.batch(changeOf(before));
      return readEndpoint(tx, partnerId);
    });
  }

  return {
    ...createDeliveryStore(driver, recorded),
    endpoint,
    async endpoints() {
      const rows = await driver.query("SELECT * FROM webhook_endpoints ORDER BY partner_id");
      return rows.map(webhookEndpoint);
    },
    /** Makes an endpoint, or changes the one there is. Its secret stays. */
    set({ partnerId, url, eventFilter = {}, secret, at }: EndpointTerms) {
      return driver.write(async (tx) => {
        const before = await readEndpoint(tx, partnerId);
        // Only the origin is recorded: the rest of the address may hold a secret.
        const setRecord = ofEndpoint(partnerId, "set", URL.parse(url)?.origin);
        const isSo = before !== null && before.url === url && isUntroubled(before);
        const partner = await readPartner(tx, partnerId);
        await tx.batch([
          ...(isSo ? [] : [statement(set, [partnerId, url, secret, at]), setRecord]),
          ...partnerChange(partner, { eventFilter }, recorded),
        ]);
        const made = await readEndpoint(tx, partnerId);
        if (made === null) throw new TypeError("the endpoint was not stored");
        return made;
      });
    },
    /**
     * Puts a new secret in the place of the one that is `replaced`.
     * @returns null, having changed nothing, when the secret is another one by now
     */
    rotateSecret(partnerId: string, { replaced, secret, previousUntil }: SecretChange) {
      return driver.write(async (tx) => {
        const before = await readEndpoint(tx, partnerId);
        if (before === null || !areEqual(before.secret, replaced)) return null;
        const rotated = ofEndpoint(partnerId, "secret rotated");
        await tx.batch([statement(rotate, [previousUntil, secret, partnerId]), rotated]);
        return readEndpoint(tx, partnerId);
      });
    },
    /** One that is disabled already keeps its time and reason. @returns null when there is none */
    disable: (partnerId: string, at: number) =>
      change(partnerId, ({ disabledAt }) =>
        disabledAt === null ? [statement(disable, [at, partnerId]), ofEndpoint(partnerId, "disabled")] : [],
      ),
    /** Enables, and forgets the failures. @returns null when there is none */
    enable: (partnerId: string) =>
      change(partnerId, (before) =>
        isUntroubled(before) ? [] : [statement(enable, [partnerId]), ofEndpoint(partnerId, "enabled")],
      ),
    /** @returns false when there is none */
    async remove(partnerId: string) {
      const sql = "DELETE FROM webhook_endpoints WHERE partner_id = ?";
      return driver.write(async (tx) => {
        if ((await readEndpoint(tx, partnerId)) === null) return false;
        await tx.batch([statement(sql, [partnerId]), ofEndpoint(partnerId, "removed")]);
        return true;
      });
    },
    /** Stores an event and its delivery to this one partner. @returns false when its endpoint is not enabled */
    addTest({ event, deliveryId, partnerId }: TestEvent) {
      return driver.write(async (tx) => {
        const endpoint = await readEndpoint(tx, partnerId);
        if (endpoint === null || endpoint.disabledAt !== null) return false;
        if ((await readPartner(tx, partnerId)).disabledAt !== null) return false;
        await tx.batch([...testEvent(event, { deliveryId, partnerId }), ofEndpoint(partnerId, "tested")]);
        return true;
      });
    },
  };
}

async function readEndpoint(tx: Transaction, partnerId: string): Promise<WebhookEndpoint | null> {
  const [[row] = []] = await tx.batch([statement(selectEndpoint, [partnerId])]);
  return row === undefined ? null : webhookEndpoint(row);
}

/** Neither disabled nor failing. */
function isUntroubled({ disabledAt, failingSince, lastError }: WebhookEndpoint): boolean {
  return disabledAt === null && failingSince === null && lastError === null;
}

const areEqual = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;

const webhookEndpoint = reading<WebhookEndpoint>({
  ...{ partnerId: text, url: text, secret: bytes, previousSecret: bytesOrNull, previousUntil: integerOrNull },
  ...{ createdAt: integer, disabledAt: integerOrNull, disabledReason: textOrNull },
  ...{ failingSince: integerOrNull, lastError: textOrNull },
});
