import type { QuotaStore, QuotaWindow, WindowKind, WindowStarts } from "../domain/quota.ts";
import type { ActKind, Commit } from "./driver/commits.ts";
import type { Driver, Statement } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

const select = "SELECT partner_id, kind, starts_at, used FROM quota_windows";
const charge = `INSERT INTO quota_windows (partner_id, kind, starts_at, used)
  SELECT ?1, ?2, ?3, ?4 WHERE ?5 IS NULL OR EXISTS (SELECT 1 FROM signing_keys WHERE kid = ?5 AND state = 'active')
  ON CONFLICT (partner_id, kind, starts_at) DO UPDATE SET used = used + excluded.used`;

/** What a call cost, and the key that must still be active for it to count; null for a call without envelopes. */
type Charged = { readonly charges: readonly QuotaWindow[]; readonly kid: string | null };

/** Adds what calls cost to their windows. It is summed first, so that many calls are one charge of each window. */
export function chargeStatements(calls: readonly Charged[]): Statement[] {
  const sums = new Map<string, { kid: string | null; charge: QuotaWindow }>();
  for (const { kid, charges } of calls) {
    for (const one of charges) {
      const name = `${one.kind} ${one.startsAt} ${kid} ${one.partnerId}`;
      const known = sums.get(name);
      if (known === undefined) sums.set(name, { kid, charge: { ...one } });
      else known.charge.used += one.used;
    }
  }
  return [...sums.values()].map(({ kid, charge: { partnerId, kind, startsAt, used } }) => ({
    sql: charge,
    args: [partnerId, kind, startsAt, used, kid],
  }));
}

/** What calls cost that leave nothing else behind: they were refused or replayed. */
const chargesAlone: ActKind<readonly QuotaWindow[], void> = {
  plan: (calls) => ({
    statements: chargeStatements(calls.map((charges) => ({ charges, kid: null }))),
    results: () => calls.map(() => undefined),
  }),
};

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
    async charge(charges) {
      if (charges.length > 0) await commit.inBatch(chargesAlone, charges);
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
