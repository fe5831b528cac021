import { beforeEach, expect, test } from "bun:test";
import { createRefusalCounter, type RefusalCounter } from "../../src/metrics/refusals.ts";
import type { ApiErrorCode } from "../../src/partner/error-codes.ts";

let now = 0;
let refusals: RefusalCounter;
beforeEach(() => {
  now = Date.parse("2026-03-01T09:30:30Z");
  refusals = createRefusalCounter({ now: () => now });
});

const errors: Record<number, ApiErrorCode> = {
  401: "CREDENTIAL_REQUIRED",
  403: "SCOPE_MISSING",
  404: "PATH_UNKNOWN",
  429: "MINUTE_QUOTA",
  503: "OVERLOADED",
};
const refuse = (partnerId: string | null, status: number, keyId = partnerId === null ? null : "k1") =>
  refusals.observe({ partnerId, keyId, status, error: errors[status] ?? null });
const shown = () =>
  refusals.callers().map((one) => [one.partnerId, one.keyId, [...one.recent], [...one.sinceStart]]);

/** Reads the samples that Prometheus gets. */
async function byPartner() {
  const { values } = await refusals.metric.get();
  return values.map(({ labels: { partner, code, status }, value }) => [partner, code, status, value]);
}

test("refusals are counted by partner, key and error code, and the caller who was refused last comes first", async () => {
  refuse("a", 429);
  refuse("a", 403);
  refuse("a", 403, "k2");
  now += 1;
  refuse("a", 429);
  now += 1;
  refuse(null, 401);
  // biome-ignore format: a table reads better in rows
  expect(shown()).toEqual([
    [null, null, [["CREDENTIAL_REQUIRED", 1]], [["CREDENTIAL_REQUIRED", 1]]],
    ["a", "k1", [["MINUTE_QUOTA", 2], ["SCOPE_MISSING", 1]], [["MINUTE_QUOTA", 2], ["SCOPE_MISSING", 1]]],
    ["a", "k2", [["SCOPE_MISSING", 1]], [["SCOPE_MISSING", 1]]],
  ]);
  expect(await byPartner()).toEqual([
    ["a", "MINUTE_QUOTA", 429, 2],
    ["a", "SCOPE_MISSING", 403, 2],
    [undefined, "CREDENTIAL_REQUIRED", 401, 1],
  ]);
});

test("successful calls, internal errors and calls that need no credential do not count as refusals", () => {
  refuse("a", 200);
  refuse("a", 503);
  refuse(null, 429);
  refuse(null, 404);
  expect(shown()).toEqual([]);
});

test("a refusal counts as recent for fifteen minutes of the clock", () => {
  refuse("a", 429);
  now += 60_000;
  refuse("a", 429);
  now += 13 * 60_000;
  expect(shown()).toMatchObject([["a", "k1", [["MINUTE_QUOTA", 2]], [["MINUTE_QUOTA", 2]]]]);
  now += 60_000;
  expect(shown()).toMatchObject([["a", "k1", [["MINUTE_QUOTA", 1]], [["MINUTE_QUOTA", 2]]]]);
  now += 60_000;
  expect(shown()).toMatchObject([["a", "k1", [], [["MINUTE_QUOTA", 2]]]]);
  now += 365 * 86_400_000;
  refuse("a", 429);
  expect(shown()).toMatchObject([["a", "k1", [["MINUTE_QUOTA", 1]], [["MINUTE_QUOTA", 3]]]]);
});

test("once 10,000 keys are counted, the refusals of a partner's further keys are counted together", async () => {
  for (let n = 0; n < 10_000; n++) refuse("a", 403, `key ${n}`);
  for (let n = 0; n < 100; n++) refuse("b", 403, `key ${n}`);
  expect(refusals.callers()).toHaveLength(10_001);
  expect(await byPartner()).toContainEqual(["b", "SCOPE_MISSING", 403, 100]);
});
