import { expect, test } from "bun:test";
import type { CallCommit } from "../../src/domain/attestations.ts";
import { idempotencyRetentionMs } from "../../src/domain/idempotency.ts";
import type { TeacherPrecondition } from "../../src/domain/teachers/teachers.ts";
import { callPreconditions, checkCallPreconditions, type PreconditionValues } from "../../src/store/calls.ts";

const starts = { minute: 600_000, day: 0 };
const id = new Uint8Array(32).fill(3);
const nin = new Uint8Array(16).fill(9);
const ninHex = "09".repeat(16);
const at = 1_700_000_000_000;

function aCall(changes: Partial<CallCommit> = {}): CallCommit {
  const charge = { partnerId: "agency", starts, calls: 1, limits: { minute: 10, day: 100 } };
  return { revision: 7, attestations: [], read: [], charge, idempotency: null, ...changes };
}

function keyed(createdAt: number): Partial<CallCommit> {
  return { idempotency: { id, fingerprint: new Uint8Array(32), createdAt, headers: {}, body: "" } };
}

function costing(calls: number, changes: Partial<CallCommit["charge"]> = {}): Partial<CallCommit> {
  return { charge: { ...aCall().charge, calls, ...changes } };
}

function current(changes: Partial<PreconditionValues> = {}): PreconditionValues {
  const none = { versions: new Map(), taken: new Set<string>(), answeredAt: new Map(), used: new Map() };
  return { revision: 7, ...none, ...changes };
}

const used = (minute: number, day: number) =>
  current({ used: new Map(Object.entries({ "minute 600000 agency": minute, "day 0 agency": day })) });
const versions = (...pairs: [number, number][]) => current({ versions: new Map(pairs) });
const answered = (createdAt: number) => current({ answeredAt: new Map([["03".repeat(32), createdAt]]) });
const taken = (key: string) => current({ taken: new Set([key]) });
const reading = (...read: TeacherPrecondition[]): Partial<CallCommit> => ({ read });
const one = { id: 1, version: 4 };
const two = { id: 2, version: 9 };

type Case = [
  what: string,
  call: Partial<CallCommit>,
  now: PreconditionValues,
  broken: keyof typeof callPreconditions | null,
];

// biome-ignore format: a table reads better in rows
const cases: Case[] = [
  ["the same revision", {}, current(), null],
  ["a later revision", {}, current({ revision: 8 }), "revision"],
  ["an earlier revision, of a restored database", {}, current({ revision: 6 }), "revision"],
  ["records at their versions", reading(one, two), versions([1, 4], [2, 9]), null],
  ["one of two records at a later version", reading(one, two), versions([1, 4], [2, 10]), "record"],
  ["a record that is gone", reading(one), versions([2, 9]), "record"],
  ["nobody under a number", reading({ by: "regNo", value: "N/1" }), current(), null],
  ["somebody under a registration number", reading({ by: "regNo", value: "N/1" }), taken("regNo N/1"), "nobody"],
  ["somebody under a teacher id", reading({ by: "tId", value: 5 }), taken("tId 5"), "nobody"],
  ["somebody under a NIN", reading({ by: "nin", value: nin }), taken(`nin ${ninHex}`), "nobody"],
  ["somebody under the same number of another kind", reading({ by: "tId", value: 5 }), taken("regNo 5"), null],
  ["room for the last call of the minute", {}, used(9, 0), null],
  ["no room in the minute", {}, used(10, 0), "minute"],
  ["room in the minute for one of two calls", costing(2), used(9, 0), "minute"],
  ["room for the last call of the day", {}, used(0, 99), null],
  ["no room in the day", {}, used(0, 100), "day"],
  ["a call that costs nothing of a full day", costing(1, { ofDay: 0 }), used(0, 100), null],
  ["a call that costs more of the day than there is", costing(1, { ofDay: 3 }), used(0, 98), "day"],
  ["a call that costs nothing of windows above their limits", costing(0), used(11, 101), null],
  ["an unused idempotency key", keyed(at), current(), null],
  ["an idempotency key whose answer is kept", keyed(at + idempotencyRetentionMs), answered(at), "idempotency"],
  ["an idempotency key whose answer is not kept", keyed(at + idempotencyRetentionMs + 1), answered(at), null],
];

test.each(cases)(
  "checkCallPreconditions names the failed precondition, or returns null, in the case of %s",
  (_what, call, now, broken) => {
    expect(checkCallPreconditions(aCall(call), now)).toBe(broken);
    // With this precondition left out, the same call is stored.
    if (broken === null) return;
    expect(
      checkCallPreconditions(aCall(call), now, { ...callPreconditions, [broken]: () => true }),
    ).toBeNull();
  },
);

test("each precondition of a call fails in one of the test's cases", () => {
  const broken = cases.map(([, , , name]) => name);
  expect(broken).toEqual(expect.arrayContaining(Object.keys(callPreconditions)));
});

test("the quota and the idempotency key of an accepted call count for the later calls of its group", () => {
  const now = used(8, 0);
  expect(checkCallPreconditions(aCall(keyed(at)), now)).toBeNull();
  expect(checkCallPreconditions(aCall(keyed(at + 1)), now)).toBe("idempotency");
  expect(checkCallPreconditions(aCall(), now)).toBeNull();
  expect(checkCallPreconditions(aCall(), now)).toBe("minute");
  expect([...now.used.values()]).toEqual([10, 2]);
});

test("the quota and the idempotency key of a refused call do not count for later calls", () => {
  const now = used(10, 5);
  expect(checkCallPreconditions(aCall(keyed(at)), now)).toBe("minute");
  expect([[...now.used.values()], now.answeredAt.size]).toEqual([[10, 5], 0]);
});
