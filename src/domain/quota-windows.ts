import { isoTime } from "./clock.ts";
import type { Partner } from "./partners.ts";

export type WindowKind = "minute" | "day";

const windowMs: Readonly<Record<WindowKind, number>> = { minute: 60_000, day: 86_400_000 };

/**
 * The time to keep a quota window after its start. A call that is answered late is charged to the minute of its
 * arrival, and a clock that was set back needs the earlier windows.
 */
const keepWindowMs: Readonly<Record<WindowKind, number>> = { minute: 3_600_000, day: 2 * 86_400_000 };

/** The calls charged to one window. `startsAt` is in milliseconds since the epoch. */
export type QuotaWindow = { partnerId: string; kind: WindowKind; startsAt: number; used: number };

/** The starts of one minute and one day, in milliseconds since the epoch. */
export type WindowStarts = Readonly<Record<WindowKind, number>>;

export type CallsUsed = Readonly<Record<WindowKind, number>>;

/** The charge of a call to the minute and day of its arrival, and the limits of both. */
export type QuotaCharge = {
  readonly partnerId: string;
  readonly starts: WindowStarts;
  readonly calls: number;
  /** The calls charged to the day; absent if equal to `calls`. */
  readonly ofDay?: number;
  readonly limits: Readonly<Record<WindowKind, number>>;
};

/** Gives the starts of the windows that are open at a time; all in milliseconds since the epoch. */
export function currentWindowStarts(now: number): WindowStarts {
  const startOf = (kind: WindowKind) => Math.floor(now / windowMs[kind]) * windowMs[kind];
  return { minute: startOf("minute"), day: startOf("day") };
}

/** Gives the earliest start of a kept minute and of a kept day. Windows that began earlier may be deleted. */
export function oldestKeptWindowStarts(now: number): WindowStarts {
  return { minute: now - keepWindowMs.minute, day: now - keepWindowMs.day };
}

/** Gives the end of a window in Unix epoch seconds. */
export function windowEndSeconds(kind: WindowKind, { startsAt }: Pick<QuotaWindow, "startsAt">): number {
  return (startsAt + windowMs[kind]) / 1000;
}

/** Describes a partner's use of the current windows, by the committed calls. `resetAt` is ISO 8601. */
export function describeQuotaUse(partner: Partner, stored: readonly QuotaWindow[], now: number) {
  const starts = currentWindowStarts(now);
  const useOf = (kind: WindowKind, limit: number) => {
    const startsAt = starts[kind];
    const isOurs = (one: QuotaWindow) =>
      one.partnerId === partner.partnerId && one.kind === kind && one.startsAt === startsAt;
    const used = stored.find(isOurs)?.used ?? 0;
    return { used, limit, resetAt: isoTime(startsAt + windowMs[kind]) };
  };
  return { minute: useOf("minute", partner.perMinute), day: useOf("day", partner.perDay) };
}
