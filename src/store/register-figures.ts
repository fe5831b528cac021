import { isTvsError } from "../domain/errors.ts";
import type { LicenseStatus } from "../partner/contract.ts";
import type { Driver, SqlValue } from "./driver/driver.ts";
import { boolean, integer, text } from "./driver/rows.ts";
import { lastIdBeforeSql } from "./evidence/attestations.ts";
import { createImportHistory } from "./imports.ts";
import { statusListsSql } from "./status-lists.ts";
import { licenseStatusSql } from "./teacher-columns.ts";

const sampledStatuses = `WITH RECURSIVE ${statusListsSql}, sample (id, last) AS (
    SELECT first, last FROM lists UNION ALL SELECT id + ?2, last FROM sample WHERE id + ?2 <= last)
  SELECT ${licenseStatusSql("?1")} AS status, active AND NOT hidden AS active, count(*) AS n
  FROM sample CROSS JOIN teachers USING (id) GROUP BY 1, 2`;

export type RegisterFigures = ReturnType<typeof createRegisterFigures>;

/**
 * Creates the store of the register's figures, each from a bounded number of rows. Events are never deleted, so the
 * highest id is their number. Attestations and idempotency records are deleted oldest first, so their number follows
 * from the lowest and the highest id.
 */
export function createRegisterFigures(driver: Driver) {
  async function figure(sql: string, args: readonly SqlValue[] = []): Promise<number> {
    const [row] = await driver.query(`SELECT coalesce((${sql}), 0) AS n`, args);
    return row === undefined ? 0 : integer(row, "n");
  }

  return {
    teachers: () => figure(`WITH RECURSIVE ${statusListsSql} SELECT sum(last - first + 1) FROM lists`),
    /** Counts every `step`-th teacher by licence status on a date, and the inactive or hidden ones as `inactive`. */
    async licenses(today: string, step: number) {
      const rows = await driver.query(sampledStatuses, [today, step]);
      const counts = { VALID: 0, EXPIRED: 0, NOT_FOUND: 0, REVOKED: 0, inactive: 0 };
      for (const row of rows) {
        const n = integer(row, "n");
        counts[text(row, "status") as LicenseStatus] += n;
        if (!boolean(row, "active")) counts.inactive += n;
      }
      return counts;
    },
    async partners() {
      const disabled = await figure("SELECT count(*) FROM partners WHERE disabled_at IS NOT NULL");
      return { total: await figure("SELECT count(*) FROM partners"), disabled };
    },
    /** Counts all attestations, and the attestations since each of the given times (milliseconds since the epoch). */
    async attestations(since: readonly number[]) {
      const last = await figure("SELECT max(id) FROM attestations");
      const first = await figure("SELECT min(id) FROM attestations");
      const total = last === 0 ? 0 : last - first + 1;
      const counts = since.map(async (time) => {
        const before = await figure(lastIdBeforeSql("?1"), [Math.floor(time / 1000)]);
        return Math.min(total, last - before);
      });
      const newest = await driver.query("SELECT issued_at FROM attestations ORDER BY id DESC LIMIT 1");
      const newestAt = newest[0] === undefined ? null : integer(newest[0], "issued_at") * 1000;
      return { total, since: await Promise.all(counts), newestAt };
    },
    idempotencyRecords: () =>
      figure("(SELECT max(rowid) FROM idempotency) - (SELECT min(rowid) FROM idempotency) + 1"),
    events: () => figure("SELECT max(id) FROM events"),
    async lastImport() {
      const [last = null] = await createImportHistory(driver).latest(1);
      return last;
    },
    schemaVersion: () => figure("SELECT max(number) FROM schema_steps"),
    async sizeBytes() {
      try {
        return await figure("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()");
      } catch (error) {
        // Some libSQL servers refuse this statement.
        if (driver.kind === "remote" && !isTvsError(error, "STORE_BUSY")) return null;
        throw error;
      }
    },
  };
}
