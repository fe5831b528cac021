import { expect, test } from "bun:test";
import type { Partner } from "../../src/domain/partners.ts";
import type { CallQuota, QuotaCounter, QuotaRefusal } from "../../src/domain/quota.ts";
import { createQuotaCounter, QuotaExceededError } from "../../src/domain/quota.ts";
import type { CallsUsed, QuotaCharge } from "../../src/domain/quota-windows.ts";
import { describeQuotaUse, oldestKeptWindowStarts } from "../../src/domain/quota-windows.ts";
import { aClock } from "../harness/clock.ts";
import { aPartner } from "../harness/samples.ts";

/** The beginning of a minute in the middle of a day, and the minute's end in Unix seconds. */
const start = "2026-03-01T12:00:00.000Z";
const minuteEnd = Date.parse("2026-03-01T12:01:00Z") / 1000;

/** A partner with a quota of three calls a minute and ten calls a day. */
function partner(changes: Partial<Partner> = {}): Partner {
  return { ...aPartner("agency"), perMinute: 3, perDay: 10, ...changes };
}

/** Returns the refusal that `run` throws; null if `run` does not throw. */
function refusalOf(run: () => unknown): QuotaRefusal | null {
  try {
    run();
    return null;
  } catch (error) {
    if (error instanceof QuotaExceededError) return error.refusal;
    throw error;
  }
}

/** Opens a call, and reserves one call of the minute's quota. */
function reserved(quota: QuotaCounter, of: Partner): CallQuota {
  const call = quota.open();
  call.reserve(of);
  return call;
}

/** The end of the day of {@link start}, in Unix seconds. */
const dayEnd = Date.parse("2026-03-02T00:00:00Z") / 1000;

const untilDayEnd = { window: "day", resetAt: dayEnd, retryAfterSeconds: 12 * 3600 };
const untilMinuteEnd = { window: "minute", resetAt: minuteEnd, retryAfterSeconds: 60 };

/** A database that must not be read. */
const noStore = {
  used: () => Promise.reject(new Error("asked")),
  chargeMinute: () => Promise.reject(new Error("asked")),
};
const aQuota = (clock = aClock(start)) => createQuotaCounter({ clock, store: noStore });

const refused = (quota: QuotaCounter, of: Partner) => refusalOf(() => reserved(quota, of));

/** Makes a call that keeps its reservation. */
function work(quota: QuotaCounter, of: Partner, calls = 1): QuotaRefusal | null {
  const call = reserved(quota, of);
  return refusalOf(() => void call.chargeFor(calls));
}

/** Counts the calls that one more batch could charge. */
function roomOf(quota: QuotaCounter, of: Partner): number {
  for (let calls = 0; ; calls++) {
    const call = quota.open();
    const refusal = refusalOf(() => {
      call.reserve(of);
      call.chargeFor(calls + 1);
    });
    call.end();
    if (refusal !== null) return calls;
  }
}

test("each partner has a separate quota", () => {
  const quota = aQuota();
  for (let i = 0; i < 3; i++) work(quota, partner());
  for (const partnerId of ["other", "agency 2"]) expect(roomOf(quota, partner({ partnerId }))).toBe(3);
});

test("the state of a quota lists the limit, the calls left and the remaining time of the minute and the day", () => {
  const call = reserved(aQuota(), partner());
  call.committed({ minute: 1, day: 1 });
  const minute = { name: "minute", limit: 3, lasts: 60, left: 2, endsIn: 60 } as const;
  const day = { name: "day", limit: 10, lasts: 86_400, left: 9, endsIn: 12 * 3600 } as const;
  expect(call.state()).toEqual({ limit: 3, remaining: 2, resetAt: minuteEnd, windows: [minute, day] });
});

test.each([
  [{ perMinute: 0 }, "MINUTE_QUOTA", "per-minute quota exceeded; retry after 60 s", 60],
  [{ perMinute: 0, perDay: 0 }, "DAY_QUOTA", "per-day quota exceeded; retry after 43200 s", 43_200],
  [{ perMinute: 0, perDay: 1 }, "MINUTE_QUOTA", "per-minute quota exceeded; retry after 60 s", 60],
])("a partner with %j is refused with %s", (changes, code, message, retryAfterSeconds) => {
  const enter = () => reserved(aQuota(), partner(changes));
  expect(enter).toThrow(expect.objectContaining({ code, message, retryAfterSeconds }));
});

test("a minute's quota is available again from the first millisecond of the next minute", () => {
  const clock = aClock("2026-03-01T12:00:59.999Z");
  const quota = aQuota(clock);
  for (let i = 0; i < 3; i++) work(quota, partner());
  expect(refused(quota, partner())).toMatchObject({ resetAt: minuteEnd, retryAfterSeconds: 1 });
  clock.add(1);
  expect(roomOf(quota, partner())).toBe(3);
});

test.each([
  ["12:00:00.001", 60],
  ["12:00:01.000", 59],
  ["12:00:59.000", 1],
  ["12:00:59.999", 1],
])("a call that is refused at %s may be repeated after %d s", (time, seconds) => {
  const quota = aQuota(aClock(`2026-03-01T${time}Z`));
  expect(refused(quota, partner({ perMinute: 0 }))?.retryAfterSeconds).toBe(seconds);
});

test("a day's quota is available again at midnight UTC", () => {
  const clock = aClock("2026-03-01T23:59:59.999Z");
  const quota = aQuota(clock);
  const daily = partner({ perDay: 1 });
  expect(work(quota, daily)).toBeNull();
  const refusal = { ...untilDayEnd, limit: 3, remaining: 0, retryAfterSeconds: 1 };
  expect(work(quota, daily)).toMatchObject(refusal);
  clock.add(1);
  expect(roomOf(quota, daily)).toBe(1);
});

test("a raised or lowered quota applies to the current minute immediately", () => {
  const quota = aQuota();
  for (let i = 0; i < 3; i++) work(quota, partner());
  expect(refused(quota, partner())).not.toBeNull();
  const raised = partner({ perMinute: 5 });
  expect([work(quota, raised), work(quota, raised)]).toEqual([null, null]);
  expect(refused(quota, raised)).toMatchObject({ limit: 5, remaining: 0, resetAt: minuteEnd });
  expect(refused(quota, partner({ perMinute: 2 }))).toMatchObject({ limit: 2, remaining: 0 });
});

const starts = { minute: Date.parse(start), day: Date.parse("2026-03-01T00:00:00Z") };

test("chargeFor returns the calls to charge, the windows and the limits that the commit checks", () => {
  const call = reserved(aQuota(), partner());
  const limits = { minute: 3, day: 10 };
  expect(call.chargeFor(1)).toEqual({ partnerId: "agency", starts, calls: 1, ofDay: 1, limits });
  expect(call.chargeFor(1, 9)).toEqual({ partnerId: "agency", starts, calls: 1, ofDay: 9, limits });
  expect(call.day()).toEqual({ used: 9, endsAt: dayEnd * 1000 });
  expect(() => aQuota().open().chargeFor(1)).toThrow(
    expect.objectContaining({ code: "INTERNAL", message: "the call was not let in" }),
  );
});

test("checkDayRoom throws for more calls than the day's quota has left, and reserves none", () => {
  const quota = aQuota();
  const call = reserved(quota, partner());
  expect(refusalOf(() => call.checkDayRoom(10))).toBeNull();
  expect(refusalOf(() => call.checkDayRoom(11))).toMatchObject(untilDayEnd);
  expect(roomOf(quota, partner())).toBe(2);
});

test("the charge of a running call is reserved, and freed if the call fails", () => {
  const quota = aQuota();
  const call = reserved(quota, partner());
  call.chargeFor(2);
  expect(roomOf(quota, partner())).toBe(1);
  call.end();
  expect(roomOf(quota, partner())).toBe(3);
});

test("the quota use that a commit reports is shown to the caller, and limits later calls", () => {
  const quota = aQuota();
  const [call, other] = [reserved(quota, partner()), reserved(quota, partner())];
  call.chargeFor(1);
  call.committed({ minute: 2, day: 9 });
  expect(call.state()).toMatchObject({ limit: 3, remaining: 1, resetAt: minuteEnd });
  call.end();
  expect(roomOf(quota, partner())).toBe(0);
  other.end();
  expect(roomOf(quota, partner())).toBe(1);
});

test("a batch that exactly fills the quota is allowed, and a batch of one item more is refused", () => {
  const fitting = aQuota();
  expect(work(fitting, partner(), 3)).toBeNull();
  expect(refused(fitting, partner())).toMatchObject(untilMinuteEnd);
  expect(work(aQuota(), partner(), 4)).toMatchObject(untilMinuteEnd);
  const daily = partner({ perMinute: 20, perDay: 3 });
  expect(work(aQuota(), daily, 4)).toMatchObject(untilDayEnd);
});

test("a call is charged to the minute and day of its arrival, even if its work begins later", () => {
  const clock = aClock("2026-03-01T23:59:59.999Z");
  const quota = aQuota(clock);
  const call = reserved(quota, partner());
  clock.add(1);
  const lastMinute = Date.parse("2026-03-01T23:59:00Z");
  expect(call.chargeFor(2)).toMatchObject({ starts: { minute: lastMinute, day: starts.day } });
  call.committed({ minute: 2, day: 2 });
  expect(call.state()).toMatchObject({ limit: 3, remaining: 1, resetAt: dayEnd });
  expect(roomOf(quota, partner())).toBe(3);
});

const at = Date.parse(start);
test("the quota use of a minute is kept for an hour, and the quota use of a day for two days", () => {
  expect(oldestKeptWindowStarts(at)).toEqual({ minute: at - 3_600_000, day: at - 48 * 3_600_000 });
});

const stored = [
  { partnerId: "agency", kind: "minute", startsAt: at, used: 2 },
  { partnerId: "agency", kind: "day", startsAt: starts.day, used: 9 },
] as const;

test("describeQuotaUse shows the quota use of the current minute and day", () => {
  const shown = (time: string) => describeQuotaUse(partner(), stored, Date.parse(time));
  expect(shown("2026-03-01T12:00:59.999Z")).toEqual({
    minute: { used: 2, limit: 3, resetAt: "2026-03-01T12:01:00.000Z" },
    day: { used: 9, limit: 10, resetAt: "2026-03-02T00:00:00.000Z" },
  });
  expect(shown("2026-03-01T12:01:00Z")).toMatchObject({ minute: { used: 0 }, day: { used: 9 } });
  expect(shown("2026-03-02T00:00:00Z")).toMatchObject({ minute: { used: 0 }, day: { used: 0 } });
  const [minute, day] = stored;
  // At midnight the minute and the day begin at the same time.
  const ofMinute = { ...minute, startsAt: day.startsAt, used: 7 };
  const midnight = [{ ...day, used: 1 }, ofMinute];
  const usedAtMidnight = { minute: { used: 7 }, day: { used: 1 } };
  expect(describeQuotaUse(partner(), midnight, day.startsAt)).toMatchObject(usedAtMidnight);
  const unused = { minute: { used: 0 }, day: { used: 0 } };
  expect(describeQuotaUse(partner({ partnerId: "other" }), stored, at)).toMatchObject(unused);
});

/** A database with charged calls of another process. The revision of its configuration is 7. */
function aDatabase(used: CallsUsed) {
  const now = { ...used };
  return {
    used: async () => ({ ...now }),
    async chargeMinute({ calls, limits }: QuotaCharge, revision: number) {
      if (revision !== 7 || now.minute + calls > limits.minute) return null;
      now.minute += calls;
      return { ...now };
    },
  };
}
const opened = (used: CallsUsed) => createQuotaCounter({ clock: aClock(start), store: aDatabase(used) });

test("a call whose commit was refused, and later calls, are checked against the quota use in the database, not in memory", async () => {
  const quota = opened({ minute: 3, day: 3 });
  const call = reserved(quota, partner());
  call.chargeFor(1);
  expect(call.state()).toBeUndefined();
  await call.reread();
  expect(refusalOf(() => call.reserve(partner()))).toMatchObject({ ...untilMinuteEnd, remaining: 0 });
  expect(refusalOf(() => reserved(quota, partner()))?.window).toBe("minute");
  const looking = quota.open();
  await looking.read(partner());
  expect(looking.state()).toMatchObject({ limit: 3, remaining: 0 });
  const raised = partner({ perMinute: 4 });
  call.reserve(raised);
  expect(call.chargeFor(1)).toMatchObject({ calls: 1, limits: { minute: 4 } });
  expect(refusalOf(() => call.chargeFor(2))).toMatchObject({ ...untilMinuteEnd, limit: 4 });
  call.reserve(partner({ partnerId: "other" }));
  expect(call.state()).toBeUndefined();
});

test("a retry after a conflict goes by the calls in the database, and not by other calls that are still running", async () => {
  const quota = opened({ minute: 2, day: 2 });
  const [call] = [reserved(quota, partner()), reserved(quota, partner())];
  await call?.reread();
  expect(refusalOf(() => call?.reserve(partner()))).toBeNull();
});

test("a call that the day's quota refuses is charged to the minute if the minute has calls left", async () => {
  const quota = opened({ minute: 1, day: 5 });
  const call = reserved(quota, partner());
  expect(await call.charge(6)).toBe(false);
  expect(await call.charge(7)).toBe(true);
  expect(call.state()).toMatchObject({ limit: 3, remaining: 1, resetAt: minuteEnd });
  const last = reserved(quota, partner());
  expect(await last.charge(7)).toBe(true);
  expect(last.state()?.remaining).toBe(0);
  const refused = reserved(opened({ minute: 3, day: 10 }), partner());
  expect(await refused.charge(7)).toBe(false);
  expect(refusalOf(() => refused.reserve(partner()))).toMatchObject({ window: "day", remaining: 0 });
});
