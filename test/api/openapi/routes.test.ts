import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openTestService, type TestService } from "../../harness/service.ts";
import { document, isValid } from "./document.ts";

const prefix = "/v1/inter-agency";
const purpose = "BODYA_INVIGILATOR_ELIGIBILITY";
const check = (identifier: unknown) => ({ identifier, purpose });

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
