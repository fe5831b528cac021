import { type IdempotencyRecord, type IdempotencyStore, keepIdempotencyMs } from "../domain/idempotency.ts";
import type { Driver, Statement } from "./driver/driver.ts";
import { bytes, integer, text } from "./driver/rows.ts";

/** Fails the whole commit when the key was used already, so that no work is ever stored twice. */
const insert = `INSERT INTO idempotency (id, fingerprint, created_at, headers, body, kid)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE EXISTS (SELECT 1 FROM signing_keys WHERE kid = ?6 AND state = 'active')`;

/** A record whose key was declared compromised counts as absent: its envelope must not be handed out again. */
const isCompromised = `EXISTS (SELECT 1 FROM signing_keys
  WHERE signing_keys.kid = idempotency.kid AND state = 'compromised')`;

/**
 * The record of an answer; one that was kept long enough, or whose key is compromised, gives way to it.
 * @param kid the key that signed the answer and must still be active
 */
export function idempotencyStatements(record: IdempotencyRecord, kid: string): Statement[] {
  const { id, fingerprint, createdAt, headers, body } = record;
  return [
    {
      sql: `DELETE FROM idempotency WHERE id = ? AND (created_at < ? OR ${isCompromised})`,
      args: [id, createdAt - keepIdempotencyMs],
    },
    { sql: insert, args: [id, fingerprint, createdAt, JSON.stringify(headers), body, kid] },
  ];
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
