import type { QuotaCharge, QuotaWindow, WindowStarts } from "../domain/quota-windows.ts";
import { callWriter } from "./calls.ts";
import type { GroupCommit } from "./driver/commits.ts";
import type { Driver } from "./driver/driver.ts";
import { integer, rowReader, text } from "./driver/rows.ts";

const select = "SELECT partner_id, kind, starts_at, used FROM quota_windows";
const selectUsed = `SELECT
  coalesce((SELECT used FROM quota_windows WHERE partner_id = ?1 AND kind = 'minute' AND starts_at = ?2), 0) AS minute,
  coalesce((SELECT used FROM quota_windows WHERE partner_id = ?1 AND kind = 'day' AND starts_at = ?3), 0) AS day`;

export type QuotaStore = ReturnType<typeof createQuotaStore>;

/** Creates the store of the quota windows, which count each partner's calls. */
export function createQuotaStore(driver: Driver, commit: GroupCommit) {
  return {
    async windows(starts?: WindowStarts) {
      const sql = `${select} WHERE (kind = 'minute' AND starts_at = ?) OR (kind = 'day' AND starts_at = ?)`;
      const rows = await (starts === undefined ? driver.query(select) : driver.query(sql, timesOf(starts)));
      return rows.map(quotaWindow);
    },
    async used(partnerId: string, starts: WindowStarts) {
      const [row = {}] = await driver.query(selectUsed, [partnerId, ...timesOf(starts)]);
      return { minute: integer(row, "minute"), day: integer(row, "day") };
    },
    /**
     * Charges a refused or replayed call to the minute's quota, and not to the day's.
     * @param revision the configuration's revision when the call was authenticated
     * @returns the use of both windows; null, without a charge, if the minute's quota is used up or the revision is old
     */
    chargeMinute: (charge: QuotaCharge, revision: number) =>
      commit.inGroup(callWriter, {
        ...{ revision, attestations: [], read: [], idempotency: null },
        charge: { ...charge, ofDay: 0 },
      }),
    async prune(before: WindowStarts) {
      const sql =
        "DELETE FROM quota_windows WHERE (kind = 'minute' AND starts_at < ?) OR (kind = 'day' AND starts_at < ?)";
      await driver.batch([{ sql, args: timesOf(before) }]);
    },
  };
}

const quotaWindow = rowReader<QuotaWindow>({ partnerId: text, kind: text, startsAt: integer, used: integer });
const timesOf = ({ minute, day }: WindowStarts) => [minute, day];
