import type { QuotaWindow } from "../domain/quota.ts";
import type { Statement } from "./driver/driver.ts";

const charge = `INSERT INTO quota_windows (partner_id, kind, starts_at, used)
  SELECT ?1, ?2, ?3, ?4 WHERE ?5 IS NULL OR EXISTS (SELECT 1 FROM signing_keys WHERE kid = ?5 AND state = 'active')
  ON CONFLICT (partner_id, kind, starts_at) DO UPDATE SET used = used + excluded.used`;

/**
 * Adds to a window.
 * @param kid the key that must still be active for the charge to count; null for a call without envelopes
 */
export function chargeStatement(
  { partnerId, kind, startsAt, used }: QuotaWindow,
  kid: string | null,
): Statement {
  return { sql: charge, args: [partnerId, kind, startsAt, used, kid] };
}
