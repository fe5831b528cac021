import { isoTime } from "./clock.ts";
import type { Partner } from "./partners.ts";

export type WindowKind = "minute" | "day";

const windowMs: Readonly<Record<WindowKind, number>> = { minute: 60_000, day: 86_400_000 };

/**
 * How long a window is kept after it began. A call is charged to the minute in which it came, which may be over when
 * it is answered, and a clock that is set back meets the windows it has seen before.
 */
export const keepWindowMs: Readonly<Record<WindowKind, number>> = { minute: 3_600_000, day: 2 * 86_400_000 };

/** What was used of the window that began at `startsAt` (milliseconds since the epoch). */
export type QuotaWindow = { partnerId: string; kind: WindowKind; startsAt: number; used: number };

/** The beginning of one window of each kind, in milliseconds since the epoch. */
export type WindowStarts = Readonly<Record<WindowKind, number>>;

export type WindowsUsed = Readonly<Record<WindowKind, number>>;

/** What a call costs of the windows that were open when it came, and what they have room for. */
export type QuotaCharge = {
  readonly partnerId: string;
  readonly starts: WindowStarts;
  /** How many calls it counts as. */
  readonly calls: number;
  /** What it costs of the day, where that is not as many. */
  readonly ofDay?: number;
  readonly limits: Readonly<Record<WindowKind, number>>;
};

/** The windows that are open at a time, in milliseconds since the epoch. */
export function openWindows(now: number): WindowStarts {
  const startOf = (kind: WindowKind) => Math.floor(now / windowMs[kind]) * windowMs[kind];
  return { minute: startOf("minute"), day: startOf("day") };
}

/** What {@link QuotaStore.prune} may forget at a time, in milliseconds since the epoch. */
export function forgottenWindows(now: number): WindowStarts {
  return { minute: now - keepWindowMs.minute, day: now - keepWindowMs.day };
}

/** Unix epoch seconds at which the window ends. */
export function endOf(kind: WindowKind, { startsAt }: Pick<QuotaWindow, "startsAt">): number {
  return (startsAt + windowMs[kind]) / 1000;
}

/**
 * What a partner has used of the windows that are open now, for the operator; `resetAt` in ISO 8601. It is read from what
 * is stored: a service that is running is never more than the calls in flight ahead of it.
 */
export function quotaUse(partner: Partner, stored: readonly QuotaWindow[], now: number) {
  const starts = openWindows(now);
  const useOf = (kind: WindowKind, limit: number) => {
    const startsAt = starts[kind];
    const isOurs = (one: QuotaWindow) =>
      one.partnerId === partner.partnerId && one.kind === kind && one.startsAt === startsAt;
    const used = stored.find(isOurs)?.used ?? 0;
    return { used, limit, resetAt: isoTime(startsAt + windowMs[kind]) };
  };
  return { minute: useOf("minute", partner.perMinute), day: useOf("day", partner.perDay) };
}
