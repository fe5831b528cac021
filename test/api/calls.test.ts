import { beforeAll, beforeEach, expect, test } from "bun:test";
import { createApp } from "../../src/app.ts";
import type { LoggedCall } from "../../src/domain/calls.ts";
import { beginCallTrace } from "../../src/http/context.ts";
import type { HttpApp } from "../../src/http/serve.ts";
import { configureLog } from "../../src/logger.ts";
import type { ApiErrorCode } from "../../src/partner/error-codes.ts";
import { sendToApp } from "../harness/answer.ts";
import { knownTeacher, openTestService, type PartnerName, sharedTestService } from "../harness/service.ts";

const world = sharedTestService();
let app: HttpApp;
let calls: LoggedCall[] = [];
let keyId: string;

beforeAll(() => {
  keyId = (world.keyOf("full") ?? "").slice("tvs_live_".length, "tvs_live_".length + 12);
});

// Each test starts with an unused limit of public lookups.
beforeEach(async () => {
  calls = [];
  const service = { ...world.service, onCall: (call: LoggedCall) => void calls.push(call) };
  app = createApp(service, { publicPerMinute: 1, trustedProxies: [] });
});

const api = "/v1/inter-agency";
const question = { identifier: { regNo: knownTeacher.regNo }, purpose: "GENERAL_PUBLIC_VERIFICATION" };

function post(as: PartnerName | null, body: unknown, headers: Record<string, string> = {}) {
  const authorization = as === null ? {} : { Authorization: `Bearer ${world.keyOf(as)}` };
  return { method: "POST", headers: { ...authorization, ...headers }, body: JSON.stringify(body) };
}

test("the access log record of a call names the caller, the route, the status and the duration", async () => {
  const response = await sendToApp(app, `${api}/eligibility-check`, post("full", question));
  expect(calls).toEqual([
    {
      requestId: response.headers.get("X-Request-Id") ?? "",
      route: `${api}/eligibility-check`,
      method: "POST",
      status: 200,
      partnerId: "full",
      keyId,
      ms: expect.any(Number),
      error: null,
      replayed: false,
    },
  ]);
  expect(calls[0]?.ms).toBeGreaterThan(0);
  expect(calls[0]?.ms).toBeLessThan(60_000);
});

test("the access log record of a call says whether the answer is a replay", async () => {
  const init = post("full", question, { "Idempotency-Key": "again" });
  for (const _time of [1, 2]) await sendToApp(app, `${api}/eligibility-check`, init);
  expect(calls.map(({ replayed }) => replayed)).toEqual([false, true]);
});

test.each<[ApiErrorCode, PartnerName | null]>([
  ["CREDENTIAL_REQUIRED", null],
  ["SCOPE_MISSING", "unscoped"],
  ["MINUTE_QUOTA", "spent"],
  ["REQUEST_INVALID", "full"],
])("the access log record of a refused call has error code and partner: %s", async (error, partnerId) => {
  const body = error === "REQUEST_INVALID" ? {} : question;
  const { status } = await sendToApp(app, `${api}/eligibility-check`, post(partnerId, body));
  expect(status).toBeGreaterThanOrEqual(400);
  const key = partnerId === null ? null : expect.any(String);
  expect(calls).toMatchObject([{ status, error, partnerId, keyId: key }]);
});

test("the log of a failed request names the route by its pattern, never by the requested path", async () => {
  const gone = await openTestService();
  const lines: Record<string, unknown>[] = [];
  configureLog((line) => lines.push(JSON.parse(line)));
  try {
    await gone.operator.driver.close();
    const answers = [
      await gone.call(`${api}/lookup/by-reg-no/LA/2019/PRI/04417`, { as: "full" }),
      await gone.call(`${api}/eligibility-check`, { as: "full", body: question }),
      await gone.call(`/teacher/verify-license?searchTerm=${knownTeacher.nin}`),
    ];
    for (const { status } of answers) expect(status).toBeGreaterThanOrEqual(500);
    const failures = lines.filter(({ message }) => message === "request failed");
    const patterns = [
      `${api}/lookup/by-reg-no/{regNo}`,
      `${api}/eligibility-check`,
      "/teacher/verify-license",
    ];
    expect(failures.map(({ route, requestId }) => [route, requestId])).toEqual(
      patterns.map((route, at) => [route, answers[at]?.headers.get("X-Request-Id")]),
    );
    expect(JSON.stringify(lines)).not.toMatch(/12345678901|04417/);
  } finally {
    configureLog(() => {});
    await gone.close().catch(() => {});
  }
});

test("the access log record of a call never holds a path, a search term or an unknown method", async () => {
  const headers = { Authorization: `Bearer ${world.keyOf("full")}` };
  const paths: [path: string, init: RequestInit, route: string, status: number][] = [
    [`${api}/lookup/by-tid/12345678901`, { headers }, `${api}/lookup/by-tid/{tId}`, 200],
    [`${api}/lookup/by-reg-no/LA/2019/PRI/04417`, { headers }, `${api}/lookup/by-reg-no/{regNo}`, 200],
    ["/teacher/verify-license?searchTerm=12345678901", {}, "/teacher/verify-license", 200],
    ["/teacher/verify-license?searchTerm=12345678901", {}, "/teacher/verify-license", 429],
    ["/?regNo=LA/2019/PRI/04417", {}, "/", 429],
    ["/verify-envelope/12345678901", {}, "/verify-envelope/{file}", 404],
    ["/12345678901", {}, "other", 404],
    [`${api}/nothing/12345678901?email=a@b.example`, {}, "other", 404],
    [`${api}/batch`, { method: "DELETE" }, `${api}/batch`, 405],
    [`${api}/health`, {}, `${api}/health`, 200],
  ];
  for (const [path, init] of paths) await sendToApp(app, path, init);
  expect(calls.map(({ route, status }) => [route, status])).toEqual(
    paths.map(([, , route, status]) => [route, status]),
  );
  expect(calls.filter(({ status }) => status === 429).map(({ error }) => error)).toEqual([
    "ADDRESS_QUOTA",
    "ADDRESS_QUOTA",
  ]);
  expect(JSON.stringify(calls)).not.toMatch(/12345678901|04417|example/);
  expect(beginCallTrace("12345678901", "other").method).toBe("other");
});
