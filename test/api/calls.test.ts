import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createApp } from "../../src/app.ts";
import type { Call } from "../../src/domain/calls.ts";
import { beginTrace } from "../../src/http/http-call.ts";
import { type Listener, listen } from "../../src/http/listen.ts";
import { known, openTestService, type PartnerName, type TestService } from "../harness/service.ts";

/** One service behind two listeners, the second without the fast path; what both say of their calls. */
let world: TestService;
let listeners: { fast: Listener; hono: Listener };
let calls: Call[] = [];
let keyId: string;

beforeAll(async () => {
  world = await openTestService();
  keyId = (world.keyOf("full") ?? "").slice("tvs_live_".length, "tvs_live_".length + 12);
});
afterAll(() => world.close());

// Each test has a public limit of its own.
beforeEach(async () => {
  calls = [];
  const service = { ...world.service, onCall: (call: Call) => void calls.push(call) };
  const { hono, fastPath } = createApp(service, { publicPerMinute: 1, trustedProxies: [] });
  const at = { host: "127.0.0.1", port: 0 };
  listeners = {
    fast: await listen(hono.fetch, { ...at, fastPath }),
    hono: await listen(hono.fetch, at),
  };
});
afterEach(() => Promise.all([listeners.fast.close(), listeners.hono.close()]));

const api = "/v1/inter-agency";
const ways = ["fast", "hono"] as const;
const question = { identifier: { regNo: known.regNo }, purpose: "GENERAL_PUBLIC_VERIFICATION" };

async function ask(way: (typeof ways)[number], path: string, init: RequestInit = {}) {
  const response = await fetch(listeners[way].url + path, init);
  await response.text();
  return response;
}

function post(as: PartnerName | null, body: unknown, headers: Record<string, string> = {}) {
  const authorization = as === null ? {} : { Authorization: `Bearer ${world.keyOf(as)}` };
  return { method: "POST", headers: { ...authorization, ...headers }, body: JSON.stringify(body) };
}

describe("what is told of a call", () => {
  test.each(ways)("is who asked what kind of thing, and what became of it: %s path", async (way) => {
    const response = await ask(way, `${api}/eligibility-check`, post("full", question));
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

  test.each(ways)("names a replay: %s path", async (way) => {
    const init = post("full", question, { "Idempotency-Key": `again-${way}` });
    for (const _time of [1, 2]) await ask(way, `${api}/eligibility-check`, init);
    expect(calls.map(({ replayed }) => replayed)).toEqual([false, true]);
  });

  test.each<
    ["CREDENTIAL_REQUIRED" | "SCOPE_MISSING" | "QUOTA_EXCEEDED" | "REQUEST_INVALID", PartnerName | null]
  >([
    ["CREDENTIAL_REQUIRED", null],
    ["SCOPE_MISSING", "unscoped"],
    ["QUOTA_EXCEEDED", "spent"],
    ["REQUEST_INVALID", "full"],
  ])("gives the reason of a refusal and whom it met: %s", async (error, partnerId) => {
    for (const way of ways) {
      calls = [];
      const { status } = await ask(
        way,
        `${api}/eligibility-check`,
        post(partnerId, error === "REQUEST_INVALID" ? {} : question),
      );
      expect(status).toBeGreaterThanOrEqual(400);
      const key = partnerId === null ? null : expect.any(String);
      expect(calls).toMatchObject([{ status, error, partnerId, keyId: key }]);
    }
  });

  test.each(ways)("never holds a path, a term, or a method that is none: %s path", async (way) => {
    const headers = { Authorization: `Bearer ${world.keyOf("full")}` };
    const paths: [path: string, init: RequestInit, route: string, status: number][] = [
      [`${api}/lookup/by-tid/12345678901`, { headers }, `${api}/lookup/by-tid/{tId}`, 200],
      [`${api}/lookup/by-reg-no/LA/2019/PRI/04417`, { headers }, `${api}/lookup/by-reg-no/{regNo}`, 200],
      [
        `${api}/lookup/by-reg-no/LA%2F2019%2FPRI%2F04417`,
        { headers },
        `${api}/lookup/by-reg-no/{regNo}`,
        200,
      ],
      ["/teacher/verify-license?searchTerm=12345678901", {}, "/teacher/verify-license", 200],
      ["/teacher/verify-license?searchTerm=12345678901", {}, "/teacher/verify-license", 429],
      ["/?regNo=LA/2019/PRI/04417", {}, "/", 429],
      ["/verify-envelope/12345678901", {}, "/verify-envelope/{file}", 404],
      ["/12345678901", {}, "other", 404],
      [`${api}/nothing/12345678901?email=a@b.example`, {}, "other", 404],
      [`${api}/batch`, { method: "DELETE" }, `${api}/batch`, 405],
      [`${api}/health`, {}, `${api}/health`, 200],
    ];
    for (const [path, init] of paths) await ask(way, path, init);
    expect(calls.map(({ route, status }) => [route, status])).toEqual(
      paths.map(([, , route, status]) => [route, status]),
    );
    expect(calls.filter(({ status }) => status === 429).map(({ error }) => error)).toEqual([
      "QUOTA_EXCEEDED",
      "QUOTA_EXCEEDED",
    ]);
    expect(JSON.stringify(calls)).not.toMatch(/12345678901|04417|example/);
    expect(beginTrace("12345678901", "other").method).toBe("other");
  });
});
