import type { Attestation } from "../domain/attestations.ts";
import { type IdempotencyRecord, type IdempotencyStore, keepIdempotencyMs } from "../domain/idempotency.ts";
import { type Condition, isAttested, isAttestedAs } from "./conditions.ts";
import { type Driver, rowsInJson, type SqlStatement } from "./driver/driver.ts";
import { bytes, integer, text } from "./driver/rows.ts";

/** A record whose key was declared compromised counts as absent: its envelope must not be handed out again. */
const isCompromised = `EXISTS (SELECT 1 FROM signing_keys
  WHERE signing_keys.kid = idempotency.kid AND state = 'compromised')`;

/** No call with this key was answered since: SQL for the key's id and for the time. */
export function isUnusedAs(id: string, since: string): string {
  return `NOT EXISTS (SELECT 1 FROM idempotency WHERE id = ${id} AND created_at >= ${since} AND NOT ${isCompromised})`;
}
const isUnused = isUnusedAs("?", "?");

/** No call with this key was answered before, or longer ago than answers are kept. */
export function keyUnused({ id, createdAt }: IdempotencyRecord): Condition {
  return { sql: isUnused, args: [id, usedSince({ createdAt })] };
}

/** A record from before then is forgotten. */
export function usedSince({ createdAt }: Pick<IdempotencyRecord, "createdAt">): number {
  return createdAt - keepIdempotencyMs;
}

/** What stood under the key, and counts as absent, gives way. */
const put = `INSERT OR REPLACE INTO idempotency (id, fingerprint, created_at, headers, body, kid)
  SELECT ?, ?, ?, ?, ?, ? WHERE ${isAttested}`;

/** {@link put} for many answers, the last member of each the verification id; bytes are hex. */
const putEach = `INSERT OR REPLACE INTO idempotency (id, fingerprint, created_at, headers, body, kid)
  SELECT unhex(kept.value ->> 0), unhex(kept.value ->> 1), kept.value ->> 2, kept.value ->> 3, kept.value ->> 4,
    kept.value ->> 5
  FROM json_each(?) AS kept WHERE ${isAttestedAs("kept.value ->> 6")}`;

type Answered = {
  readonly record: IdempotencyRecord;
  readonly first: Pick<Attestation, "kid" | "verificationId">;
};

/** {@link idempotencyStatement} for many calls. */
export function idempotencyOfEach(answered: readonly Answered[]): SqlStatement {
  const rows = answered.map(({ record, first }) => idempotencyStatement(record, first).args);
  return { sql: putEach, args: [rowsInJson(rows)] };
}

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
