import type { IdempotencyRecord } from "../domain/idempotency.ts";
import type { Driver, SqlStatement } from "./driver/driver.ts";
import { bytes, integer, json, rowReader, text } from "./driver/rows.ts";

/** SQL condition: the stored answer's signing key is compromised. The answer then counts as not stored. */
export const hasCompromisedKeySql = `EXISTS (SELECT 1 FROM signing_keys
  WHERE signing_keys.kid = idempotency.kid AND state = 'compromised')`;

const keep = `INSERT OR REPLACE INTO idempotency (id, fingerprint, created_at, headers, body, kid)
  VALUES (?, ?, ?, ?, ?, ?)`;

/** Makes the INSERT of an answer. An expired answer or one of a compromised key is replaced. @param kid the signing key */
export function makeAnswerInsert(record: IdempotencyRecord, kid: string): SqlStatement {
  const { id, fingerprint, createdAt, headers, body } = record;
  return { sql: keep, args: [id, fingerprint, createdAt, JSON.stringify(headers), body, kid] };
}

const columns = { id: bytes, fingerprint: bytes, createdAt: integer, headers: json, body: text };
const storedRecord = rowReader<IdempotencyRecord>(columns);

export type IdempotencyStore = ReturnType<typeof createIdempotencyStore>;

export function createIdempotencyStore(driver: Driver) {
  return {
    async find(id: Uint8Array) {
      const sql = `SELECT * FROM idempotency WHERE id = ? AND NOT ${hasCompromisedKeySql}`;
      const [row] = await driver.query(sql, [id]);
      return row === undefined ? null : storedRecord(row);
    },
    /** Deletes at most `limit` records created before a time, the oldest first. @returns how many it deleted */
    async prune(before: number, limit: number) {
      const sql = `DELETE FROM idempotency WHERE rowid IN
        (SELECT rowid FROM idempotency WHERE created_at < ? ORDER BY created_at LIMIT ?) RETURNING 1 AS gone`;
      const [rows] = await driver.batch([{ sql, args: [before, limit] }]);
      return rows?.length ?? 0;
    },
  };
}
