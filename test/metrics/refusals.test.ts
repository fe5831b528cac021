import { beforeEach, describe, expect, test } from "bun:test";
import { createRefusals, type Refusals } from "../../src/metrics/refusals.ts";

let now = 0;
let refusals: Refusals;
beforeEach(() => {
  now = Date.parse("2026-03-01T09:30:30Z");
  refusals = createRefusals({ now: () => now });
});

const refuse = (partnerId: string | null, status: number, keyId = partnerId === null ? null : "k1") =>
  refusals.observe({ partnerId, keyId, status });
const shown = () =>
  refusals
    .callers()
    .map(({ partnerId, keyId, recent, sinceStart }) => [partnerId, keyId, [...recent], [...sinceStart]]);

describe("refusals", () => {
  test("are counted by partner, key and status, who was refused last first", () => {
    refuse("a", 429);
    refuse("a", 403);
    refuse("a", 403, "k2");
    now += 1;
    refuse("a", 429);
    now += 1;
    refuse(null, 401);
    expect(shown()).toEqual([
      [null, null, [[401, 1]], [[401, 1]]],
      [
        "a",
        "k1",
        [
          [403, 1],
          [429, 2],
        ],
        [
          [403, 1],
          [429, 2],
        ],
      ],
      ["a", "k2", [[403, 1]], [[403, 1]]],
    ]);
    expect(refusals.byPartner()).toEqual([
      { partnerId: "a", status: 429, count: 2 },
      { partnerId: "a", status: 403, count: 2 },
      { partnerId: null, status: 401, count: 1 },
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
    expect(shown()).toMatchObject([["a", "k1", [[429, 2]], [[429, 2]]]]);
    now += 60_000;
    expect(shown()).toMatchObject([["a", "k1", [[429, 1]], [[429, 2]]]]);
    now += 60_000;
    expect(shown()).toMatchObject([["a", "k1", [], [[429, 2]]]]);
    now += 365 * 86_400_000;
    refuse("a", 429);
    expect(shown()).toMatchObject([["a", "k1", [[429, 1]], [[429, 3]]]]);
  });

  test("take bounded memory: of very many keys, those of further partners are counted together", () => {
    for (let n = 0; n < 10_000; n++) refuse("a", 403, `key ${n}`);
    for (let n = 0; n < 100; n++) refuse("b", 403, `key ${n}`);
    expect(refusals.callers()).toHaveLength(10_001);
    expect(refusals.byPartner()).toContainEqual({ partnerId: "b", status: 403, count: 100 });
  });
});
