import { serviceActor } from "../domain/changes.ts";
import type { TeacherEvent } from "../domain/events.ts";
import type { EndpointTerms, WebhookEndpoint } from "../domain/webhooks.ts";
import { createChangeRecorder } from "./changes.ts";
import { createDeliveryStore } from "./deliveries.ts";
import { bind, type Driver, type SqlStatement } from "./driver/driver.ts";
import { bytes, bytesOrNull, integer, integerOrNull, rowReader, text, textOrNull } from "./driver/rows.ts";
import { makeTestEventStatements } from "./events.ts";
import { makeTermsUpdate, readPartner } from "./partners.ts";

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

type SecretChange = { secret: Uint8Array; previousUntil: number | null };
type TestEvent = { event: TeacherEvent; deliveryId: string; partnerId: string };

export type WebhookStore = ReturnType<typeof createWebhookStore>;

/** Creates the store of webhook endpoints and their deliveries. @param acting the recorded author of changes */
export function createWebhookStore(driver: Driver, acting = serviceActor) {
  const recorded = createChangeRecorder(acting);
  const ofEndpoint = (partnerId: string, action: string, detail: string | null = null) =>
    recorded({ action: `webhook ${action}`, kind: "partner", id: partnerId, detail });

  /** Changes an endpoint by the statements that `changeOf` returns. @returns the changed endpoint; null if none exists */
  function change(partnerId: string, changeOf: (before: WebhookEndpoint) => readonly SqlStatement[]) {
    return driver.write(async (tx) => {
      const before = await readEndpoint(tx, partnerId);
      if (before === null) return null;
      await tx.batch(changeOf(before));
      return readEndpoint(tx, partnerId);
    });
  }

  return {
    ...createDeliveryStore(driver, recorded),
    endpoint: (partnerId: string) => readEndpoint(driver, partnerId),
    async endpoints() {
      const rows = await driver.query("SELECT * FROM webhook_endpoints ORDER BY partner_id");
      return rows.map(webhookEndpoint);
    },
    /** Creates or changes a partner's endpoint. An existing endpoint keeps its secret. */
    set({ partnerId, url, eventFilter = {}, secret, at }: EndpointTerms) {
      return driver.write(async (tx) => {
        const before = await readEndpoint(tx, partnerId);
        // Only the URL's origin is recorded, because the rest of a URL may contain a secret.
        const setRecord = ofEndpoint(partnerId, "set", URL.parse(url)?.origin);
        const isUnchanged = before !== null && before.url === url && isUntroubled(before);
        const partner = await readPartner(tx, partnerId);
        await tx.batch([
          ...(isUnchanged ? [] : [bind(set, [partnerId, url, secret, at]), setRecord]),
          ...makeTermsUpdate(partner, { eventFilter }, recorded),
        ]);
        const made = await readEndpoint(tx, partnerId);
        if (made === null) throw new TypeError("the endpoint was not stored");
        return made;
      });
    },
    /** Replaces the secret. The old secret also signs until `previousUntil`. @returns null if no endpoint exists */
    rotateSecret: (partnerId: string, { secret, previousUntil }: SecretChange) =>
      change(partnerId, () => [
        bind(rotate, [previousUntil, secret, partnerId]),
        ofEndpoint(partnerId, "secret rotated"),
      ]),
    /** Disables the endpoint. The time and reason of an earlier disabling stay. @returns null if no endpoint exists */
    disable: (partnerId: string, at: number) =>
      change(partnerId, ({ disabledAt }) =>
        disabledAt === null ? [bind(disable, [at, partnerId]), ofEndpoint(partnerId, "disabled")] : [],
      ),
    /** Enables the endpoint and clears its failures. @returns null if no endpoint exists */
    enable: (partnerId: string) =>
      change(partnerId, (before) =>
        isUntroubled(before) ? [] : [bind(enable, [partnerId]), ofEndpoint(partnerId, "enabled")],
      ),
    /** Removes the endpoint. @returns false if no endpoint exists */
    async remove(partnerId: string) {
      const sql = "DELETE FROM webhook_endpoints WHERE partner_id = ?";
      return driver.write(async (tx) => {
        if ((await readEndpoint(tx, partnerId)) === null) return false;
        await tx.finish([bind(sql, [partnerId]), ofEndpoint(partnerId, "removed")]);
        return true;
      });
    },
    /** Stores a test event and its delivery. @returns false if the endpoint or the partner is disabled */
    addTest({ event, deliveryId, partnerId }: TestEvent) {
      return driver.write(async (tx) => {
        const endpoint = await readEndpoint(tx, partnerId);
        if (endpoint === null || endpoint.disabledAt !== null) return false;
        if ((await readPartner(tx, partnerId)).disabledAt !== null) return false;
        await tx.finish([
          ...makeTestEventStatements(event, { deliveryId, partnerId }),
          ofEndpoint(partnerId, "tested"),
        ]);
        return true;
      });
    },
  };
}

async function readEndpoint({ query }: Pick<Driver, "query">, partnerId: string) {
  const [row] = await query(selectEndpoint, [partnerId]);
  return row === undefined ? null : webhookEndpoint(row);
}

/** Returns true if an endpoint is neither disabled nor failing. Then setting the same URL changes nothing. */
function isUntroubled({ disabledAt, failingSince, lastError }: WebhookEndpoint): boolean {
  return disabledAt === null && failingSince === null && lastError === null;
}

const webhookEndpoint = rowReader<WebhookEndpoint>({
  ...{ partnerId: text, url: text, secret: bytes, previousSecret: bytesOrNull, previousUntil: integerOrNull },
  ...{ createdAt: integer, disabledAt: integerOrNull, disabledReason: textOrNull },
  ...{ failingSince: integerOrNull, lastError: textOrNull },
});
