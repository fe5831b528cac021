import { describe, expect, test } from "bun:test";
import { createAddressLimit } from "../../src/domain/address-limit.ts";
import { aClock } from "./samples.ts";

const start = "2026-03-01T12:00:15.000Z";
const minuteEnd = Date.parse("2026-03-01T12:01:00Z") / 1000;

describe("the limit of one address", () => {
  test("is exact, call by call", () => {
    const take = createAddressLimit(3, aClock(start));
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

  test("is nobody else's", () => {
    const take = createAddressLimit(1, aClock(start));
    take("192.0.2.1");
    expect([take("192.0.2.1").allowed, take("192.0.2.2").allowed]).toEqual([false, true]);
  });

  test("begins anew with the clock's minute, and not a millisecond before", () => {
    const clock = aClock("2026-03-01T12:00:59.999Z");
    const take = createAddressLimit(1, clock);
    take("192.0.2.1");
    expect(take("192.0.2.1")).toMatchObject({ allowed: false, resetAt: minuteEnd, retryAfterSeconds: 1 });
    clock.add(1);
    expect(take("192.0.2.1")).toMatchObject({ allowed: true, resetAt: minuteEnd + 60 });
  });

  test("a minute in which it was refused all the time makes the next no shorter", () => {
    const clock = aClock(start);
    const take = createAddressLimit(2, clock);
    for (let i = 0; i < 1000; i++) take("192.0.2.1");
    clock.add(60_000);
    expect([1, 2, 3].map(() => take("192.0.2.1").allowed)).toEqual([true, true, false]);
  });

  test("a limit of nothing lets nobody in", () => {
    expect(createAddressLimit(0, aClock(start))("192.0.2.1")).toMatchObject({ allowed: false, remaining: 0 });
  });
});

describe("a million addresses in a minute", () => {
  test("need no more memory than one, and nobody gets more than the limit", () => {
    const clock = aClock(start);
    const take = createAddressLimit(60, clock);
    for (let i = 0; i < 60; i++) take("192.0.2.1");
    Bun.gc(true);
    const before = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
    let refusedFirst = 0;
    for (let i = 0; i < 1_000_000; i++) if (!take(`2001:db8::${i.toString(16)}`).allowed) refusedFirst++;
    Bun.gc(true);
    const grown = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers - before;
    // A map of a million addresses would take a hundred megabytes.
    expect(grown).toBeLessThan(20_000_000);
    expect(take("192.0.2.1").allowed).toBe(false);
    expect(refusedFirst).toBe(0);
    clock.add(60_000);
    expect(take("192.0.2.1")).toMatchObject({ allowed: true, remaining: 59 });
  });
});
