import { beforeEach, describe, expect, test } from "bun:test";
import { createRefusals, type Refusals } from "../../src/metrics/refusals.ts";
import type { ApiErrorCode } from "../../src/partner/error-codes.ts";

let now = 0;
let refusals: Refusals;
beforeEach(() => {
  now = Date.parse("2026-03-01T09:30:30Z");
  refusals = createRefusals({ now: () => now });
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
  refusals
    .callers()
    .map(({ partnerId, keyId, recent, sinceStart }) => [partnerId, keyId, [...recent], [...sinceStart]]);

describe("refusals", () => {
  test("are counted by partner, key and code, who was refused last first", () => {
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
    expect(refusals.byPartner()).toEqual([
      { partnerId: "a", code: "MINUTE_QUOTA", count: 2 },
      { partnerId: "a", code: "SCOPE_MISSING", count: 2 },
      { partnerId: null, code: "CREDENTIAL_REQUIRED", count: 1 },
    ]);
  });

  test("are no answers, no failures of ours, and nothing of who was never asked for a credential", () => {
    refuse("a", 200);
    refuse("a", 503);
    refuse(null, 429);
    refuse(null, 404);
    expect(shown()).toEqual([]);
  });

  test("are of late for a quarter of an hour, to the minute", () => {
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

  test("take bounded memory: of very many keys, those of further partners are counted together", () => {
    for (let n = 0; n < 10_000; n++) refuse("a", 403, `key ${n}`);
    for (let n = 0; n < 100; n++) refuse("b", 403, `key ${n}`);
    expect(refusals.callers()).toHaveLength(10_001);
    expect(refusals.byPartner()).toContainEqual({ partnerId: "b", code: "SCOPE_MISSING", count: 100 });
  });
});
