import type { Partner } from "../../src/domain/partners.ts";
import { type Quota, type QuotaCall, QuotaExceeded, type QuotaRefusal } from "../../src/domain/quota.ts";
import { aPartner } from "../harness/samples.ts";

/** A minute's beginning in the middle of a day, and its end in epoch seconds. */
export const start = "2026-03-01T12:00:00.000Z";
export const minuteEnd = Date.parse("2026-03-01T12:01:00Z") / 1000;

/** A partner of three calls a minute and ten a day. */
export const partner = (changes: Partial<Partner> = {}): Partner => ({
  ...aPartner("agency"),
  perMinute: 3,
  perDay: 10,
  ...changes,
});

/** What an act is refused with; null when it is not. */
export function refusalOf(act: () => unknown): QuotaRefusal | null {
  try {
    act();
    return null;
  } catch (error) {
    if (error instanceof QuotaExceeded) return error.refusal;
    throw error;
  }
}

/** A call that is a partner's and was let in. */
export function entered(quota: Quota, of: Partner): QuotaCall {
  const call = quota.open();
  call.enter(of);
  return call;
}
