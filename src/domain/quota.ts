import type { QuotaStore } from "../store/quota.ts";
import type { Clock } from "./clock.ts";
import { TvsError } from "./errors.ts";
import type { Partner } from "./partners.ts";
import {
  endOf,
  keepWindowMs,
  openWindows,
  type QuotaCharge,
  type QuotaWindow,
  type WindowKind,
  type WindowStarts,
  type WindowsUsed,
} from "./quota-windows.ts";

/** What the rate-limit headers say (contract C15): `resetAt` in Unix epoch seconds, and each window by itself. */
export type QuotaState = RateLimit & { readonly windows: readonly RateLimitWindow[] };
type RateLimit = { readonly limit: number; readonly remaining: number; readonly resetAt: number };

/** What is left of one window, which lasts `lasts` seconds and ends in `endsIn` of them. */
type RateLimitWindow = {
  readonly name: WindowKind | "address";
  readonly limit: number;
  readonly lasts: number;
  readonly left: number;
  readonly endsIn: number;
};

/** A call that may not run now: which window blocks, and for how many seconds. */
export type QuotaRefusal = QuotaState & { readonly window: WindowKind; readonly retryAfterSeconds: number };

/** A quota that is spent, as an error: the HTTP layer turns its figures into headers. */
export class QuotaExceeded extends TvsError {
  readonly refusal: QuotaRefusal;

  constructor(refusal: QuotaRefusal) {
    super(
      refusal.window === "day" ? "DAY_QUOTA" : "MINUTE_QUOTA",
      `per-${refusal.window} quota exceeded; retry after ${refusal.retryAfterSeconds} s`,
      { members: { retryAfterSeconds: refusal.retryAfterSeconds } },
    );
    this.refusal = refusal;
  }
}

/**
 * One call of a partner. It belongs to the minute and the day in which it came, whenever it is answered: they are what
 * its commit charges and what its headers tell.
 */
export type QuotaCall = ReturnType<typeof createCall>;

export type Quota = ReturnType<typeof createQuota>;

type QuotaDependencies = {
  readonly clock: Clock;
  readonly store: Pick<QuotaStore, "used" | "chargeMinute">;
  readonly stored: readonly QuotaWindow[];
};

/** What this server knows of a window: what commits have lastKnown was used of it, and what its own calls may use. */
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
export function createQuota(dependencies: QuotaDependencies) {
  const { clock, stored } = dependencies;
  /** By kind, beginning and partner. */
  const windows = {
    minute: new Map<number, Map<string, KnownWindow>>(),
    day: new Map<number, Map<string, KnownWindow>>(),
  };
  for (const { kind, startsAt, partnerId, used } of stored) windowOf(partnerId, kind, startsAt).used = used;

  function windowOf(partnerId: string, kind: WindowKind, startsAt: number): KnownWindow {
    let partners = windows[kind].get(startsAt);
    if (partners === undefined) {
      for (const other of windows[kind].keys())
        if (other < startsAt - keepWindowMs[kind]) windows[kind].delete(other);
      partners = new Map();
      windows[kind].set(startsAt, partners);
    }
    const known = partners.get(partnerId) ?? { startsAt, used: 0, underWay: 0 };
    partners.set(partnerId, known);
    return known;
  }

  function knownOf({ partnerId }: Partner, at: number): KnownWindows {
    const { minute, day } = openWindows(at);
    return { minute: windowOf(partnerId, "minute", minute), day: windowOf(partnerId, "day", day) };
  }

  return {
    /** Opens a call that has just come, before it is known whose it is. */
    open(): QuotaCall {
      const cameAt = clock.now();
      return createCall((partner) => knownOf(partner, cameAt), dependencies);
    },
    /** As far as this server knows. */
    state(partner: Partner): QuotaState {
      const now = clock.now();
      const known = knownOf(partner, now);
      return stateOf({ partner, known, used: usedOrUnderWay(known) }, now);
    },
  };
}

/** @param knownOf what this server knows of a partner's windows, of those in which the call came */
function createCall(knownOf: (partner: Partner) => KnownWindows, { clock, store }: QuotaDependencies) {
  let of: { readonly partner: Partner; readonly known: KnownWindows } | undefined;
  let heldBack = { minute: 0, day: 0 };
  /** What the database lastKnown of the windows, before this call's charge or with it. */
  let lastKnown: WindowsUsed | undefined;

  function entered() {
    if (of === undefined) throw new TvsError("INTERNAL", "the call was not let in");
    return of;
  }

  function holdBack(minute: number, day: number): void {
    if (of === undefined) return;
    of.known.minute.underWay += minute - heldBack.minute;
    of.known.day.underWay += day - heldBack.day;
    heldBack = { minute, day };
  }

  /** The call is this partner's from now on, and has heldBack nothing yet. */
  function belongTo(partner: Partner): void {
    holdBack(0, 0);
    if (of?.partner.partnerId !== partner.partnerId) lastKnown = undefined;
    of = { partner, known: knownOf(partner) };
  }

  function update(used: WindowsUsed): void {
    const { known } = entered();
    lastKnown = used;
    for (const kind of ["minute", "day"] as const) known[kind].used = Math.max(known[kind].used, used[kind]);
  }

  function committed(used: WindowsUsed): void {
    update(used);
    holdBack(0, 0);
  }

  function starts(): WindowStarts {
    const { minute, day } = entered().known;
    return { minute: minute.startsAt, day: day.startsAt };
  }

  async function reread(): Promise<void> {
    update(await store.used(entered().partner.partnerId, starts()));
  }

  function chargeOf(calls: number): QuotaCharge {
    const { partnerId, perMinute, perDay } = entered().partner;
    return { partnerId, starts: starts(), calls, limits: { minute: perMinute, day: perDay } };
  }

  function account(): Account {
    const { partner, known } = entered();
    return { partner, known, used: lastKnown ?? usedOrUnderWay(known) };
  }

  return {
    /**
     * Lets the call in, unless its minute is known to have no room. A call that is judged anew is let in anew, perhaps as
     * another partner's: then what it had held back of the first one's windows is given back.
     * @param partner as the call is judged now
     * @throws QuotaExceeded
     */
    reserve(partner: Partner): void {
      belongTo(partner);
      if (left(partner, account().used).minute < 1) throw exceeded(account(), 1, clock.now());
      holdBack(1, 0);
    },
    /**
     * What the commit of the call's work is to charge.
     * @param ofDay what it costs of the day, where that is not as many
     * @throws QuotaExceeded
     */
    chargeFor(calls: number, ofDay = calls): QuotaCharge {
      const tokens = left(entered().partner, account().used);
      // As far as memory knows, the call's own minute token is under way already.
      const minuteCalls = lastKnown === undefined ? calls - 1 : calls;
      if (tokens.day < ofDay || tokens.minute < minuteCalls) throw exceeded(account(), ofDay, clock.now());
      holdBack(calls, ofDay);
      return ofDay === calls ? chargeOf(calls) : { ...chargeOf(calls), ofDay };
    },
    /**
     * Refuses early what will cost so much of the day at least, and reserves nothing.
     * @throws QuotaExceeded
     */
    expectOfDay(calls: number): void {
      if (left(entered().partner, account().used).day < calls) throw exceeded(account(), calls, clock.now());
    },
    committed,
    /** After a refused commit: from now on the call is judged by what the database says. */
    reread,
    /** Reads what the headers of a call are to tell that is refused before it costs anything. */
    read(partner: Partner): Promise<void> {
      belongTo(partner);
      return reread();
    },
    /**
     * Pays the minute token of a call that leaves nothing else behind: no answer leaves before what it cost is durable.
     * @param revision of the snapshot that the call is judged by now
     * @returns false, having paid nothing: the call must be judged anew
     */
    async charge(revision: number): Promise<boolean> {
      holdBack(1, 0);
      const used = await store.chargeMinute(chargeOf(1), revision);
      if (used === null) await reread();
      else committed(used);
      return used !== null;
    },
    /** What has been used of the call's day, as far as this server knows, and when that ends, in milliseconds. */
    day: () => ({ used: account().used.day, endsAt: endOf("day", entered().known.day) * 1000 }),
    /** As the database has lastKnown; undefined where it was not asked, because what one server remembers may be wrong. */
    state: (): QuotaState | undefined =>
      lastKnown === undefined ? undefined : stateOf(account(), clock.now()),
    end: () => holdBack(0, 0),
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

function stateOf({ partner, known, used }: Account, now: number): QuotaState {
  const { perMinute, perDay } = partner;
  const { minute, day } = left(partner, used);
  const resetAt = endOf("minute", known.minute);
  return {
    limit: perMinute,
    remaining: Math.min(minute, day),
    resetAt,
    windows: [
      { name: "minute", limit: perMinute, lasts: 60, left: minute, endsIn: secondsUntil(resetAt, now) },
      {
        name: "day",
        limit: perDay,
        lasts: 86_400,
        left: day,
        endsIn: secondsUntil(endOf("day", known.day), now),
      },
    ],
  };
}

/** @param time in Unix epoch seconds */
function secondsUntil(time: number, now: number): number {
  return Math.max(0, Math.ceil(time - now / 1000));
}

/**
 * With both windows spent, the longer wait counts. A batch that costs more than is left is refused while smaller calls
 * still pass.
 */
function exceeded(account: Account, calls: number, now: number): QuotaExceeded {
  const window = left(account.partner, account.used).day < calls ? "day" : "minute";
  const resetAt = endOf(window, account.known[window]);
  const retryAfterSeconds = Math.max(1, secondsUntil(resetAt, now));
  return new QuotaExceeded({ ...stateOf(account, now), resetAt, window, retryAfterSeconds });
}
