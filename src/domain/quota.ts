import { type Clock, isoTime } from "./clock.ts";
import { TvsError } from "./errors.ts";
import type { Partner } from "./partners.ts";

export type WindowKind = "minute" | "day";

const windowMs: Readonly<Record<WindowKind, number>> = { minute: 60_000, day: 86_400_000 };

/**
 * How long a window is kept after it began. A call is charged to the minute in which it came, which may be over when
 * it is answered, and a clock that is set back meets the windows it has seen before.
 */
const keepWindowMs: Readonly<Record<WindowKind, number>> = { minute: 3_600_000, day: 2 * 86_400_000 };

/** What was used of the window that began at `startsAt` (milliseconds since the epoch). */
export type QuotaWindow = { partnerId: string; kind: WindowKind; startsAt: number; used: number };

/** The beginning of one window of each kind, in milliseconds since the epoch. */
export type WindowStarts = Readonly<Record<WindowKind, number>>;

export type QuotaStore = {
  /** All windows that are kept, or only those that began at these times. */
  windows(starts?: WindowStarts): Promise<QuotaWindow[]>;
  /** Makes charges durable that no attestation carries: those of refused and replayed calls. */
  charge(charges: readonly QuotaWindow[]): Promise<void>;
  /** Forgets the windows that began before these times. */
  prune(before: WindowStarts): Promise<void>;
};

/** The windows that are open at a time, in milliseconds since the epoch. */
export function openWindows(now: number): WindowStarts {
  return { minute: startOf("minute", now), day: startOf("day", now) };
}

/** What {@link QuotaStore.prune} may forget at a time, in milliseconds since the epoch. */
export function forgottenWindows(now: number): WindowStarts {
  return { minute: now - keepWindowMs.minute, day: now - keepWindowMs.day };
}

function startOf(kind: WindowKind, now: number): number {
  return Math.floor(now / windowMs[kind]) * windowMs[kind];
}

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
 * One call that has paid its minute token. It belongs to the minute and the day in which it came, whenever it is
 * answered: they are what it is charged to and what its headers tell.
 */
export type QuotaCall = {
  readonly partner: Partner;
  /**
   * Pays for the work: a day token for each, and what the minute token already paid does not cover.
   * @param calls how many calls the work counts as
   * @throws QuotaExceeded having taken nothing
   */
  takeWork(calls: number): void;
  /** What this call used and is not yet durable; taking it makes the caller responsible for it. */
  takeCharges(): QuotaWindow[];
  /**
   * Makes durable what nobody has taken: nothing is answered before what it cost is. Work commits its own charges
   * with its evidence; all else (a refused body, a replay) is charged here.
   */
  settle(): Promise<void>;
  state(): QuotaState;
};

export type Quota = {
  /**
   * Takes a minute token.
   * @throws QuotaExceeded
   */
  open(partner: Partner): QuotaCall;
  state(partner: Partner): QuotaState;
};

type QuotaDependencies = {
  readonly clock: Clock;
  readonly store: Pick<QuotaStore, "charge">;
  readonly stored: readonly QuotaWindow[];
};

/**
 * Token buckets of the clock's minute and of the UTC day, refilled whole when the window begins, so that
 * `Remaining` and `Reset` are exact. Only what was used is kept: a raised quota counts at once.
 *
 * One service owns a database (Driver.lockService), so memory is exact; what a restart needs is in
 * `stored`, because every answer leaves only after what it cost is durable. Each window is an account of its own:
 * neither a call that is answered after the turn of the minute nor a clock that is nudged back can take anything
 * out of another one.
 * @param dependencies `stored` is what {@link QuotaStore.windows} gave at the start
 */
export function createQuota(dependencies: QuotaDependencies): Quota {
  const { clock, stored } = dependencies;
  /** By kind, beginning and partner. */
  const windows = {
    minute: new Map<number, Map<string, QuotaWindow>>(),
    day: new Map<number, Map<string, QuotaWindow>>(),
  };
  for (const one of stored) begun(one.kind, one.startsAt).set(one.partnerId, { ...one });

  function begun(kind: WindowKind, startsAt: number): Map<string, QuotaWindow> {
    const known = windows[kind].get(startsAt);
    if (known !== undefined) return known;
    for (const other of windows[kind].keys()) {
      if (other < startsAt - keepWindowMs[kind]) windows[kind].delete(other);
    }
    const fresh = new Map<string, QuotaWindow>();
    windows[kind].set(startsAt, fresh);
    return fresh;
  }

  function current(partnerId: string, kind: WindowKind, now: number): QuotaWindow {
    const startsAt = startOf(kind, now);
    const partners = begun(kind, startsAt);
    const known = partners.get(partnerId);
    if (known !== undefined) return known;
    const fresh: QuotaWindow = { partnerId, kind, startsAt, used: 0 };
    partners.set(partnerId, fresh);
    return fresh;
  }

  function accountOf(partner: Partner): Account {
    const now = clock.now();
    const minute = current(partner.partnerId, "minute", now);
    const day = current(partner.partnerId, "day", now);
    return { partner, minute, day };
  }

  return {
    open(partner) {
      const account = accountOf(partner);
      if (left(account).minute < 1) throw exceeded(account, 1, clock.now());
      return createCall(account, dependencies);
    },
    state: (partner) => stateOf(accountOf(partner)),
  };
}

/** A partner's two windows, of one moment. */
type Account = { readonly partner: Partner; readonly minute: QuotaWindow; readonly day: QuotaWindow };

function createCall(account: Account, { clock, store }: QuotaDependencies): QuotaCall {
  const { partner, minute, day } = account;
  let charges: QuotaWindow[] = [];

  function use(window: QuotaWindow, count: number): void {
    if (count === 0) return;
    window.used += count;
    charges.push({ ...window, used: count });
  }

  function takeCharges(): QuotaWindow[] {
    const taken = charges;
    charges = [];
    return taken;
  }

  use(minute, 1);
  return {
    partner,
    takeWork(calls) {
      const tokens = left(account);
      if (tokens.day < calls || tokens.minute < calls - 1) throw exceeded(account, calls, clock.now());
      use(minute, calls - 1);
      use(day, calls);
    },
    takeCharges,
    async settle() {
      const rest = takeCharges();
      if (rest.length > 0) await store.charge(rest);
    },
    state: () => stateOf(account),
  };
}

function left({ partner, minute, day }: Account): Readonly<Record<WindowKind, number>> {
  return {
    minute: Math.max(0, partner.perMinute - minute.used),
    day: Math.max(0, partner.perDay - day.used),
  };
}

function stateOf(account: Account): QuotaState {
  const { minute, day } = left(account);
  return {
    limit: account.partner.perMinute,
    remaining: Math.min(minute, day),
    resetAt: endOf(account.minute),
  };
}

/**
 * With both windows spent, the longer wait counts. A batch that costs more than is left is refused while smaller calls
 * still pass.
 */
function exceeded(account: Account, calls: number, now: number): QuotaExceeded {
  const window = left(account).day < calls ? account.day : account.minute;
  const resetAt = endOf(window);
  const retryAfterSeconds = Math.max(1, Math.ceil(resetAt - now / 1000));
  return new QuotaExceeded({ ...stateOf(account), resetAt, window: window.kind, retryAfterSeconds });
}

/** Unix epoch seconds at which the window ends. */
function endOf(window: QuotaWindow): number {
  return (window.startsAt + windowMs[window.kind]) / 1000;
}

/** What a partner has used of a window that is open now, for the operator. `resetAt` in ISO 8601. */
export type QuotaUse = { readonly used: number; readonly limit: number; readonly resetAt: string };

/** Reads from what is stored; a service that is running is never more than the calls in flight ahead of it. */
export function quotaUse(
  partner: Partner,
  stored: readonly QuotaWindow[],
  now: number,
): Readonly<Record<WindowKind, QuotaUse>> {
  const starts = openWindows(now);
  const useOf = (kind: WindowKind, limit: number): QuotaUse => {
    const startsAt = starts[kind];
    const isOurs = (one: QuotaWindow) =>
      one.partnerId === partner.partnerId && one.kind === kind && one.startsAt === startsAt;
    const used = stored.find(isOurs)?.used ?? 0;
    return { used, limit, resetAt: isoTime(startsAt + windowMs[kind]) };
  };
  return { minute: useOf("minute", partner.perMinute), day: useOf("day", partner.perDay) };
}
