import type { QuotaStore, WindowKind } from "../domain/quota.ts";
import { answeredCalls } from "./answers.ts";
import type { Commit } from "./commits.ts";
import type { Driver } from "./driver.ts";
import { integer, text } from "./rows.ts";

export function createQuotaStore(driver: Driver, commit: Commit): QuotaStore {
  return {
    async windows() {
      const rows = await driver.query("SELECT partner_id, kind, starts_at, used FROM quota_windows");
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
  };
}
