import { isoTime } from "./clock.ts";
import type { Partner } from "./partners.ts";

export type WindowKind = "minute" | "day";

const windowMs: Readonly<Record<WindowKind, number>> = { minute: 60_000, day: 86_400_000 };

/** The time for which a window is kept after its start, for calls answered late and for clocks that are set back. */
const keepWindowMs: Readonly<Record<WindowKind, number>> = { minute: 3_600_000, day: 2 * 86_400_000 };

/** The calls charged to one window. `startsAt` is in milliseconds since the epoch. */
export type QuotaWindow = { partnerId: string; kind: WindowKind; startsAt: number; used: number };

/** The starts of one minute and one day, in milliseconds since the epoch. */
export type WindowStarts = Readonly<Record<WindowKind, number>>;

export type CallsUsed = Readonly<Record<WindowKind, number>>;

/** The charge of one call to the minute and the day of its arrival, and the limits of both windows. */
export type QuotaCharge = {
  readonly partnerId: string;
  readonly starts: WindowStarts;
  readonly calls: number;
  /** The calls charged to the day; absent if the day is charged as many calls as the minute (`calls`). */
  readonly ofDay?: number;
  readonly limits: Readonly<Record<WindowKind, number>>;
};

/** Gives the starts of the minute and the day that contain `now`; all times in milliseconds since the epoch. */
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

/** Describes the committed calls of a partner in the current minute and day, and the limits. `resetAt` is ISO 8601. */
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
