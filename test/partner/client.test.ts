import { expect, setSystemTime, test } from "bun:test";
import { type Client, ClientError, createClient, createKeySet, verifyEnvelope } from "tvs/partner";
import { aTeacherWrite } from "../harness/samples.ts";
import { createTestClient, knownTeacher, refusedPurpose, sharedTestService } from "../harness/service.ts";

const issuer = "https://teachers.example";
const check = {
  identifier: { regNo: knownTeacher.regNo },
  purpose: "BODYA_INVIGILATOR_ELIGIBILITY",
} as const;

// Envelopes are verified by the machine's clock.
const world = sharedTestService({ clock: { now: () => Date.now() } });

type Options = NonNullable<Parameters<typeof createTestClient>[1]>;
const aClient = (options: Options = {}) => createTestClient(world, options);

/** Returns the error with which a call failed. */
async function failure(call: Promise<unknown>): Promise<ClientError> {
  const error = await call.then(
    () => new Error("the call went well"),
    (reason: unknown) => reason,
  );
  if (error instanceof ClientError) return error;
  throw error;
}

function replyOf(text: string, { statementId }: { statementId: string }): Response {
  return new Response(text, { status: 200, headers: { "X-Verification-Id": statementId } });
}

function problem(status: number, headers: Record<string, string> = {}): Response {
  return Response.json({ statusCode: status, message: "not now" }, { status, headers });
}

test("the client returns the signed result and the envelope's text, which verifies without the client", async () => {
  const { client } = aClient();
  const { result, verification, text, call } = await client.checkEligibility(check);
  expect(result).toMatchObject({ found: true, status: "VALID", certificate: { regNo: knownTeacher.regNo } });
  expect(verification).toMatchObject({ valid: true, audience: "full" });
  expect(call).toMatchObject({ attempts: 1, isReplay: false, quota: { limit: 5_000 } });
  const jwks = await (await world.call("/v1/inter-agency/.well-known/jwks.json")).text();
  const keys = await createKeySet({ jwks });
  expect(await verifyEnvelope(text, { keys, issuer, audience: "full" })).toMatchObject({ valid: true });
});

test("the client returns a statement over a list, and refuses a statement over another list", async () => {
  const { client } = aClient();
  const asked = {
    purpose: check.purpose,
    list: { name: "A school" },
    teachers: [{ regNo: knownTeacher.regNo, name: "x" }, { tId: 999_999 }, { nin: knownTeacher.nin }],
  };
  const { statement, verification, text } = await client.stateRoster(asked);
  expect(statement.summary).toMatchObject({ listed: 3, distinct: 2, found: 1 });
  expect(verification).toMatchObject({ valid: true, statement: { list: { name: "A school" } } });
  expect(JSON.parse(text)).toEqual(statement);
  const mixed: [object, string][] = [
    [{ ...asked, purpose: "BODYB_INVIGILATOR_ELIGIBILITY" }, "another purpose"],
    [{ ...asked, list: { name: "Another" } }, "another list"],
    [{ ...asked, teachers: [...asked.teachers.slice(1), { tId: 1 }] }, "row 1 is about another teacher"],
  ];
  for (const [other, message] of mixed) {
    const kept = aClient({
      answer: ({ path }) => (path.endsWith("rosters") ? replyOf(text, statement) : undefined),
    });
    expect(await failure(kept.client.stateRoster(other as typeof asked))).toMatchObject({
      code: "ANSWER_MISMATCH",
      message: expect.stringContaining(message),
    });
  }
  const changed = text.replace('"listed":3', '"listed":4');
  const forged = aClient({
    answer: ({ path }) => (path.endsWith("rosters") ? replyOf(changed, statement) : undefined),
  });
  expect(await failure(forged.client.stateRoster(asked))).toMatchObject({ code: "ENVELOPE_REFUSED" });
});

test("the client fetches each event once, and reads and changes a watch list", async () => {
  const { client, of } = aClient();
  expect(await client.me()).toMatchObject({
    partnerId: "full",
    eventFilter: { teachers: "all" },
    webhook: null,
  });
  const [one, other] = ["A/1/B/1", "A/1/B/2"];
  expect(await client.watch.add([one, other])).toEqual({ watched: 2 });
  expect(await client.watch.remove(one)).toEqual({ watched: 1 });
  expect(await client.watch.list({ limit: 1 })).toMatchObject({ data: [other], done: true });
  const { iterator } = await client.events();
  await world.operator.stores.teachers.apply([aTeacherWrite(one)]);
  const first = await client.events({ after: iterator, limit: 1 });
  const second = await client.events({ after: first.iterator });
  const types = [first, second].map(({ data }) => data.map(({ eventType }) => eventType));
  expect(types).toEqual([["license.verified"], ["certificate.verified"]]);
  expect(second.done).toBe(true);
  expect(of("events?")[1]?.path).toEndWith("limit=1");
  const gone = client.events({ after: "019ca8c4-7b60-7b14-bd0e-55f0c1a2e9d3" });
  expect(await failure(gone)).toMatchObject({ code: "EVENTS_GONE", status: 410, attempts: 1 });
});

test("the client's lookups, batch, public lookup and health call get the service's answers", async () => {
  const { client, of } = aClient();
  for (const call of [
    client.lookUpByRegNo(knownTeacher.regNo),
    client.lookUpByTId(knownTeacher.tId),
    client.lookUpByNin(knownTeacher.nin),
  ])
    expect((await call).result.teacher?.tId).toBe(knownTeacher.tId);
  expect(of("by-reg-no")[0]?.path).toEndWith("/LA%2F2019%2FPRI%2F04417");
  expect(of("by-nin")[0]).toMatchObject({ path: "/v1/inter-agency/lookup/by-nin" });
  const { answers } = await client.checkBatch([check, { ...check, identifier: { tId: 1 } }]);
  expect(answers.map(({ result }) => result.found)).toEqual([true, false]);
  expect(await client.verifyLicense(knownTeacher.regNo)).toMatchObject({
    found: true,
    tId: String(knownTeacher.tId),
  });
  expect(await client.getHealth()).toMatchObject({ status: "ok", issuer });
  expect(of("verify-license")[0]?.headers.has("authorization")).toBe(false);
});

test("the client fetches the keys once for many answers, and never if it was given keys", async () => {
  const { client, of } = aClient();
  for (let call = 0; call < 3; call++) await client.lookUpByTId(knownTeacher.tId);
  expect(of("jwks.json")).toHaveLength(1);
  const jwks = await (await world.call("/v1/inter-agency/.well-known/jwks.json")).text();
  const given = aClient({ verify: { issuer, audience: "full", keys: await createKeySet({ jwks }) } });
  await given.client.lookUpByTId(knownTeacher.tId);
  expect(given.of(".well-known")).toHaveLength(0);
});

test("the client fetches the keys again after five seconds if the fetched keys are unusable", async () => {
  const { client, of } = aClient({
    answer: ({ path }, attempt) =>
      path.includes("jwks.json") && attempt === 1 ? Response.json({ keys: [{}] }) : undefined,
  });
  expect(await failure(client.lookUpByTId(knownTeacher.tId))).toMatchObject({ code: "ENVELOPE_REFUSED" });
  setSystemTime(Date.now() + 6_000);
  try {
    expect((await client.lookUpByTId(knownTeacher.tId)).result.found).toBe(true);
  } finally {
    setSystemTime();
  }
  expect(of("jwks.json")).toHaveLength(2);
});

test("the client throws ENVELOPE_REFUSED if an answer does not verify", async () => {
  const { client } = aClient({ verify: { issuer, audience: "somebody-else" } });
  const error = await failure(client.checkBatch([check]));
  expect(error).toMatchObject({ code: "ENVELOPE_REFUSED", status: 200 });
  expect(error.requestId).not.toBeNull();
  expect(error.message).toContain("AUDIENCE_MISMATCH");
  expect(error.verifications.map(({ reason }) => reason)).toEqual(["AUDIENCE_MISMATCH"]);
});

test("the client returns answers whose verification is null if the option verify is missing", async () => {
  const { client } = aClient({ verify: null });
  expect(await client.lookUpByTId(knownTeacher.tId)).toMatchObject({
    verification: null,
    result: { found: true },
  });
});

test("the client retries after 1, 2 and 4 seconds with the same idempotency key, and then gives up", async () => {
  const { client, waits, of } = aClient({
    answer: ({ path }) => (path.includes("check") ? problem(503) : undefined),
  });
  const error = await failure(client.checkEligibility(check));
  expect(error).toMatchObject({ code: "UNREACHABLE", status: 503, attempts: 4, message: "503: not now" });
  for (const [index, wait] of waits.entries()) {
    expect(wait).toBeGreaterThanOrEqual(1_000 * 2 ** index);
    expect(wait).toBeLessThan(1_200 * 2 ** index);
  }
  const keys = of("check").map(({ headers }) => headers.get("idempotency-key"));
  expect(keys).toHaveLength(4);
  expect([...new Set(keys)]).toEqual([error.idempotencyKey]);
});

test("the client gets a lost answer by a retry with the same idempotency key, so the call runs once", async () => {
  const { client } = aClient({
    answer: async ({ path, headers, body }, attempt) => {
      if (attempt > 1 || !path.endsWith("eligibility-check")) return undefined;
      await world.call(path, { method: "POST", headers, body });
      throw new TypeError("the connection broke");
    },
  });
  const { call, result } = await client.checkEligibility(check);
  expect(call).toMatchObject({ attempts: 2, isReplay: true });
  expect(result.found).toBe(true);
});

test("the client waits for the next minute's quota, but does not wait for the next day's quota", async () => {
  const short = aClient({
    answer: ({ path }, attempt) =>
      path.includes("by-tid") && attempt === 1 ? problem(429, { "Retry-After": "17" }) : undefined,
  });
  await short.client.lookUpByTId(knownTeacher.tId);
  expect(short.waits).toEqual([17_000]);
  const long = aClient({
    answer: () => problem(429, { "Retry-After": "40000", "X-Error-Code": "DAY_QUOTA" }),
  });
  expect(await failure(long.client.lookUpByTId(1))).toMatchObject({
    code: "DAY_QUOTA",
    retryAfterSeconds: 40_000,
    attempts: 1,
  });
  expect(long.waits).toEqual([]);
});

test("a call that the service refuses throws the service's error code, and is not retried", async () => {
  const { client } = aClient();
  const { client: stranger } = aClient({ apiKey: "tvs_live_nobody" });
  const idempotencyKey = "one";
  await client.checkEligibility(check, { idempotencyKey });
  const codes = [
    client.lookUpByRegNo("1/2"),
    stranger.lookUpByTId(1),
    aClient({ as: "unscoped" }).client.lookUpByTId(1),
    client.checkEligibility({ ...check, purpose: refusedPurpose }),
    client.checkEligibility({ ...check, identifier: { tId: 1 } }, { idempotencyKey }),
    aClient({ as: "spent", maxWaitSeconds: 0 }).client.lookUpByTId(1),
  ].map(async (call) => {
    const { code, attempts } = await failure(call);
    return `${code} ${attempts}`;
  });
  // biome-ignore format: a list reads better in rows
  expect(await Promise.all(codes)).toEqual([
    "REQUEST_INVALID 1", "CREDENTIAL_MISTYPED 1", "SCOPE_MISSING 1", "PURPOSE_NOT_ALLOWED 1",
    "IDEMPOTENCY_KEY_REUSED 1", "MINUTE_QUOTA 1",
  ]);
});

const endless = () => {
  const piece = new Uint8Array(1024 * 1024).fill(32);
  return new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(piece) });
};
const elsewhere = { status: 302, headers: { Location: "/" } };
const checkOne = (client: Client) => client.checkEligibility(check);
const events = { data: [null], iterator: null, done: true };
// biome-ignore format: a table reads better in rows
test.each<[what: string, answer: () => Response, call: (client: Client) => Promise<unknown>]>([
  ["an HTML page", () => new Response("<html>portal</html>"), checkOne],
  ["bytes", () => new Response(new Uint8Array([0xff, 0xfe])), checkOne],
  ["an endless response", () => new Response(endless()), checkOne],
  ["a redirect", () => new Response(null, elsewhere), checkOne],
  ["a batch of another size", () => Response.json({ count: 0, results: [] }), (client) => client.checkBatch([check])],
  ["a page with entries that are not events", () => Response.json(events), (client) => client.events()],
])("the client refuses %s as an unexpected answer", async (_, answer, call) => {
  const { client, sent } = aClient({ answer });
  const error = await failure(call(client));
  expect([error.code, sent.length]).toEqual(["ANSWER_UNEXPECTED", 1]);
});

const never = (signal: AbortSignal | null | undefined) =>
  new Promise<Response>((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason));
  });

test("a call without an answer times out, and is repeated three times", async () => {
  const { client, waits } = aClient({ timeoutMs: 1, fetch: (_, { signal }) => never(signal) });
  expect(await failure(client.lookUpByTId(1))).toMatchObject({ code: "TIMED_OUT", attempts: 4 });
  expect(waits).toHaveLength(3);
});

test("a caller can abort a call, also while the client waits, and gets the reason of the abort", async () => {
  const ended = new AbortController();
  const { client } = aClient({ fetch: (_, { signal }) => never(signal) });
  const call = client.lookUpByTId(1, { signal: ended.signal });
  ended.abort(new RangeError("enough"));
  await expect(call).rejects.toThrow("enough");
  const waiting = createClient({ baseUrl: issuer, fetch: async () => problem(503) });
  const later = new AbortController();
  const failing = waiting.lookUpByTId(1, { signal: later.signal });
  later.abort(new RangeError("enough"));
  await expect(failing).rejects.toThrow("enough");
});

test.each([
  { baseUrl: "http://teachers.example" },
  { baseUrl: "https://name:word@teachers.example" },
  { baseUrl: "teachers.example" },
  { baseUrl: issuer, apiKey: " key" },
  { baseUrl: issuer, timeoutMs: 0 },
  { baseUrl: issuer, maxRetries: 9 },
])("createClient refuses the options %o", (options) => {
  expect(() => createClient(options)).toThrow(TypeError);
});
