import type { QuotaStore, WindowKind, WindowStarts } from "../domain/quota.ts";
import { answeredCalls } from "./answered-calls.ts";
import type { Commit } from "./driver/commits.ts";
import type { Driver } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

const select = "SELECT partner_id, kind, starts_at, used FROM quota_windows";

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
    async charge(charges) {
      if (charges.length > 0)
        await commit.together(answeredCalls, { kid: null, attestations: [], charges, idempotency: null });
    },
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
