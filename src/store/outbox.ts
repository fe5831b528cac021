import type {
  DeliveryLease,
  FinishedAttempt,
  LeasedDelivery,
  LeaseRequest,
  SendableEndpoint,
} from "../domain/deliveries.ts";
import { endpointFailureLimitMs } from "../domain/webhook-schedule.ts";
import type { GroupCommit, GroupWriter } from "./driver/commits.ts";
import { bind, type Driver, type SqlStatement } from "./driver/driver.ts";
import { bytes, bytesOrNull, integer, integerOrNull, rowReader, text } from "./driver/rows.ts";

/** Reads the endpoints that may get webhooks: endpoint and partner are enabled, and webhooks are not held. */
const open = `SELECT partner_id, url, secret, previous_secret, previous_until, failing_since,
    (SELECT due_at FROM deliveries WHERE state = 'pending' AND partner_id = endpoint.partner_id
      ORDER BY due_at LIMIT 1) AS next_due_at
  FROM webhook_endpoints AS endpoint JOIN partners USING (partner_id)
  WHERE endpoint.disabled_at IS NULL AND partners.disabled_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM settings WHERE name = 'hold_webhooks' AND value = 'true')`;

/** Leases due deliveries: first retries, up to half of the limit, so that the other half is left for new deliveries. */
const leaseDue = `UPDATE deliveries SET lease = ?1, due_at = ?2 WHERE id IN (
    SELECT id FROM (
      SELECT id FROM (SELECT id FROM deliveries WHERE state = 'pending' AND partner_id = ?3
        AND due_at > 0 AND due_at <= ?4 AND id NOT IN (SELECT value FROM json_each(?5)) ORDER BY due_at LIMIT (?6 + 1) / 2)
      UNION ALL
      SELECT id FROM (SELECT id FROM deliveries WHERE state = 'pending' AND partner_id = ?3
        AND due_at = 0 ORDER BY id LIMIT ?6))
    LIMIT ?6)
  AND EXISTS (SELECT 1 FROM webhook_endpoints AS endpoint JOIN partners USING (partner_id)
    WHERE partner_id = ?3 AND endpoint.disabled_at IS NULL AND partners.disabled_at IS NULL)
  RETURNING id, delivery_id, partner_id, lease, attempts, attempts - schedule_from AS scheduled_attempts,
    (SELECT event_id FROM events WHERE events.id = deliveries.event) AS event_id,
    (SELECT event_type FROM events WHERE events.id = deliveries.event) AS event_type,
    (SELECT content FROM events WHERE events.id = deliveries.event) AS body`;

const leasesOf = `SELECT id, lease FROM deliveries
  WHERE id IN (SELECT value FROM json_each(?)) AND state = 'pending' AND lease IS NOT NULL`;
const finishDelivery = `UPDATE deliveries SET state = ?, due_at = ?, finished_at = ?, lease = NULL,
  attempts = attempts + 1 WHERE id = ?`;
const insertAttempt = `INSERT INTO delivery_attempts (delivery, number, at, status, error, duration_ms)
  SELECT id, attempts, ?1, ?2, ?3, ?4 FROM deliveries WHERE id = ?5`;
const endpointSucceeded = `UPDATE webhook_endpoints SET failing_since = NULL, last_error = NULL
  WHERE partner_id = ?1 AND url = ?2 AND failing_since IS NOT NULL`;
const endpointFailed = `UPDATE webhook_endpoints SET failing_since = coalesce(failing_since, ?1), last_error = ?2,
    disabled_at = CASE WHEN disabled_at IS NULL AND (?3 OR failing_since <= ?4) THEN ?1 ELSE disabled_at END,
    disabled_reason = CASE WHEN disabled_at IS NOT NULL THEN disabled_reason WHEN ?3 THEN 'gone'
      WHEN failing_since <= ?4 THEN 'failing' END
  WHERE partner_id = ?5 AND url = ?6`;

const release = `UPDATE deliveries SET lease = NULL, due_at = CASE WHEN attempts = 0 THEN 0 ELSE ? END
  WHERE id = ? AND lease = ? AND state = 'pending'`;

/** Ends all leases. `due_at > 0` leaves out new deliveries. SQLite searches the index once for each partner. */
const releaseAll = `UPDATE deliveries SET lease = NULL, due_at = CASE WHEN attempts = 0 THEN 0 ELSE ? END
  WHERE id IN (SELECT deliveries.id FROM partners CROSS JOIN deliveries INDEXED BY deliveries_pending USING (partner_id)
    WHERE state = 'pending' AND due_at > 0 AND lease IS NOT NULL)`;

export type Outbox = ReturnType<typeof createOutbox>;

/**
 * Creates the outbox of the webhook sender. Only the holder of a delivery's lease may finish the delivery. When the
 * lease ends, the delivery is due again. Writes share the group commit with API calls.
 */
export function createOutbox(driver: Driver, commit: GroupCommit) {
  return {
    /** Lists the endpoints to which the sender may send. `nextDueAt` is null if no delivery waits. */
    async open() {
      return (await driver.query(open)).map(openEndpoint);
    },
    /** Leases due deliveries of enabled endpoints, in one commit. */
    async lease(requests: readonly LeaseRequest[], lease: DeliveryLease) {
      const rows = await commit(requests.map((request) => leaseStatement(request, lease)));
      return rows.flat().map(leasedDelivery);
    },
    /** Records an attempt. @returns false, without a change, if another sender has the lease */
    finish: (attempt: FinishedAttempt) => commit.inGroup(finishing, attempt),
    /** Ends leases without an attempt. Their deliveries are due now. */
    async release(leased: readonly Pick<LeasedDelivery, "id" | "lease">[], now: number) {
      if (leased.length === 0) return;
      await commit(leased.map(({ id, lease }) => bind(release, [now, id, lease])));
    },
    /** Ends all leases when a database file's only service starts: no other process can have a lease. */
    async releaseAll(now: number) {
      await commit([bind(releaseAll, [now])]);
    },
  };
}

function leaseStatement({ partnerId, limit, except }: LeaseRequest, { token, now, until }: DeliveryLease) {
  return { sql: leaseDue, args: [token, until, partnerId, now, JSON.stringify(except), limit] };
}

/** Records finished attempts, except attempts whose sender has lost the lease. */
const finishing: GroupWriter<FinishedAttempt, boolean> = {
  weigh: () => 3,
  async write(tx, attempts) {
    const ids = JSON.stringify(attempts.map(({ delivery: { id } }) => id));
    const rows = await tx.query(leasesOf, [ids]);
    const leases = new Map(rows.map((row) => [integer(row, "id"), text(row, "lease")]));
    const isHeld = ({ delivery: { id, lease } }: FinishedAttempt) => leases.get(id) === lease;
    await tx.finish(attempts.filter(isHeld).flatMap(finishStatements));
    return attempts.map(isHeld);
  },
};

function finishStatements(attempt: FinishedAttempt): SqlStatement[] {
  const { delivery: one, at, finishedAt, status, error, durationMs, next } = attempt;
  const isPending = typeof next === "object";
  const state = isPending ? "pending" : next;
  const dueAt = isPending ? next.dueAt : finishedAt;
  return [
    { sql: finishDelivery, args: [state, dueAt, isPending ? null : finishedAt, one.id] },
    { sql: insertAttempt, args: [at, status, error, durationMs, one.id] },
    endpointStatement(attempt),
  ];
}

function endpointStatement({ delivery: one, url, finishedAt, status, error, isGone }: FinishedAttempt) {
  if (error === null) return bind(endpointSucceeded, [one.partnerId, url]);
  const lastError = status === null ? error : `${error} ${status}`;
  const failingLongerThan = finishedAt - endpointFailureLimitMs;
  return bind(endpointFailed, [finishedAt, lastError, isGone, failingLongerThan, one.partnerId, url]);
}

const openEndpoint = rowReader<SendableEndpoint>({
  ...{ partnerId: text, url: text, secret: bytes, previousSecret: bytesOrNull },
  ...{ previousUntil: integerOrNull, failingSince: integerOrNull, nextDueAt: integerOrNull },
});

const leasedDelivery = rowReader<LeasedDelivery>({
  ...{ id: integer, deliveryId: text, partnerId: text, eventId: text, eventType: text, body: text },
  ...{ lease: text, attempts: integer, scheduledAttempts: integer },
});
