import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { evidenceBuilderOf } from "../../../cli/evidence/open-evidence.ts";
import { leafHash } from "../../../src/domain/evidence/tree.ts";
import { known, legacy, openTestService, type PartnerName, type TestService } from "../../harness/service.ts";
import { expectDocumented } from "./described.ts";
import { document, isValid } from "./document.ts";

const prefix = "/v1/inter-agency";
const purpose = "BODYA_INVIGILATOR_ELIGIBILITY";
const check = (identifier: unknown) => ({ identifier, purpose });
const roster = (teachers: readonly object[]) => ({ purpose, list: { name: "A school" }, teachers });

type Call = { as?: PartnerName; method?: string; headers?: Record<string, string>; body?: unknown };
let world: TestService;
beforeAll(async () => {
  world = await openTestService();
});
afterAll(() => world.close());

describe("routes and operations", () => {
  test("ask for a credential in the same places", async () => {
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, { security }] of Object.entries(
        item as unknown as Record<string, { security: unknown[] }>,
      )) {
        const response = await world.call(path.replace("{tId}", "1").replace("{regNo}", "a"), {
          method: method.toUpperCase(),
        });
        expect([path, response.status === 401]).toEqual([path, security.length > 0]);
      }
    }
  });
});

/** Those that the document shows are asked for, and held to it, in examples.test.ts. */
describe("further answers are as documented", () => {
  const regNoPath = (regNo: string) => `${prefix}/lookup/by-reg-no/${encodeURIComponent(regNo)}`;
  const publicPath = (term: string) => `/teacher/verify-license?searchTerm=${encodeURIComponent(term)}`;
  const eligibility = `${prefix}/eligibility-check`;

  const cases: [name: string, status: number, path: string, call?: Call][] = [
    ["public, expired", 200, publicPath(legacy.regNo)],
    ["public, wrong method", 405, publicPath("99"), { method: "POST" }],
    ["expired, of the old system", 200, eligibility, { as: "full", body: check({ tId: legacy.tId }) }],
    ["by number", 200, regNoPath(known.regNo), { as: "full" }],
    ["by number, nobody", 200, regNoPath("A/B/C/D"), { as: "full" }],
    ["by id", 200, `${prefix}/lookup/by-tid/${known.tId}`, { as: "full" }],
    ["by NIN", 200, `${prefix}/lookup/by-nin`, { as: "full", body: { nin: known.nin } }],
    ["key set, known", 304, `${prefix}/.well-known/jwks.json`, { headers: { "If-None-Match": "*" } }],
    ["key history", 200, `${prefix}/.well-known/key-history`],
    ["key history, known", 304, `${prefix}/.well-known/key-history`, { headers: { "If-None-Match": "*" } }],
    ["document", 200, `${prefix}/openapi.json`],
    ["document, known", 304, `${prefix}/openapi.json`, { headers: { "If-None-Match": "*" } }],
    ["what was agreed", 200, `${prefix}/me`, { as: "full" }],
    ["events", 200, `${prefix}/events`, { as: "full" }],
    ["no JSON", 400, eligibility, { as: "full", body: "{" }],
    ["number of three segments", 400, regNoPath("A/B/C"), { as: "full" }],
    ["id of letters", 400, `${prefix}/lookup/by-tid/x1`, { as: "full" }],
    ["the partners' module", 200, `${prefix}/verify.mjs`],
    ["module, known", 304, `${prefix}/verify.mjs`, { headers: { "If-None-Match": "*" } }],
    ["a delivery's id that is no UTF-8", 400, `${prefix}/me/deliveries/%ff`, { as: "full" }],
    ["a list's number that is no UTF-8", 400, `${prefix}/status/%ff`],
    ["NIN of ten digits", 400, `${prefix}/lookup/by-nin`, { as: "full", body: { nin: "1234567890" } }],
    ["a list", 200, `${prefix}/rosters`, { as: "full", body: roster([{ tId: known.tId, name: "x" }]) }],
    ["empty list", 400, `${prefix}/rosters`, { as: "full", body: roster([]) }],
  ];

  test.each(cases)("%s: %i", async (_name, status, path, call = {}) => {
    const response = await world.call(path, call);
    expect(response.status).toBe(status);
    const method = call.method ?? (call.body === undefined ? "GET" : "POST");
    const body = await expectDocumented(response, path, method);
    if (status >= 400) expect(body).toMatchObject({ statusCode: status });
  });

  test("the evidence log: 200, 304, 400, 404, 405, 429", async () => {
    const other = await openTestService({ publicPerMinute: 14 });
    const log = `${prefix}/log`;
    const asked = async (path: string, status: number, call: Call = {}) => {
      const response = await other.call(path, call);
      expect([path, response.status]).toEqual([path, status]);
      return expectDocumented(response, path, call.method ?? "GET");
    };
    const answer = await other.call(eligibility, { as: "full", body: check({ tId: 1 }) });
    const { signature } = (await answer.json()) as { signature: string };
    await evidenceBuilderOf(other.operator, other.operator.stores.evidence).checkpoint();
    const leaf = Buffer.from(leafHash(signature)).toString("hex");
    const known = { headers: { "If-None-Match": "*" } };
    for (const path of [`${log}/checkpoint`, `${log}/key`, `${log}/inclusion/${leaf}`]) {
      await asked(path, 200);
      await asked(path, 304, known);
    }
    await asked(`${log}/consistency?from=1&to=1`, 200);
    await asked(`${log}/consistency?from=1&to=1`, 304, known);
    expect(await asked(`${log}/inclusion/${leaf}?size=1`, 200)).toMatchObject({ leafIndex: 0, treeSize: 1 });
    await asked(`${log}/inclusion/${leaf}?size=2`, 404);
    await asked(`${log}/inclusion/${"0".repeat(64)}`, 404);
    await asked(`${log}/inclusion/0`, 400);
    await asked(`${log}/consistency?from=1`, 400);
    await asked(`${log}/consistency?from=1&to=2`, 404);
    await asked(`${log}/key`, 405, { method: "DELETE" });
    await asked(`${log}/key`, 429);
    await other.close();
  });

  test("a replay: 200", async () => {
    const headers = { "Idempotency-Key": "routes-replay" };
    const ask = (tId: number) => world.call(eligibility, { as: "full", headers, body: check({ tId }) });
    const first = await expectDocumented(await ask(1), eligibility, "POST");
    const replay = await ask(1);
    expect(replay.headers.get("Idempotent-Replayed")).toBe("true");
    expect(await expectDocumented(replay, eligibility, "POST")).toEqual(first);
  });

  test("a database that is gone: 503", async () => {
    const broken = await openTestService();
    await broken.operator.driver.close();
    const paths: [string, Call][] = [
      [`${prefix}/log/checkpoint`, {}],
      [`${prefix}/log/key`, {}],
      [`${prefix}/log/inclusion/${"0".repeat(64)}`, {}],
      [`${prefix}/log/consistency?from=1&to=1`, {}],
      [eligibility, { as: "full", body: check({ tId: 1 }) }],
    ];
    for (const [path, call] of paths) {
      const response = await broken.call(path, call);
      expect([path, response.status]).toEqual([path, 503]);
      await expectDocumented(response, path, call.body === undefined ? "GET" : "POST");
    }
    await broken.close();
  });
});

describe("request bodies", () => {
  const statusOf = async (path: string, body: unknown) =>
    (await world.call(path, { as: "full", body })).status;

  /** What the schemas say in words (requests.test.ts compares the rest of them), and one body of each other kind. */
  const eligibility: unknown[] = [
    check({ tId: 0 }),
    check({ tId: 2 ** 53 }),
    check({ nin: "12345678901" }),
    check({ nin: 12345678901 }),
    check({ regNo: "a/b/c/d" }),
    check({ regNo: "a/b/c" }),
    check({ regNo: "a/b/c/d/e" }),
    check({ regNo: "a//c/d" }),
    check({ regNo: null, tId: 1 }),
    check({ regNo: "a/b/c/d", tId: 1 }),
    check({ other: 1 }),
    check({}),
    check([]),
    { ...check({ tId: 1 }), context: [] },
    { ...check({ tId: 1 }), context: { examBatch: "x", more: 1 } },
    { ...check({ tId: 1 }), more: true },
    [],
  ];

  test.each(eligibility.map((body) => [JSON.stringify(body), body]))(
    "%s is judged alike",
    async (_text, body) => {
      const status = await statusOf(`${prefix}/eligibility-check`, JSON.stringify(body));
      expect(status).toBe(isValid("EligibilityCheckRequest", body) ? 200 : 400);
    },
  );

  test.each([0, 1, 255, 256])("an Idempotency-Key of %i characters is judged alike", async (length) => {
    const key = "k".repeat(length);
    const response = await world.call(`${prefix}/eligibility-check`, {
      as: "full",
      headers: { "Idempotency-Key": key },
      body: check({ tId: 1 }),
    });
    expect(response.status).toBe(isValid("IdempotencyKey", key) ? 200 : 400);
  });

  test("`searchTerm` is judged alike", async () => {
    for (const term of ["", " ", "\u00a0", "x", " 1 "]) {
      const response = await world.call(`/teacher/verify-license?searchTerm=${encodeURIComponent(term)}`);
      expect([term, response.status]).toEqual([term, isValid("SearchTerm", term) ? 200 : 400]);
    }
  });
});
