import { expect, setSystemTime, test } from "bun:test";
import { ClientError } from "tvs/partner";
import type { Identifier } from "../../src/partner/api-types.ts";
import { findStatementMismatch } from "../../src/partner/client-answers.ts";
import type { ReceivedAnswer } from "../../src/partner/client-calls.ts";
import type { SignedStatement, StatementRow } from "../../src/partner/contract.ts";
import { createTestClient, knownTeacher, legacyTeacher, sharedTestService } from "../harness/service.ts";

// Envelopes are verified by the machine's clock.
const world = sharedTestService({ clock: { now: () => Date.now() } });
const hourMs = 3_600_000;
const check = {
  identifier: { regNo: knownTeacher.regNo },
  purpose: "BODYA_INVIGILATOR_ELIGIBILITY",
} as const;

/** Runs a function while this machine's clock, which is also the service's, is some hours ahead. */
async function hoursLater<T>(hours: number, run: () => Promise<T>): Promise<T> {
  setSystemTime(Date.now() + hours * hourMs);
  try {
    return await run();
  } finally {
    setSystemTime();
  }
}

/** Creates a client behind a proxy or cache, which answers each call of the client with `give`. */
const clientBehind = (give: () => Response | Promise<Response>) =>
  createTestClient(world, { answer: ({ path }) => (path.includes("well-known") ? undefined : give()) })
    .client;
const ask = (path: string, body?: object) =>
  world.call(`/v1/inter-agency${path}`, { as: "full", ...(body && { body }) });
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "answered",
    (error) => (error instanceof ClientError ? `${error.code}: ${error.message}` : String(error)),
  );
const about = (tId: number) => ({ ...check, identifier: { tId } });
const [known, legacy] = [about(knownTeacher.tId), about(legacyTeacher.tId)];

test("the client refuses a genuine answer about another teacher", async () => {
  const client = clientBehind(() => ask(`/lookup/by-tid/${legacyTeacher.tId}`));
  const calls = [
    client.lookUpByTId(knownTeacher.tId),
    client.lookUpByRegNo(knownTeacher.regNo),
    client.checkEligibility(known),
    client.checkEligibility(check),
  ];
  for (const code of await Promise.all(calls.map(codeOf)))
    expect(code).toMatch(/^ANSWER_MISMATCH: .*another teacher$/);
  expect(await codeOf(client.lookUpByTId(legacyTeacher.tId))).toBe("answered");
  expect(await codeOf(client.lookUpByNin(knownTeacher.nin))).toBe("answered");
});

test("the client accepts an answer if the asked registration number differs only in case and white space", async () => {
  const { client } = createTestClient(world);
  const identifier = { regNo: ` ${knownTeacher.regNo.toLowerCase()} ` };
  expect(await codeOf(client.checkEligibility({ ...check, identifier }))).toBe("answered");
  expect(await codeOf(client.lookUpByRegNo(identifier.regNo))).toBe("answered");
  expect(await codeOf(client.lookUpByTId(404))).toBe("answered");
});

test("the client refuses a batch whose envelopes are not in the order of the items, or that has one envelope twice", async () => {
  const changed = (items: (typeof known)[], change: (results: unknown[]) => unknown[]) =>
    codeOf(
      clientBehind(async () => {
        const { results } = (await (await ask("/batch", { items: [known, legacy] })).json()) as Batch;
        return Response.json({ count: 2, results: change(results) });
      }).checkBatch(items),
    );
  expect(await changed([known, legacy], (results) => results)).toBe("answered");
  const turned = await changed([known, legacy], (results) => results.toReversed());
  expect(turned).toMatch(/^ANSWER_MISMATCH: .*another teacher \(item 0\)$/);
  const twice = await changed([known, known], ([first]) => [first, first]);
  expect(twice).toMatch(/^ANSWER_MISMATCH: .*one envelope twice$/);
});

type Batch = { results: unknown[] };

/** Copies an answer, and sets or removes one header. */
async function withHeader(answer: Response, name: string, value: string | null): Promise<Response> {
  const headers = new Headers(answer.headers);
  if (value === null) headers.delete(name);
  else headers.set(name, value);
  return new Response(await answer.text(), { headers });
}

test("the client refuses an answer whose header X-Verification-Id is missing or names another envelope", async () => {
  for (const id of ["019ca8bb-b5c2-7d10-a3fb-6c1e0b9a8f44", null]) {
    const path = `/lookup/by-tid/${knownTeacher.tId}`;
    const client = clientBehind(async () => withHeader(await ask(path), "X-Verification-Id", id));
    const code = await codeOf(client.lookUpByTId(knownTeacher.tId));
    expect(code).toMatch(/^ANSWER_MISMATCH: .*X-Verification-Id/);
  }
});

test("the client refuses an answer that was signed before the call", async () => {
  const batch = await ask("/batch", { items: [known] });
  const one = await ask("/eligibility-check", known);
  const own = { idempotencyKey: "own" };
  await hoursLater(1, async () => {
    const client = clientBehind(() => one.clone());
    const calls = [
      client.lookUpByTId(knownTeacher.tId),
      clientBehind(() => batch.clone()).checkBatch([known]),
      client.checkEligibility(known, own),
    ];
    for (const code of await Promise.all(calls.map(codeOf)))
      expect(code).toMatch(/^ANSWER_MISMATCH: .*another time/);
  });
});

test("the client accepts an old answer only as a replay for the caller's own idempotency key, and only for 72 hours", async () => {
  const kept = await withHeader(await ask("/eligibility-check", known), "Idempotent-Replayed", "true");
  const client = clientBehind(() => kept.clone());
  const [own, early] = [{ idempotencyKey: "own" }, /^ANSWER_MISMATCH: .*another time/];
  await hoursLater(1, async () => {
    expect(await codeOf(client.checkEligibility(known, own))).toBe("answered");
    expect(await codeOf(client.checkEligibility(known))).toMatch(early);
    expect(await codeOf(client.lookUpByTId(knownTeacher.tId))).toMatch(early);
  });
  await hoursLater(73, async () => expect(await codeOf(client.checkEligibility(known, own))).toMatch(early));
});

const row: StatementRow = {
  ...{ row: 1, tId: null, regNo: null, eligible: false, status: "NOT_FOUND", reasons: [] },
  nameMatches: null,
};
const mismatch = async (change: Partial<StatementRow>, asked: Identifier) => {
  const nowMs = Date.now();
  const list = { name: "A school", reference: null };
  const stated = { statementId: "x", purpose: check.purpose, list, rows: [{ ...row, ...change }] };
  const given = { ...stated, issuedAt: new Date(nowMs).toISOString() } as unknown as SignedStatement;
  const times = { begunAtMs: nowMs, endedAtMs: nowMs };
  const received = { verificationId: "x", ...times, call: {}, info: { isReplay: false } };
  return findStatementMismatch(
    given,
    { purpose: check.purpose, list: { name: list.name }, teachers: [asked] },
    received as unknown as ReceivedAnswer,
  );
};

test("the client accepts a statement row without teacher id and registration number only for an unknown teacher", async () => {
  for (const asked of [{ tId: knownTeacher.tId }, { regNo: knownTeacher.regNo }, { nin: knownTeacher.nin }]) {
    expect(await mismatch({}, asked)).toBeNull();
    for (const change of [{ eligible: true, status: "VALID" }, { status: "VALID" }, { status: "EXPIRED" }])
      expect(await mismatch(change as Partial<StatementRow>, asked)).toBe(
        "its row 1 is about another teacher",
      );
  }
});
