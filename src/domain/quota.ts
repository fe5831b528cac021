import type { Clock } from "./clock.ts";
import { TvsError } from "./errors.ts";
import type { Partner } from "./partners.ts";
import {
  endOf,
  keepWindowMs,
  type QuotaCharge,
  type QuotaStore,
  type QuotaWindow,
  startOf,
  type WindowKind,
  type WindowsUsed,
} from "./quota-windows.ts";

/** What the X-RateLimit headers say (contract C15): `resetAt` in Unix epoch seconds. */
export type QuotaState = { readonly limit: number; readonly remaining: number; readonly resetAt: number };

/** A call that may not run now: which window blocks, and for how many seconds. */
export type QuotaRefusal = QuotaState & { readonly window: WindowKind; readonly retryAfterSeconds: number };

/** A quota that is spent, as an error: the HTTP layer turns its figures into headers. */
export class QuotaExceeded extends TvsError {
  readonly refusal: QuotaRefusal;

  constructor(refusal: QuotaRefusal) {
    super(
      "QUOTA_EXCEEDED",
      `per-${refusal.window} quota exceeded; retry after ${refusal.retryAfterSeconds} s`,
    );
    this.refusal = refusal;
  }
}

/**
 * One call of a partner. It belongs to the minute and the day in which it came, whenever it is answered: they are what
 * its commit charges and what its headers tell.
 */
export type QuotaCall = {
  /**
   * What the commit of the call's work is to charge.
   * @param partner as the call is judged now
   * @param calls how many calls the work counts as
   * @throws QuotaExceeded
   */
  chargeFor(partner: Partner, calls: number): QuotaCharge;
  committed(used: WindowsUsed): void;
  /** After a refused commit: from now on the call is judged by what the database says. */
  reread(): Promise<void>;
  /**
   * Pays the minute token of a call that leaves nothing else behind: no answer leaves before what it cost is durable.
   * @param revision of the snapshot that the call is judged by now
   * @returns false, having paid nothing: the call must be judged anew
   * @throws QuotaExceeded
   */
  pay(partner: Partner, revision: number): Promise<boolean>;
  /** As the commit has said, or as far as this server knows. */
  state(): QuotaState;
  end(): void;
};

export type Quota = {
  /**
   * Lets a call in, unless this server knows already that its minute has no room.
   * @param cameAt when it came, in milliseconds since the epoch, and now where that is left out: to the windows
   *   of that time it belongs
   * @throws QuotaExceeded
   */
  open(partner: Partner, cameAt?: number): QuotaCall;
  state(partner: Partner): QuotaState;
};

type QuotaDependencies = {
  readonly clock: Clock;
  readonly store: Pick<QuotaStore, "used" | "chargeMinute">;
  readonly stored: readonly QuotaWindow[];
};

/** What this server knows of a window: what commits have said was used of it, and what its own calls may use. */
type KnownWindow = { readonly startsAt: number; used: number; underWay: number };
type KnownWindows = Readonly<Record<WindowKind, KnownWindow>>;

/**
 * Token buckets of the clock's minute and of the UTC day, refilled whole when the window begins, so that
 * `Remaining` and `Reset` are exact. Only what was used is kept: a raised quota counts at once.
 *
 * The commit of each call decides whether there is room (decision D4.8). What stands here is a hint, which refuses
 * early what would be refused anyway, before it is signed for. Each window is an account of its own: neither a call
 * that is answered after the turn of the minute nor a clock that is nudged back can take anything out of another one.
 * @param dependencies `stored` is what {@link QuotaStore.windows} gave at the start
 */
export function createQuota(dependencies: QuotaDependencies): Quota {
  const { clock, stored } = dependencies;
  /** By kind, beginning and partner. */
  const windows = {
    minute: new Map<number, Map<string, KnownWindow>>(),
    day: new Map<number, Map<string, KnownWindow>>(),
  };
  for (const { kind, startsAt, partnerId, used } of stored)
    begun(kind, startsAt).set(partnerId, { startsAt, used, underWay: 0 });

  function begun(kind: WindowKind, startsAt: number): Map<string, KnownWindow> {
    const known = windows[kind].get(startsAt);
    if (known !== undefined) return known;
    for (const other of windows[kind].keys()) {
      if (other < startsAt - keepWindowMs[kind]) windows[kind].delete(other);
    }
    const fresh = new Map<string, KnownWindow>();
    windows[kind].set(startsAt, fresh);
    return fresh;
  }

  function current(partnerId: string, kind: WindowKind, now: number): KnownWindow {
    const startsAt = startOf(kind, now);
    const partners = begun(kind, startsAt);
    const known = partners.get(partnerId);
    if (known !== undefined) return known;
    const fresh: KnownWindow = { startsAt, used: 0, underWay: 0 };
    partners.set(partnerId, fresh);
    return fresh;
  }

  function accountOf(partner: Partner, at: number): Account {
    const minute = current(partner.partnerId, "minute", at);
    const day = current(partner.partnerId, "day", at);
    return { partner, known: { minute, day }, used: usedOrUnderWay({ minute, day }) };
  }

  return {
    open(partner, cameAt = clock.now()) {
      const account = accountOf(partner, cameAt);
      if (left(partner, account.used).minute < 1) throw exceeded(account, 1, clock.now());
      return createCall(partner, account.known, dependencies);
    },
    state: (partner) => stateOf(accountOf(partner, clock.now())),
  };
}

function createCall(first: Partner, known: KnownWindows, { clock, store }: QuotaDependencies): QuotaCall {
  const starts = { minute: known.minute.startsAt, day: known.day.startsAt };
  let partner = first;
  let held = { minute: 0, day: 0 };
  /** What the database said of the windows, before this call's charge or with it. */
  let said: WindowsUsed | undefined;
  function hold(minute: number, day: number): void {
    known.minute.underWay += minute - held.minute;
    known.day.underWay += day - held.day;
    held = { minute, day };
  }

  function learn(used: WindowsUsed): void {
    said = used;
    for (const kind of ["minute", "day"] as const) known[kind].used = Math.max(known[kind].used, used[kind]);
  }

  function committed(used: WindowsUsed): void {
    learn(used);
    hold(0, 0);
  }

  async function reread(): Promise<void> {
    learn(await store.used(partner.partnerId, starts));
  }

  function charge(calls: number): QuotaCharge {
    const limits = { minute: partner.perMinute, day: partner.perDay };
    return { partnerId: partner.partnerId, starts, calls, limits };
  }

  const account = () => ({ partner, known, used: said ?? usedOrUnderWay(known) });

  hold(1, 0);
  return {
    chargeFor(now, calls) {
      partner = now;
      hold(1, 0);
      const tokens = left(partner, account().used);
      // As far as memory knows, the call's own minute token is under way already.
      const minuteCalls = said === undefined ? calls - 1 : calls;
      if (tokens.day < calls || tokens.minute < minuteCalls) throw exceeded(account(), calls, clock.now());
      hold(calls, calls);
      return charge(calls);
    },
    committed,
    reread,
    async pay(now, revision) {
      partner = now;
      hold(1, 0);
      if (said !== undefined && left(partner, said).minute < 1) throw exceeded(account(), 1, clock.now());
      const used = await store.chargeMinute(charge(1), revision);
      if (used === null) await reread();
      else committed(used);
      return used !== null;
    },
    state: () => stateOf(account()),
    end: () => hold(0, 0),
  };
}

/** A partner's two windows, of one moment, and what counts as used of them. */
type Account = { readonly partner: Partner; readonly known: KnownWindows; readonly used: WindowsUsed };

function usedOrUnderWay({ minute, day }: KnownWindows): WindowsUsed {
  return { minute: minute.used + minute.underWay, day: day.used + day.underWay };
}

function left({ perMinute, perDay }: Partner, used: WindowsUsed): Readonly<Record<WindowKind, number>> {
  return { minute: Math.max(0, perMinute - used.minute), day: Math.max(0, perDay - used.day) };
}

function stateOf({ partner, known, used }: Account): QuotaState {
  const { minute, day } = left(partner, used);
  return {
    limit: partner.perMinute,
    remaining: Math.min(minute, day),
    resetAt: endOf("minute", known.minute),
  };
}

/**
 * With both windows spent, the longer wait counts. A batch that costs more than is left is refused while smaller calls
 * still pass.
 */
function exceeded(account: Account, calls: number, now: number): QuotaExceeded {
  const window = left(account.partner, account.used).day < calls ? "day" : "minute";
  const resetAt = endOf(window, account.known[window]);
  const retryAfterSeconds = Math.max(1, Math.ceil(resetAt - now / 1000));
  return new QuotaExceeded({ ...stateOf(account), resetAt, window, retryAfterSeconds });
}
