import { afterAll, describe, expect, test } from "bun:test";
import { Worker } from "node:worker_threads";
import { createAddressLimit, newAddressCounts } from "../../src/domain/address-limit.ts";
import type { Clock } from "../../src/domain/clock.ts";
import { aClock } from "../harness/clock.ts";

const start = "2026-03-01T12:00:15.000Z";
const minuteEnd = Date.parse("2026-03-01T12:01:00Z") / 1000;

/** Lookups of an address that lies in no wider block. */
function takeOf(perMinute: number, clock: Clock) {
  const { lookup } = createAddressLimit(() => perMinute, clock);
  return (address: string) => lookup([address]);
}

describe("the limit of one address", () => {
  test("is exact, call by call", () => {
    const take = takeOf(3, aClock(start));
    const decisions = Array.from({ length: 5 }, () => take("192.0.2.1"));
    expect(decisions.map((one) => [one.allowed, one.remaining])).toEqual([
      [true, 2],
      [true, 1],
      [true, 0],
      [false, 0],
      [false, 0],
    ]);
    expect(decisions[3]).toMatchObject({ limit: 3, resetAt: minuteEnd, retryAfterSeconds: 45 });
  });

  test("begins anew with the clock's minute, and not a millisecond before", () => {
    const clock = aClock("2026-03-01T12:00:59.999Z");
    const take = takeOf(1, clock);
    take("192.0.2.1");
    expect(take("192.0.2.1")).toMatchObject({ allowed: false, resetAt: minuteEnd, retryAfterSeconds: 1 });
    clock.add(1);
    expect(take("192.0.2.1")).toMatchObject({ allowed: true, resetAt: minuteEnd + 60 });
  });

  test("a limit of nothing lets nobody in", () => {
    expect(takeOf(0, aClock(start))("192.0.2.1")).toMatchObject({ allowed: false, remaining: 0 });
  });
});

describe("an address of IPv6", () => {
  const blocks = (network: number) => [`2001:db8:1:${network.toString(16)}::/64`, "2001:db8:1::/48"];

  test("shares sixteen times the limit with its /48, and what is refused there is taken from nobody", () => {
    const { lookup } = createAddressLimit(() => 3, aClock(start));
    const allowed = (network: number) => lookup(blocks(network)).allowed;
    // 24 blocks of two lookups each: 48 in all.
    for (let network = 0; network < 24; network++)
      expect([allowed(network), allowed(network)]).toEqual([true, true]);
    expect(lookup(blocks(0))).toMatchObject({
      allowed: false,
      limit: 48,
      remaining: 0,
      retryAfterSeconds: 45,
    });
    expect(lookup(["2001:db8:1:0::/64", "2001:db8:ffff::/48"])).toMatchObject({
      allowed: true,
      remaining: 0,
    });
    expect(lookup(["2001:db8:2:1::/64", "2001:db8:2::/48"])).toMatchObject({
      allowed: true,
      limit: 3,
      remaining: 2,
    });
  });

  test("has the limit for its own /64 first", () => {
    const { lookup } = createAddressLimit(() => 3, aClock(start));
    const decisions = Array.from({ length: 4 }, () => lookup(blocks(1)));
    expect(decisions.map((one) => one.allowed)).toEqual([true, true, true, false]);
    expect(decisions[3]).toMatchObject({ limit: 3, remaining: 0 });
    expect(lookup(blocks(2)).allowed).toBe(true);
  });
});

test.each([
  [60, 20],
  [61, 21],
  [2, 1],
  [1, 1],
])(
  "lookups that name a person by NIN, e-mail or phone have of %p a minute %p, in a budget of their own",
  (perMinute, personal) => {
    const limit = createAddressLimit(() => perMinute, aClock(start));
    for (let call = 0; call < personal; call++)
      expect(limit.personalLookup(["192.0.2.1"]).allowed).toBe(true);
    expect(limit.personalLookup(["192.0.2.1"])).toMatchObject({
      allowed: false,
      limit: personal,
      remaining: 0,
    });
    expect(limit.lookup(["192.0.2.1"])).toMatchObject({ allowed: true, limit: perMinute });
    expect(limit.personalLookup(["192.0.2.2"]).allowed).toBe(true);
  },
);

describe("the limit of several threads", () => {
  const workers: Worker[] = [];
  afterAll(() => Promise.all(workers.map((worker) => worker.terminate())));

  /** Has threads take from one limit as fast as they can, all of them until each was refused a hundred times. */
  async function takeInThreads(minute: number, addresses: readonly (readonly string[])[], perMinute: number) {
    const counts = await Promise.all(
      workers.map((worker) => {
        const counted = new Promise<number[]>((resolve) => worker.once("message", resolve));
        worker.postMessage({ minute, addresses, perMinute });
        return counted;
      }),
    );
    return addresses.map((_, at) => counts.reduce((sum, one) => sum + (one[at] ?? 0), 0));
  }

  test("is exact for each address, and never exceeded for the block that many of them share", async () => {
    const memory = newAddressCounts();
    const entry = new URL("./address-limit-thread.ts", import.meta.url);
    for (let n = 0; n < 4; n++) workers.push(new Worker(entry, { workerData: memory }));
    await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once("message", resolve))));
    const alone = Array.from({ length: 3 }, (_, n) => [`192.0.2.${n}`]);
    const sharing = Array.from({ length: 40 }, (_, n) => [`2001:db8:1:${n}::/64`, "2001:db8:1::/48"]);
    for (let round = 0; round < 30; round++) {
      const minute = 29_000_000 + round;
      const perMinute = 1 + ((round * 7) % 60);
      expect(await takeInThreads(minute, alone, perMinute)).toEqual(alone.map(() => perMinute));
      const ofBlocks = await takeInThreads(minute, sharing, perMinute);
      expect(Math.max(...ofBlocks)).toBeLessThanOrEqual(perMinute);
      expect(ofBlocks.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(perMinute * 16);
    }
  });

  test("begins anew with each minute for weeks, however long nobody called", () => {
    const clock = aClock(start);
    const take = takeOf(1, clock);
    for (const minutes of [1, 2, 127, 128, 129, 254, 255, 257, 300, 20_000]) {
      expect([minutes, take("192.0.2.1").allowed, take("192.0.2.1").allowed]).toEqual([minutes, true, false]);
      clock.add(minutes * 60_000);
    }
  });

  test("is not refilled by a thread whose clock turns to the next minute later than another's", () => {
    const memory = newAddressCounts();
    const late = createAddressLimit(() => 2, aClock("2026-03-01T12:00:59.999Z"), memory);
    const early = createAddressLimit(() => 2, aClock("2026-03-01T12:01:00.000Z"), memory);
    const taken = [early, late, early, late].map(({ lookup }) => lookup(["192.0.2.1"]).allowed);
    expect(taken).toEqual([true, true, false, false]);
  });
});

test("of a quarter of a million addresses in a minute none is refused its first lookup, and nobody gets more than the limit", () => {
  const clock = aClock(start);
  const { lookup, personalLookup } = createAddressLimit(() => 60, clock);
  for (let i = 0; i < 60; i++) lookup(["192.0.2.1"]);
  let refusedFirst = 0;
  for (let i = 0; i < 250_000; i++) {
    const blocks = [`2001:${i.toString(16)}::/64`, `2001:${i.toString(16)}::/48`];
    if (!lookup(blocks).allowed || !personalLookup(blocks).allowed) refusedFirst++;
  }
  expect(refusedFirst).toBe(0);
  expect(lookup(["192.0.2.1"]).allowed).toBe(false);
  clock.add(60_000);
  expect(lookup(["192.0.2.1"])).toMatchObject({ allowed: true, remaining: 59 });
});
