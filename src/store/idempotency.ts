import type { Attestation } from "../domain/attestations.ts";
import { type IdempotencyRecord, type IdempotencyStore, keepIdempotencyMs } from "../domain/idempotency.ts";
import { type Condition, isAttested } from "./conditions.ts";
import type { Driver, SqlStatement } from "./driver/driver.ts";
import { bytes, integer, text } from "./driver/rows.ts";

/** A record whose key was declared compromised counts as absent: its envelope must not be handed out again. */
const isCompromised = `EXISTS (SELECT 1 FROM signing_keys
  WHERE signing_keys.kid = idempotency.kid AND state = 'compromised')`;

const isUnused = `NOT EXISTS (SELECT 1 FROM idempotency WHERE id = ? AND created_at >= ? AND NOT ${isCompromised})`;

/** No call with this key was answered before, or longer ago than answers are kept. */
export function keyUnused({ id, createdAt }: IdempotencyRecord): Condition {
  return { sql: isUnused, args: [id, createdAt - keepIdempotencyMs] };
}

/** What stood under the key, and counts as absent, gives way. */
const put = `INSERT OR REPLACE INTO idempotency (id, fingerprint, created_at, headers, body, kid)
  SELECT ?, ?, ?, ?, ?, ? WHERE ${isAttested}`;

/** Keeps the answer of a call whose attestation is stored; `kid` is the key that signed it. */
export function idempotencyStatement(
  { id, fingerprint, createdAt, headers, body }: IdempotencyRecord,
  { kid, verificationId }: Pick<Attestation, "kid" | "verificationId">,
): SqlStatement {
  const args = [id, fingerprint, createdAt, JSON.stringify(headers), body, kid, verificationId];
  return { sql: put, args };
}

export function createIdempotencyStore(driver: Driver): IdempotencyStore {
  return {
    async find(id) {
      const [row] = await driver.query(`SELECT * FROM idempotency WHERE id = ? AND NOT ${isCompromised}`, [
        id,
      ]);
      if (row === undefined) return null;
      return {
        id,
        fingerprint: bytes(row, "fingerprint"),
        createdAt: integer(row, "created_at"),
        headers: JSON.parse(text(row, "headers")) as Record<string, string>,
        body: text(row, "body"),
      };
    },
    async prune(before, limit) {
      const sql = `DELETE FROM idempotency WHERE rowid IN
        (SELECT rowid FROM idempotency WHERE created_at < ? ORDER BY created_at LIMIT ?) RETURNING 1 AS gone`;
      const [rows] = await driver.batch([{ sql, args: [before, limit] }]);
      return rows?.length ?? 0;
    },
  };
}
