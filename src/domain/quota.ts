import { type Clock, isoTime } from "./clock.ts";
import type { Partner } from "./partners.ts";

export type WindowKind = "minute" | "day";

const windowMs: Readonly<Record<WindowKind, number>> = { minute: 60_000, day: 86_400_000 };

/** What was used of the window that began at `startsAt` (milliseconds since the epoch). */
export type QuotaWindow = { partnerId: string; kind: WindowKind; startsAt: number; used: number };

export type QuotaStore = {
  windows(): Promise<QuotaWindow[]>;
  /** Makes charges durable that no attestation carries: those of refused and replayed calls. */
  charge(charges: readonly QuotaWindow[]): Promise<void>;
};

/** Contract, X-RateLimit headers: `resetAt` in Unix epoch seconds. */
export type QuotaState = { readonly limit: number; readonly remaining: number; readonly resetAt: number };

/** A call that may not run now: which window blocks, and for how many seconds. */
export type QuotaRefusal = QuotaState & { readonly window: WindowKind; readonly retryAfterSeconds: number };

/** One call that has paid its minute token. It pays for its work later, and is charged in one commit. */
export type QuotaCall = {
  readonly partner: Partner;
  /**
   * Pays for the work: a day token for each, and what the minute token already paid does not cover.
   * @param calls how many calls the work counts as
   */
  takeWork(calls: number): QuotaRefusal | null;
  /** What this call used and is not yet durable; taking it makes the caller responsible for it. */
  takeCharges(): QuotaWindow[];
};

export type Quota = {
  /** Takes a minute token. */
  open(partner: Partner): QuotaCall | QuotaRefusal;
  state(partner: Partner): QuotaState;
};

/**
 * Token buckets of the clock's minute and of the UTC day, refilled whole when the window begins, so that
 * `Remaining` and `Reset` are exact. Only what was used is kept: a raised quota counts at once.
 *
 * One service owns a database (Driver.claimService), so memory is exact; what a restart needs is in
 * `stored`, because every answer leaves only after what it cost is durable.
 */
export function createQuota(clock: Clock, stored: readonly QuotaWindow[]): Quota {
  const windows = { minute: new Map<string, QuotaWindow>(), day: new Map<string, QuotaWindow>() };
  for (const one of stored) windows[one.kind].set(one.partnerId, { ...one });

  function current(partnerId: string, kind: WindowKind): QuotaWindow {
    const startsAt = Math.floor(clock.now() / windowMs[kind]) * windowMs[kind];
    const known = windows[kind].get(partnerId);
    if (known !== undefined && !startsNewWindow(known.startsAt, startsAt, kind)) return known;
    const fresh: QuotaWindow = { partnerId, kind, startsAt, used: 0 };
    windows[kind].set(partnerId, fresh);
    return fresh;
  }

  function both(partner: Partner) {
    const minute = current(partner.partnerId, "minute");
    const day = current(partner.partnerId, "day");
    return { minute, day, minuteLeft: left(partner.perMinute, minute), dayLeft: left(partner.perDay, day) };
  }

  function state(partner: Partner): QuotaState {
    const { minute, minuteLeft, dayLeft } = both(partner);
    return { limit: partner.perMinute, remaining: Math.min(minuteLeft, dayLeft), resetAt: endOf(minute) };
  }

  /** With both windows spent, the longer wait counts. */
  function refuse(partner: Partner, calls: number): QuotaRefusal {
    const { minute, day, minuteLeft, dayLeft } = both(partner);
    const window = dayLeft < calls ? day : minute;
    const resetAt = endOf(window);
    const retryAfterSeconds = Math.max(1, Math.ceil(resetAt - clock.now() / 1000));
    // A batch that costs more than is left is refused while smaller calls still pass.
    const remaining = Math.min(minuteLeft, dayLeft);
    return { limit: partner.perMinute, remaining, resetAt, window: window.kind, retryAfterSeconds };
  }

  function open(partner: Partner): QuotaCall | QuotaRefusal {
    if (both(partner).minuteLeft < 1) return refuse(partner, 1);
    return createCall(partner, { both, refuse });
  }

  return { open, state };
}

type Accounts = {
  both(partner: Partner): { minute: QuotaWindow; day: QuotaWindow; minuteLeft: number; dayLeft: number };
  refuse(partner: Partner, calls: number): QuotaRefusal;
};

function createCall(partner: Partner, accounts: Accounts): QuotaCall {
  let charges: QuotaWindow[] = [];

  function use(window: QuotaWindow, count: number): void {
    if (count === 0) return;
    window.used += count;
    charges.push({ ...window, used: count });
  }

  function takeWork(calls: number): QuotaRefusal | null {
    const { minute, day, minuteLeft, dayLeft } = accounts.both(partner);
    if (dayLeft < calls || minuteLeft < calls - 1) return accounts.refuse(partner, calls);
    use(minute, calls - 1);
    use(day, calls);
    return null;
  }

  function takeCharges(): QuotaWindow[] {
    const taken = charges;
    charges = [];
    return taken;
  }

  use(accounts.both(partner).minute, 1);
  return { partner, takeWork, takeCharges };
}

function left(limit: number, window: QuotaWindow): number {
  return Math.max(0, limit - window.used);
}

/** Unix epoch seconds at which the window ends. */
function endOf(window: QuotaWindow): number {
  return (window.startsAt + windowMs[window.kind]) / 1000;
}

/**
 * Whether a window that begins at `startsAt` replaces the known one. One that began just before it does
 * not (calls overtake each other at the boundary, and clocks are nudged): that would give quota back. One
 * that began much earlier does, or a clock that was set back would block the partner until it catches up.
 */
export function startsNewWindow(knownStartsAt: number, startsAt: number, kind: WindowKind): boolean {
  return startsAt > knownStartsAt || startsAt < knownStartsAt - windowMs[kind];
}

/** What a partner has used of a window that is open now, for the operator. `resetAt` in ISO 8601. */
export type QuotaUse = { readonly used: number; readonly limit: number; readonly resetAt: string };

/** Reads from what is stored; a service that is running is never more than the calls in flight ahead of it. */
export function quotaUse(
  partner: Partner,
  stored: readonly QuotaWindow[],
  now: number,
): Readonly<Record<WindowKind, QuotaUse>> {
  const useOf = (kind: WindowKind, limit: number): QuotaUse => {
    const startsAt = Math.floor(now / windowMs[kind]) * windowMs[kind];
    const known = stored.find((one) => one.partnerId === partner.partnerId && one.kind === kind);
    const isOpen = known !== undefined && !startsNewWindow(known.startsAt, startsAt, kind);
    return { used: isOpen ? known.used : 0, limit, resetAt: isoTime(startsAt + windowMs[kind]) };
  };
  return { minute: useOf("minute", partner.perMinute), day: useOf("day", partner.perDay) };
}
