import type { QuotaWindow, WindowKind } from "../domain/quota.ts";
import type { Statement } from "./driver.ts";

const windowMs: Readonly<Record<WindowKind, number>> = { minute: 60_000, day: 86_400_000 };

/**
 * Adds to the window, or begins a new one. Calls overtake each other at the boundary: one that was paid in
 * the window before must not put the new one back (domain/quota.ts, startsNewWindow).
 */
const charge = `INSERT INTO quota_windows (partner_id, kind, starts_at, used)
  SELECT ?1, ?2, ?3, ?4 WHERE ?6 IS NULL OR EXISTS (SELECT 1 FROM signing_keys WHERE kid = ?6 AND state = 'active')
  ON CONFLICT (partner_id, kind) DO UPDATE SET
    used = CASE WHEN excluded.starts_at > starts_at OR excluded.starts_at < starts_at - ?5 THEN excluded.used
                WHEN excluded.starts_at = starts_at THEN used + excluded.used ELSE used END,
    starts_at = CASE WHEN excluded.starts_at > starts_at OR excluded.starts_at < starts_at - ?5
                     THEN excluded.starts_at ELSE starts_at END`;

/** @param kid the key that must still be active for the charge to count; null for a call without envelopes */
export function chargeStatement(
  { partnerId, kind, startsAt, used }: QuotaWindow,
  kid: string | null,
): Statement {
  return { sql: charge, args: [partnerId, kind, startsAt, used, windowMs[kind], kid] };
}
