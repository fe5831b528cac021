import type * as domain from "../domain/deliveries.ts";
import type { ChangeRecorder } from "./changes.ts";
import { bind, type Driver, type Row, type SqlStatement, type SqlValue } from "./driver/driver.ts";
import { boolean, integer, integerOrNull, rowReader, text, textOrNull } from "./driver/rows.ts";
import { lastIdBeforeSql } from "./evidence/attestations.ts";
import { requireRevision } from "./settings.ts";

/** A search for deliveries since a time begins this many ms earlier, because nodes' clocks differ by up to a minute. */
const disorderMs = 120_000;
/** The most rows that one commit changes. An API call hardly has to wait for a commit of so few rows. */
const chunkRows = 1_000;

/** SQL for why a partner gets no webhooks, else NULL. It needs `partners`, and `webhook_endpoints` AS `endpoint`. */
const heldBy = `CASE WHEN partners.disabled_at IS NOT NULL THEN 'partner'
  WHEN endpoint.partner_id IS NULL OR endpoint.disabled_at IS NOT NULL THEN 'endpoint'
  WHEN EXISTS (SELECT 1 FROM settings WHERE name = 'hold_webhooks' AND value = 'true') THEN 'restore' END`;

const details = `SELECT deliveries.*, event_id, event_type, content AS body, status AS last_status, error AS last_error,
    CASE WHEN state = 'pending' THEN ${heldBy} END AS held_by
  FROM page CROSS JOIN deliveries USING (id) CROSS JOIN events ON events.id = deliveries.event
    LEFT JOIN delivery_attempts ON delivery = deliveries.id AND number = attempts
    LEFT JOIN webhook_endpoints AS endpoint ON endpoint.partner_id = deliveries.partner_id
    LEFT JOIN partners ON partners.partner_id = deliveries.partner_id
  ORDER BY deliveries.id DESC`;

const retry = `UPDATE deliveries SET state = 'pending', finished_at = NULL, lease = NULL, due_at = ?,
    schedule_from = attempts WHERE delivery_id = ?`;
const lookBeforeRetry = `SELECT partner_id, state, lease, due_at, schedule_from = attempts AS is_whole,
    partner_id IN (SELECT partner_id FROM webhook_endpoints) AS has_endpoint
  FROM deliveries WHERE delivery_id = ?`;
const retryDead = `UPDATE deliveries SET state = 'pending', finished_at = NULL, due_at = ?1, schedule_from = attempts
  WHERE id IN (SELECT id FROM deliveries WHERE state = 'dead' AND finished_at >= ?2
    AND partner_id IN (SELECT partner_id FROM webhook_endpoints WHERE partner_id = coalesce(?3, partner_id)) LIMIT ?4)
  RETURNING id`;
/** Reads a page of pending deliveries without the new ones (`due_at` 0), which are due and have no attempt yet. */
const nextPending = `SELECT id, due_at, schedule_from < attempts AS is_under_way FROM deliveries
  WHERE state = 'pending' AND partner_id = ? AND (due_at, id) > (?, ?) ORDER BY due_at, id LIMIT ?`;
const makeDue = `UPDATE deliveries SET due_at = min(due_at, ?), schedule_from = attempts
  WHERE id IN (SELECT value FROM json_each(?)) AND state = 'pending' AND lease IS NULL RETURNING id`;
const markDead = `UPDATE deliveries SET state = 'dead', lease = NULL, finished_at = ?1
  WHERE id IN (SELECT id FROM deliveries WHERE state = 'pending' AND partner_id = ?2 LIMIT ?3)
    AND NOT EXISTS (SELECT 1 FROM webhook_endpoints WHERE partner_id = ?2) RETURNING id`;

const backlog = `WITH waiting AS (
    SELECT partner_id, count(*) AS pending FROM deliveries WHERE state = 'pending' GROUP BY partner_id),
  lost AS (SELECT partner_id, count(*) AS dead FROM deliveries WHERE state = 'dead' GROUP BY partner_id),
  found AS (SELECT partners.partner_id, coalesce(pending, 0) AS pending, coalesce(dead, 0) AS dead, ${heldBy} AS held_by,
      (SELECT iif(created_at <= ?1, created_at, NULL) FROM deliveries WHERE state = 'pending'
        AND partner_id = partners.partner_id AND due_at = 0 ORDER BY id LIMIT 1) AS fresh_since,
      (SELECT due_at FROM deliveries WHERE state = 'pending' AND partner_id = partners.partner_id
        AND due_at > 0 AND due_at <= ?1 ORDER BY due_at LIMIT 1) AS due_since
    FROM partners LEFT JOIN waiting USING (partner_id) LEFT JOIN lost USING (partner_id)
      LEFT JOIN webhook_endpoints AS endpoint USING (partner_id)
    WHERE pending > 0 OR dead > 0)
  SELECT *, coalesce(min(fresh_since, due_since), fresh_since, due_since) AS oldest_due_at FROM found ORDER BY partner_id`;

type RetryBy = { readonly partnerId: string; readonly revision: number };
type DeadFilter = { partnerId?: string | null | undefined; since?: number | undefined };

export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

/** Creates the store that lists and retries deliveries, and marks deliveries to a missing endpoint as dead. */
export function createDeliveryStore(driver: Driver, recorded: ChangeRecorder) {
  /** Repeats a statement in commits of {@link chunkRows} rows until no row is left. @param record is in the first commit */
  async function inChunks(sql: string, args: readonly SqlValue[], record: readonly SqlStatement[] = []) {
    let total = 0;
    for (;;) {
      const isFirst = total === 0;
      const count = await driver.write(async (tx) => {
        const rows = await tx.query(sql, [...args, chunkRows]);
        if (isFirst && rows.length > 0) await tx.batch(record);
        return rows.length;
      });
      total += count;
      if (count < chunkRows) return total;
    }
  }

  return {
    async deliveries(filter: domain.DeliveryFilter) {
      const { sql, args } = pageOf(filter);
      return (await driver.query(`WITH page AS MATERIALIZED (${sql}) ${details}`, args)).map(delivery);
    },
    async delivery(deliveryId: string) {
      const page = "WITH page AS (SELECT id FROM deliveries WHERE delivery_id = ?)";
      const [row] = await driver.query(`${page} ${details}`, [deliveryId]);
      if (row === undefined) return null;
      const sql = "SELECT * FROM delivery_attempts WHERE delivery = ? ORDER BY number";
      const attempts = await driver.query(sql, [integer(row, "id")]);
      return { ...delivery(row), body: text(row, "body"), attemptList: attempts.map(attempt) };
    },
    /**
     * Makes a pending or dead delivery due now and begins its schedule again.
     * @param by the partner, which must own the delivery and may repeat a delivered one; undefined for an operator
     * @throws ConflictError if the configuration has changed; nothing is changed then
     */
    retry(deliveryId: string, now: number, by?: RetryBy) {
      return driver.write(async (tx) => {
        if (by !== undefined) await requireRevision(tx, by.revision);
        const [row] = await tx.query(lookBeforeRetry, [deliveryId]);
        const outcome = retryOutcome(row, now, by);
        // A retry that changes nothing is not recorded, because repeated retries would fill `changes`.
        if (row === undefined || outcome !== "retried" || isDue(row, now)) return outcome;
        await tx.finish([
          bind(retry, [now, deliveryId]),
          ...(by === undefined ? [recorded({ action: "retried", kind: "delivery", id: deliveryId })] : []),
        ]);
        return outcome;
      });
    },
    /** Retries the deliveries that died at or after `since` and whose partner has an endpoint. @returns their number */
    retryDead(now: number, { partnerId = null, since = 0 }: DeadFilter) {
      const whose = { kind: partnerId === null ? "delivery" : "partner", id: partnerId ?? "dead" } as const;
      const record = recorded({ action: "dead deliveries retried", ...whose });
      return inChunks(retryDead, [now, since, partnerId], [record]);
    },
    /** Makes a partner's pending deliveries due now and begins their schedules again. @returns how many it changed */
    async makeDue(partnerId: string, now: number) {
      let total = 0;
      let after = { dueAt: 0, id: Number.MAX_SAFE_INTEGER };
      for (;;) {
        const page = await driver.query(nextPending, [partnerId, after.dueAt, after.id, chunkRows]);
        const waiting = page.filter((row) => integer(row, "due_at") > now || boolean(row, "is_under_way"));
        const ids = JSON.stringify(waiting.map((row) => integer(row, "id")));
        const [rows = []] = await driver.batch([{ sql: makeDue, args: [now, ids] }]);
        total += rows.length;
        const last = page.at(-1);
        if (last === undefined || page.length < chunkRows) return total;
        after = { dueAt: integer(last, "due_at"), id: integer(last, "id") };
      }
    },
    markDead: (partnerId: string, at: number) => inChunks(markDead, [at, partnerId]),
    async backlog(now: number) {
      return (await driver.query(backlog, [now])).map(partnerBacklog);
    },
  };
}

/** Makes the query for a page's ids. The state is a literal, because SQLite uses no partial index for a parameter. */
function pageOf({ state, partnerId, since, before, limit }: domain.DeliveryFilter): SqlStatement {
  const hasIndex = state === "pending" || state === "dead";
  const args: (string | number)[] = [limit];
  const bind = (value: string | number) => `?${args.push(value)}`;
  const conditions = [
    ...(state === undefined ? [] : [`state = '${state}'`]),
    ...(partnerId === undefined ? [] : [`partner_id = ${bind(partnerId)}`]),
    ...(before === undefined ? [] : [`id < ${bind(before)}`]),
  ];
  if (since !== undefined) {
    const earliest = lastIdBeforeSql(bind(since - disorderMs), "deliveries.created_at");
    conditions.push(`created_at >= ${bind(since)}`, `id > ${earliest}`);
  }
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const from = hasIndex ? `deliveries INDEXED BY deliveries_${state}` : "deliveries";
  return { sql: `SELECT id FROM ${from} ${where} ORDER BY id DESC LIMIT ?1`, args };
}

/** Decides the outcome of a retry. Only a partner may repeat an acknowledged delivery. */
function retryOutcome(row: Row | undefined, now: number, by: RetryBy | undefined): domain.RetryOutcome {
  if (row === undefined || (by !== undefined && by.partnerId !== text(row, "partner_id"))) return "not known";
  const state = text(row, "state");
  if (state === "delivered" && (by === undefined || !boolean(row, "has_endpoint"))) return "delivered";
  if (!boolean(row, "has_endpoint")) return "no endpoint";
  const isLeased = state === "pending" && row.lease !== null && integer(row, "due_at") > now;
  return isLeased ? "leased" : "retried";
}

/** Returns true if a delivery is due and its whole schedule is left, so that a retry would change nothing. */
function isDue(row: Row, now: number): boolean {
  const isWaiting = text(row, "state") === "pending" && row.lease === null;
  return isWaiting && integer(row, "due_at") <= now && boolean(row, "is_whole");
}

const delivery = rowReader<domain.Delivery>({
  ...{ id: integer, deliveryId: text, eventId: text, eventType: text, partnerId: text, state: text },
  ...{ attempts: integer, createdAt: integer },
  // A new delivery has `due_at` 0 and is due since it was created.
  dueAt: (row) =>
    text(row, "state") === "pending" ? integer(row, "due_at") || integer(row, "created_at") : null,
  leased: (row) => row.lease !== null,
  ...{ heldBy: textOrNull, finishedAt: integerOrNull, lastStatus: integerOrNull, lastError: textOrNull },
});

const attemptReaders = { number: integer, at: integer, status: integerOrNull, error: textOrNull };
const attempt = rowReader<domain.DeliveryAttempt>({ ...attemptReaders, durationMs: integer });

const partnerBacklog = rowReader<domain.PartnerBacklog>({
  ...{ partnerId: text, pending: integer, dead: integer, oldestDueAt: integerOrNull, heldBy: textOrNull },
});
