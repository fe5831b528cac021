import type { QuotaStore } from "../store/quota.ts";
import type { Clock } from "./clock.ts";
import { TvsError } from "./errors.ts";
import type { Partner } from "./partners.ts";
import type { CallsUsed, QuotaCharge, WindowKind, WindowStarts } from "./quota-windows.ts";
import { currentWindowStarts, windowEndSeconds } from "./quota-windows.ts";

/** The values of the rate-limit headers (contract C15). `resetAt` is in Unix epoch seconds. */
export type LimitState = {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: number;
  /** The limit of each window, and the calls that the window has left. `lasts` and `endsIn` are in seconds. */
  readonly windows: readonly {
    readonly name: WindowKind | "address";
    readonly limit: number;
    readonly lasts: number;
    readonly left: number;
    readonly endsIn: number;
  }[];
};

export type QuotaRefusal = LimitState & { readonly window: WindowKind; readonly retryAfterSeconds: number };

/** Thrown if a quota has too few calls left. The HTTP layer turns `refusal` into headers. */
export class QuotaExceededError extends TvsError {
  readonly refusal: QuotaRefusal;

  constructor(refusal: QuotaRefusal) {
    const { window, retryAfterSeconds } = refusal;
    const message = `per-${window} quota exceeded; retry after ${retryAfterSeconds} s`;
    super(window === "day" ? "DAY_QUOTA" : "MINUTE_QUOTA", message, { retryAfterSeconds });
    this.refusal = refusal;
  }
}

/** The quota of one call, in the minute and day of the call's arrival, even if the call is answered later. */
export type CallQuota = ReturnType<typeof createCall>;

export type QuotaCounter = ReturnType<typeof createQuotaCounter>;

type QuotaDependencies = {
  readonly clock: Clock;
  readonly store: Pick<QuotaStore, "used" | "chargeMinute">;
};

/** A window as this process knows it. `used` counts committed calls, `underWay` the calls that requests reserve. */
type KnownWindow = { readonly startsAt: number; used: number; underWay: number };
type KnownWindows = Readonly<Record<WindowKind, KnownWindow>>;

/**
 * Counts partners' calls in fixed windows, the UTC minute and day. The database stores used calls but no limits, so a
 * changed quota applies immediately. Each call's commit decides whether its windows have room (decision D4.8).
 *
 * The counters in memory only refuse early, before a signature. These counters include calls under way, so they may
 * refuse a call that a commit would accept.
 */
export function createQuotaCounter(dependencies: QuotaDependencies) {
  const last = new Map<string, KnownWindows>();

  function knownOf({ partnerId }: Partner, at: number): KnownWindows {
    const starts = currentWindowStarts(at);
    const known = last.get(partnerId);
    const windowOf = (kind: WindowKind): KnownWindow =>
      known?.[kind].startsAt === starts[kind]
        ? known[kind]
        : { startsAt: starts[kind], used: 0, underWay: 0 };
    const windows = { minute: windowOf("minute"), day: windowOf("day") };
    last.set(partnerId, windows);
    return windows;
  }

  return {
    /** Opens the quota of a call at the call's arrival, before its partner is known. */
    open(): CallQuota {
      const cameAt = dependencies.clock.now();
      return createCall((partner) => knownOf(partner, cameAt), dependencies);
    },
  };
}

/** Makes the quota of one call. @param knownOf gives a partner's windows at the arrival of the call */
function createCall(knownOf: (partner: Partner) => KnownWindows, { clock, store }: QuotaDependencies) {
  let owner: Omit<Account, "used"> | undefined;
  let reserved = { minute: 0, day: 0 };
  /** The used calls that the database last reported for the partner's two windows. */
  let reported: CallsUsed | undefined;

  function account(): Account {
    if (owner === undefined) throw new TvsError("INTERNAL", "the call was not let in");
    return { ...owner, used: reported ?? usedOrUnderWay(owner.known) };
  }

  function setReserved(minute: number, day: number): void {
    if (owner === undefined) return;
    owner.known.minute.underWay += minute - reserved.minute;
    owner.known.day.underWay += day - reserved.day;
    reserved = { minute, day };
  }

  function assign(partner: Partner): void {
    setReserved(0, 0);
    if (owner?.partner.partnerId !== partner.partnerId) reported = undefined;
    owner = { partner, known: knownOf(partner) };
  }

  /** Checks that minute and day have room for these numbers of calls. @throws QuotaExceededError if one has too little */
  function requireRoom(minute: number, day: number): void {
    const room = left(account());
    if (room.minute < minute || room.day < day) throw exceeded(account(), day, clock.now());
  }

  function update(used: CallsUsed): void {
    const { known } = account();
    reported = used;
    for (const kind of ["minute", "day"] as const) known[kind].used = Math.max(known[kind].used, used[kind]);
  }

  function committed(used: CallsUsed): void {
    update(used);
    setReserved(0, 0);
  }

  function starts(): WindowStarts {
    const { minute, day } = account().known;
    return { minute: minute.startsAt, day: day.startsAt };
  }

  async function reread(): Promise<void> {
    update(await store.used(account().partner.partnerId, starts()));
  }

  function chargeOf(calls: number, ofDay: number): QuotaCharge {
    const { partnerId, perMinute, perDay } = account().partner;
    return { partnerId, starts: starts(), calls, ofDay, limits: { minute: perMinute, day: perDay } };
  }

  return {
    /**
     * Reserves one call of the minute's quota. If a retry has another partner, the first partner's reservation is freed.
     * @throws QuotaExceededError if the minute is known to have no room
     */
    reserve(partner: Partner): void {
      assign(partner);
      requireRoom(1, 0);
      setReserved(1, 0);
    },
    /**
     * Reserves the calls that the commit will charge to the quota.
     * @param ofDay the calls charged to the day; `calls` by default
     * @throws QuotaExceededError if the minute or the day has too little room
     */
    chargeFor(calls: number, ofDay = calls): QuotaCharge {
      // The use in memory includes the call that `reserve` has reserved; the use that the database reports does not.
      requireRoom(reported === undefined ? calls - 1 : calls, ofDay);
      setReserved(calls, ofDay);
      return chargeOf(calls, ofDay);
    },
    /** Checks before long work that the day has room for the calls; reserves nothing. @throws QuotaExceededError */
    checkDayRoom: (calls: number) => requireRoom(0, calls),
    committed,
    /** Reads the partner's windows from the database after a refused commit. */
    reread,
    /** Reads a partner's windows for the headers of a call that is refused without a charge. */
    read(partner: Partner): Promise<void> {
      assign(partner);
      return reread();
    },
    /**
     * Commits a charge of one call of the minute's quota, for a call that stores nothing else.
     * @param revision the revision of the call's snapshot
     * @returns false if the commit was refused; nothing is charged, and the call is retried
     */
    async charge(revision: number): Promise<boolean> {
      setReserved(1, 0);
      const used = await store.chargeMinute(chargeOf(1, 0), revision);
      if (used === null) await reread();
      else committed(used);
      return used !== null;
    },
    /** Returns the day's used calls as this process knows them, and the day's end in milliseconds since the epoch. */
    day: () => ({ used: account().used.day, endsAt: windowEndSeconds("day", account().known.day) * 1000 }),
    /** Returns the state that the database has reported for this call; undefined until then, as memory may be wrong. */
    state: (): LimitState | undefined =>
      reported === undefined ? undefined : stateOf(account(), clock.now()),
    /** Frees the calls that are still reserved. */
    end: () => setReserved(0, 0),
  };
}

type Account = { readonly partner: Partner; readonly known: KnownWindows; readonly used: CallsUsed };

function usedOrUnderWay({ minute, day }: KnownWindows): CallsUsed {
  return { minute: minute.used + minute.underWay, day: day.used + day.underWay };
}

function left({ partner, used }: Account): Readonly<Record<WindowKind, number>> {
  const { perMinute, perDay } = partner;
  return { minute: Math.max(0, perMinute - used.minute), day: Math.max(0, perDay - used.day) };
}

function stateOf(account: Account, now: number): LimitState {
  const { partner, known } = account;
  const { perMinute, perDay } = partner;
  const { minute, day } = left(account);
  const resetAt = windowEndSeconds("minute", known.minute);
  const dayEndsIn = secondsUntil(windowEndSeconds("day", known.day), now);
  return {
    limit: perMinute,
    remaining: Math.min(minute, day),
    resetAt,
    windows: [
      { name: "minute", limit: perMinute, lasts: 60, left: minute, endsIn: secondsUntil(resetAt, now) },
      { name: "day", limit: perDay, lasts: 86_400, left: day, endsIn: dayEndsIn },
    ],
  };
}

/** Counts the seconds until a time. @param time in Unix epoch seconds */
function secondsUntil(time: number, now: number): number {
  return Math.max(0, Math.ceil(time - now / 1000));
}

/** Makes the error, about the day if the day has too little room (its wait is longer), and else about the minute. */
function exceeded(account: Account, ofDay: number, now: number): QuotaExceededError {
  const window = left(account).day < Math.max(1, ofDay) ? "day" : "minute";
  const resetAt = windowEndSeconds(window, account.known[window]);
  const retryAfterSeconds = Math.max(1, secondsUntil(resetAt, now));
  return new QuotaExceededError({ ...stateOf(account, now), resetAt, window, retryAfterSeconds });
}
