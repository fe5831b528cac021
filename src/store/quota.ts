import type { QuotaStore, WindowKind, WindowStarts } from "../domain/quota-windows.ts";
import { callWrites } from "./calls.ts";
import type { Commit } from "./driver/commits.ts";
import type { Driver } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

const select = "SELECT partner_id, kind, starts_at, used FROM quota_windows";
const selectUsed = `SELECT
  coalesce((SELECT used FROM quota_windows WHERE partner_id = ?1 AND kind = 'minute' AND starts_at = ?2), 0) AS minute,
  coalesce((SELECT used FROM quota_windows WHERE partner_id = ?1 AND kind = 'day' AND starts_at = ?3), 0) AS day`;

/** What partners have used of their windows. */
export function createQuotaStore(driver: Driver, commit: Commit): QuotaStore {
  return {
    async windows(starts) {
      const sql = `${select} WHERE (kind = 'minute' AND starts_at = ?) OR (kind = 'day' AND starts_at = ?)`;
      const rows = await (starts === undefined ? driver.query(select) : driver.query(sql, timesOf(starts)));
      return rows.map((row) => ({
        partnerId: text(row, "partner_id"),
        kind: text(row, "kind") as WindowKind,
        startsAt: integer(row, "starts_at"),
        used: integer(row, "used"),
      }));
    },
    async used(partnerId, starts) {
      const [row = {}] = await driver.query(selectUsed, [partnerId, ...timesOf(starts)]);
      return { minute: integer(row, "minute"), day: integer(row, "day") };
    },
    chargeMinute: (charge, revision) =>
      commit.inGroup(callWrites, {
        ...{ revision, attestations: [], read: [], idempotency: null },
        charge: { ...charge, ofDay: 0 },
      }),
    async prune(before) {
      const sql =
        "DELETE FROM quota_windows WHERE (kind = 'minute' AND starts_at < ?) OR (kind = 'day' AND starts_at < ?)";
      await driver.batch([{ sql, args: timesOf(before) }]);
    },
  };
}

function timesOf({ minute, day }: WindowStarts): number[] {
  return [minute, day];
}
