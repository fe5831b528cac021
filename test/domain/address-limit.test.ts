import { expect, test } from "bun:test";
import { createIpRateLimiter } from "../../src/domain/address-limit.ts";
import type { Clock } from "../../src/domain/clock.ts";
import { aClock } from "../harness/clock.ts";

const start = "2026-03-01T12:00:15.000Z";
const minuteEnd = Date.parse("2026-03-01T12:01:00Z") / 1000;

/** Makes a function that counts a lookup of an IPv4 address. */
function takeOf(perMinute: number, clock: Clock) {
  const { lookup } = createIpRateLimiter(() => perMinute, clock);
  return (address: string) => lookup([address]);
}

test("an IP address gets exactly as many lookups a minute as its limit allows", () => {
  const take = takeOf(3, aClock(start));
  const decisions = Array.from({ length: 5 }, () => take("192.0.2.1"));
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false]);
  expect(decisions.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0, 0]);
  expect(decisions[3]).toMatchObject({ limit: 3, resetAt: minuteEnd, retryAfterSeconds: 45 });
});

test("the lookup count of an IP address returns to zero at the next full minute, and not a millisecond earlier", () => {
  const clock = aClock("2026-03-01T12:00:59.999Z");
  const take = takeOf(1, clock);
  take("192.0.2.1");
  expect(take("192.0.2.1")).toMatchObject({ allowed: false, resetAt: minuteEnd, retryAfterSeconds: 1 });
  clock.add(1);
  expect(take("192.0.2.1")).toMatchObject({ allowed: true, resetAt: minuteEnd + 60 });
});

const blocks = (network: number) => [`2001:db8:1:${network.toString(16)}::/64`, "2001:db8:1::/48"];

test("an IPv6 /48 has sixteen times the limit of a /64, and a lookup that the /48 refuses is not counted for the /64", () => {
  const { lookup } = createIpRateLimiter(() => 3, aClock(start));
  const allowed = (network: number) => lookup(blocks(network)).allowed;
  // 24 /64 blocks make two lookups each: 48 in all.
  for (let network = 0; network < 24; network++)
    expect([allowed(network), allowed(network)]).toEqual([true, true]);
  expect(lookup(blocks(0))).toMatchObject({ allowed: false, limit: 48, remaining: 0, retryAfterSeconds: 45 });
  expect(lookup(["2001:db8:1:0::/64", "2001:db8:ffff::/48"])).toMatchObject({ allowed: true, remaining: 0 });
  const other = lookup(["2001:db8:2:1::/64", "2001:db8:2::/48"]);
  expect(other).toMatchObject({ allowed: true, limit: 3, remaining: 2 });
});

test("the limit of an IPv6 /64 applies even if its /48 has lookups left", () => {
  const { lookup } = createIpRateLimiter(() => 3, aClock(start));
  const decisions = Array.from({ length: 4 }, () => lookup(blocks(1)));
  expect(decisions.map((one) => one.allowed)).toEqual([true, true, true, false]);
  expect(decisions[3]).toMatchObject({ limit: 3, remaining: 0 });
  expect(lookup(blocks(2)).allowed).toBe(true);
});

test.each([
  [60, 20],
  [61, 21],
  [2, 1],
  [1, 1],
])(
  "an IP address with %p lookups a minute has %p personal lookups a minute, which are counted separately",
  (perMinute, personal) => {
    const limit = createIpRateLimiter(() => perMinute, aClock(start));
    for (let call = 0; call < personal; call++)
      expect(limit.personalLookup(["192.0.2.1"]).allowed).toBe(true);
    const refused = { allowed: false, limit: personal, remaining: 0 };
    expect(limit.personalLookup(["192.0.2.1"])).toMatchObject(refused);
    expect(limit.lookup(["192.0.2.1"])).toMatchObject({ allowed: true, limit: perMinute });
    expect(limit.personalLookup(["192.0.2.2"]).allowed).toBe(true);
  },
);

/** Makes two lookups from each of many /64 blocks in different /48 blocks. @returns the number of refused blocks */
function refusedOf({ lookup, personalLookup }: ReturnType<typeof createIpRateLimiter>, addresses: number) {
  let refused = 0;
  for (let n = 0; n < addresses; n++) {
    const blocks = [`2001:${n.toString(16)}::/64`, `2001:${n.toString(16)}::/48`];
    if (!lookup(blocks).allowed || !personalLookup(blocks).allowed) refused++;
  }
  return refused;
}

test.each([
  ["remembered", 49_000, { allowed: false, remaining: 0 }],
  ["forgotten", 250_000, { allowed: true, remaining: 59 }],
])(
  "the lookup count of an IP address is %s after lookups of %i other IP addresses, which are all allowed",
  (_what, others, next) => {
    const limit = createIpRateLimiter(() => 60, aClock(start));
    for (let call = 0; call < 60; call++) limit.lookup(["192.0.2.1"]);
    expect(refusedOf(limit, others)).toBe(0);
    expect(limit.lookup(["192.0.2.1"])).toMatchObject(next);
  },
);
