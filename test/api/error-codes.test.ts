import { afterAll, beforeAll, expect, test } from "bun:test";
import type { LoggedCall } from "../../src/domain/calls.ts";
import { publicCodeOf } from "../../src/domain/errors.ts";
import { configureLog } from "../../src/logger.ts";
import { type ApiErrorCode, errorCodes } from "../../src/partner/error-codes.ts";
import { errorSituations, openSituations, type Situations } from "./error-situations.ts";
import { codesOf, isDescribed } from "./openapi/described.ts";

let on: Situations;
beforeAll(async () => {
  configureLog(() => {});
  on = await openSituations();
});
afterAll(() => on.close());

const codes = Object.keys(errorCodes) as ApiErrorCode[];
const situations = codes.flatMap((code) =>
  Object.entries(errorSituations[code]).map(([what, cause]) => [code, what, cause] as const),
);
const waitingHelps = /^(?:429|503|409 (?:IDEMPOTENCY_KEY_IN_USE|DELIVERY_UNDER_WAY)) ?/;
/** Codes that the listener answers before the app gets a request: no call is observed, and `Accept` is not read. */
const beforeCalls = /^REQUEST_MALFORMED$/;

test.each(situations)("the service refuses with %s in this case: %s", async (code, what, cause) => {
  const { status, title } = errorCodes[code];
  const isCall = !beforeCalls.test(code);
  on.calls.length = 0;
  const asked = [
    {},
    { Accept: "text/html;q=0, application/problem+json;q=0" },
    { Accept: "*/*, Application/Problem+JSON;q=0.1" },
  ];
  const [plain, refusedForm, problem] = await Promise.all(asked.map((headers) => cause(on, headers)));
  const type = `${isCall ? "https://teachers.example" : ""}/v1/inter-agency/help/errors#${code}`;
  for (const response of [plain, refusedForm, problem]) {
    expect(response?.status).toBe(status);
    expect(response?.headers.get("X-Error-Code")).toBe(code);
    expect(response?.headers.get("Link")).toBe(`<${type}>; rel="help"`);
    expect(response?.headers.has("Retry-After")).toBe(waitingHelps.test(`${status} ${code}`));
  }
  if (isCall) {
    const ids = [plain, refusedForm, problem].map((response) => response?.headers.get("X-Request-Id"));
    const last = ids.map((id) => on.calls.find(({ requestId }) => requestId === id));
    expect(last.map((call) => [call?.error, call?.status])).toEqual(new Array(3).fill([code, status]));
    const { route, method } = last[0] as LoggedCall;
    if (isDescribed(route)) expect(codesOf(route, method, status)).toContain(code);
  }
  // Pages and the health document do not have the body of a refusal.
  if (what === "on the page" || what === "a health probe that fails") return;
  const told = await Promise.all([plain, refusedForm].map((response) => response?.json()));
  for (const one of told) {
    const { statusCode, message, ...members } = one as Record<string, unknown>;
    expect(statusCode).toBe(status);
    expect(message).not.toContain("secret");
    expect(Object.keys(members)).toEqual(status === 429 ? ["retryAfterSeconds"] : []);
    if (status === 429) expect(plain?.headers.get("Retry-After")).toBe(String(members.retryAfterSeconds));
  }
  if (!isCall) return;
  const { message: detail, statusCode: _status, ...members } = told[0] as Record<string, unknown>;
  expect(problem?.headers.get("Content-Type")).toBe("application/problem+json");
  expect(await problem?.json()).toEqual({ type, title, status, detail, code, ...members });
});

test("every error code has an example request that causes it", () => {
  expect(codes.filter((code) => Object.keys(errorSituations[code]).length === 0)).toEqual([]);
});

test("every error code has sentences that explain its meaning and its remedy", () => {
  for (const code of codes) {
    const { meaning, remedy, title } = errorCodes[code];
    expect(code).toMatch(/^[A-Z]+(?:_[A-Z]+)*$/);
    expect(`${meaning} ${remedy}`).toMatch(/^[A-Z].*\. [A-Z].*\.$/);
    expect(title).not.toEndWith(".");
  }
});

test("every invalid credential gets the same refusal, so that the cause stays hidden", async () => {
  const causes = Object.values(errorSituations.CREDENTIAL_INVALID);
  const answers = await Promise.all(causes.map((cause) => cause(on, {})));
  const told = await Promise.all(
    answers.map(async (answer) => {
      const { "x-request-id": _id, ...headers } = Object.fromEntries(answer.headers);
      return JSON.stringify([answer.status, headers, await answer.text()]);
    }),
  );
  expect(new Set(told).size).toBe(1);
});

test.each([
  ["STORE_BUSY", "SERVICE_UNAVAILABLE"],
  ["REFUSED", "SERVICE_UNAVAILABLE"],
  ["LOG_BEHIND", "SERVICE_UNAVAILABLE"],
  ["SIGNER_UNAVAILABLE", "SERVICE_UNAVAILABLE"],
  ["USAGE", "INTERNAL"],
  ["OVERLOADED", "OVERLOADED"],
] as const)("the internal error code %s is published to callers as %s", (code, told) =>
  expect(publicCodeOf(code)).toBe(told),
);

test("a script of another site may read X-Error-Code of the public lookup's refusals (CORS)", async () => {
  for (const cause of [
    errorSituations.REQUEST_INVALID["no search term"],
    errorSituations.METHOD_NOT_ALLOWED["of the public lookup"],
  ]) {
    const headers = (await cause?.(on, { Origin: "https://a.example" }))?.headers;
    expect(headers?.get("Access-Control-Expose-Headers")?.replaceAll(" ", "").split(",")).toContain(
      "X-Error-Code",
    );
    expect(headers?.get("Access-Control-Allow-Origin")).toBe("*");
  }
});

test("the standard rate-limit headers describe each window, and the contract's headers the tightest one", async () => {
  const told = async (code: ApiErrorCode) => {
    const [cause] = Object.values(errorSituations[code]);
    const headers = (await cause?.(on, {}))?.headers;
    return [
      headers?.get("RateLimit-Policy"),
      headers?.get("RateLimit"),
      headers?.get("X-RateLimit-Remaining"),
    ];
  };
  const day = 14.5 * 3_600;
  expect(await told("DAY_QUOTA")).toEqual([
    '"minute";q=1000;w=60, "day";q=0;w=86400',
    expect.stringMatching(new RegExp(`^"minute";r=\\d+;t=60, "day";r=0;t=${day}$`)),
    "0",
  ]);
  expect(await told("ADDRESS_QUOTA")).toEqual(['"address";q=1;w=60', '"address";r=0;t=60', "0"]);
});
