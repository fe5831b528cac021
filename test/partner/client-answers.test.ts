import { afterAll, beforeAll, expect, test } from "bun:test";
import { ClientError, createClient } from "tvs/partner";
import type { Identifier } from "../../src/partner/api-types.ts";
import { findStatementMismatch } from "../../src/partner/client-answers.ts";
import type { ReceivedAnswer } from "../../src/partner/client-calls.ts";
import type { SignedStatement, StatementRow } from "../../src/partner/contract.ts";
import { knownTeacher, legacyTeacher, openTestService, type TestService } from "../harness/service.ts";

const issuer = "https://teachers.example";
const purpose = "BODYA_INVIGILATOR_ELIGIBILITY";
const hourMs = 3_600_000;

/** How many hours the clocks of the services are slow. */
const ages = [0, 1, 73] as const;
let services: ReadonlyMap<number, TestService>;

beforeAll(async () => {
  const open = async (age: number) =>
    [age, await openTestService({ clock: { now: () => Date.now() - age * hourMs } })] as const;
  services = new Map(await Promise.all(ages.map(open)));
});
afterAll(async () => {
  for (const service of services?.values() ?? []) await service.close();
});

/** A client behind a proxy that keeps genuine answers: `answer` may return another answer, or change one. */
function aClient(
  answer: (
    asked: Request,
    ask: (path: string, body?: object) => Promise<Response>,
  ) => Promise<Response> | null,
  age: (typeof ages)[number] = 0,
) {
  const service = services.get(age) as TestService;
  return createClient({
    baseUrl: issuer,
    apiKey: service.keyOf("full") ?? "",
    verify: { issuer, audience: "full" },
    async fetch(url, init) {
      const request = new Request(url, init);
      const { pathname } = new URL(url);
      const own = pathname.includes("well-known")
        ? null
        : answer(request.clone(), async (path, body) =>
            service.call(`/v1/inter-agency${path}`, { as: "full", ...(body && { body }) }),
          );
      if (own !== null) return own;
      const body = request.method === "POST" ? { body: await request.text() } : {};
      return service.call(pathname, { method: request.method, headers: request.headers, ...body });
    },
  });
}

function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "answered",
    (error) => (error instanceof ClientError ? `${error.code}: ${error.message}` : String(error)),
  );
}

const asIs = () => null;
const about = (tId: number) => ({ identifier: { tId }, purpose }) as const;

test("the client refuses a genuine answer about another teacher", async () => {
  const client = () => aClient((_, ask) => ask(`/lookup/by-tid/${legacyTeacher.tId}`));
  const calls = [
    client().lookUpByTId(knownTeacher.tId),
    client().lookUpByRegNo(knownTeacher.regNo),
    client().checkEligibility(about(knownTeacher.tId)),
    client().checkEligibility({ identifier: { regNo: knownTeacher.regNo }, purpose }),
  ];
  for (const code of await Promise.all(calls.map(codeOf)))
    expect(code).toMatch(/^ANSWER_MISMATCH: .*another teacher$/);
  expect(await codeOf(client().lookUpByTId(legacyTeacher.tId))).toBe("answered");
  expect(await codeOf(client().lookUpByNin(knownTeacher.nin))).toBe("answered");
});

test("the client accepts a registration number in any spelling", async () => {
  const client = aClient(asIs);
  const identifier = { regNo: ` ${knownTeacher.regNo.toLowerCase()} ` };
  expect(await codeOf(client.checkEligibility({ identifier, purpose }))).toBe("answered");
  expect(await codeOf(client.lookUpByRegNo(identifier.regNo))).toBe("answered");
  expect(await codeOf(client.lookUpByTId(404))).toBe("answered");
});

test("the client refuses a batch whose envelopes are in another order, or are not all different", async () => {
  const items = [about(knownTeacher.tId), about(legacyTeacher.tId)];
  const changed = (change: (results: unknown[]) => unknown[]) =>
    aClient(async (_, ask) => {
      const { results } = (await (await ask("/batch", { items })).json()) as { results: unknown[] };
      return Response.json({ count: 2, results: change(results) });
    });
  expect(await codeOf(changed((results) => results).checkBatch(items))).toBe("answered");
  const turned = codeOf(changed((results) => results.toReversed()).checkBatch(items));
  expect(await turned).toMatch(/^ANSWER_MISMATCH: .*another teacher \(item 0\)$/);
  const twice = changed(([first]) => [first, first]).checkBatch([
    about(knownTeacher.tId),
    about(knownTeacher.tId),
  ]);
  expect(await codeOf(twice)).toMatch(/^ANSWER_MISMATCH: .*one envelope twice$/);
});

test("the client refuses an answer whose header names another verification id, or none", async () => {
  for (const name of ["019ca8bb-b5c2-7d10-a3fb-6c1e0b9a8f44", null]) {
    const client = aClient(async (_, ask) => {
      const answer = await ask(`/lookup/by-tid/${knownTeacher.tId}`);
      const headers = new Headers(answer.headers);
      headers.delete("X-Verification-Id");
      if (name !== null) headers.set("X-Verification-Id", name);
      return new Response(await answer.text(), { headers });
    });
    expect(await codeOf(client.lookUpByTId(knownTeacher.tId))).toMatch(
      /^ANSWER_MISMATCH: .*X-Verification-Id/,
    );
  }
});

test("the client refuses an answer that was signed before the call", async () => {
  const client = aClient(asIs, 1);
  const calls = [
    client.lookUpByTId(knownTeacher.tId),
    client.checkBatch([about(knownTeacher.tId)]),
    client.checkEligibility(about(knownTeacher.tId), { idempotencyKey: "own" }),
  ];
  for (const code of await Promise.all(calls.map(codeOf)))
    expect(code).toMatch(/^ANSWER_MISMATCH: .*another time/);
});

const row: StatementRow = {
  ...{ row: 1, tId: null, regNo: null, eligible: false, status: "NOT_FOUND", reasons: [] },
  nameMatches: null,
};
const mismatch = async (change: Partial<StatementRow>, asked: Identifier) => {
  const nowMs = Date.now();
  const list = { name: "A school", reference: null };
  const stated = { statementId: "x", purpose, list, rows: [{ ...row, ...change }] };
  const given = { ...stated, issuedAt: new Date(nowMs).toISOString() } as unknown as SignedStatement;
  const times = { begunAtMs: nowMs, endedAtMs: nowMs };
  const received = { verificationId: "x", ...times, call: {}, info: { isReplay: false } };
  return findStatementMismatch(
    given,
    { purpose, list: { name: list.name }, teachers: [asked] },
    received as unknown as ReceivedAnswer,
  );
};

test("the client accepts a statement row without a number only about nobody", async () => {
  for (const asked of [{ tId: knownTeacher.tId }, { regNo: knownTeacher.regNo }, { nin: knownTeacher.nin }]) {
    expect(await mismatch({}, asked)).toBeNull();
    for (const change of [{ eligible: true, status: "VALID" }, { status: "VALID" }, { status: "EXPIRED" }])
      expect(await mismatch(change as Partial<StatementRow>, asked)).toBe(
        "its row 1 is about another teacher",
      );
  }
});

test("the client accepts a replayed answer as old as the service keeps answers", async () => {
  for (const [age, expected] of [
    [1, /^answered$/],
    [73, /^ANSWER_MISMATCH: .*another time/],
  ] as const) {
    const client = aClient(asIs, age);
    const ask = () => codeOf(client.checkEligibility(about(knownTeacher.tId), { idempotencyKey: "kept" }));
    expect(await ask()).toMatch(/^ANSWER_MISMATCH/);
    expect(await ask()).toMatch(expected);
  }
});

test("the client accepts no old answer under a new idempotency key, whatever its header says", async () => {
  const client = aClient(async (_, ask) => {
    const answer = await ask("/eligibility-check", about(knownTeacher.tId));
    const headers = new Headers(answer.headers);
    headers.set("Idempotent-Replayed", "true");
    return new Response(await answer.text(), { headers });
  }, 1);
  expect(await codeOf(client.checkEligibility(about(knownTeacher.tId)))).toMatch(/^ANSWER_MISMATCH/);
  expect(await codeOf(client.lookUpByTId(knownTeacher.tId))).toMatch(/^ANSWER_MISMATCH/);
  const idempotencyKey = "own";
  expect(await codeOf(client.checkEligibility(about(knownTeacher.tId), { idempotencyKey }))).toBe("answered");
});
