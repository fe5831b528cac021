import { beforeAll, describe, expect, test } from "bun:test";
import { untilAnswer } from "../harness/eventually.ts";
import { roomInMinute } from "../harness/program.ts";
import type { Batch, Envelope, Problem } from "./contract.ts";
import { expectGenuine, fetchJwks } from "./jws.ts";
import { type Row, teachers } from "./registry.ts";
import { type Partner, readJson, sharedWorld } from "./world.ts";

const world = sharedWorld();
let partner: Partner;
const purpose = "EMPLOYER_BACKGROUND_CHECK";
const item = (regNo: string) => ({ identifier: { regNo }, purpose });
const rows = Object.values(teachers) as Row[];

beforeAll(async () => {
  partner = await world.partner();
});

async function batch(items: unknown[]): Promise<Batch> {
  const response = await partner.post("/batch", { items });
  expect(response.status).toBe(200);
  return readJson<Batch>(response);
}

async function expectRefused(body: unknown, message: RegExp | string): Promise<void> {
  const response = await partner.post("/batch", body);
  expect(response.status).toBe(400);
  const problem = await readJson<Problem>(response);
  expect(Object.keys(problem)).toEqual(["statusCode", "message"]);
  expect(problem.message).toMatch(message);
}

describe("answers", () => {
  test("a hundred items, in their order, found and not found mixed, each signed on its own", async () => {
    const asked = Array.from({ length: 100 }, (_, index) =>
      index % 3 === 0 ? `ZZ/PT/2000/${index}` : (rows[index % rows.length] as Row).reg_no,
    );
    const answer = await batch(asked.map(item));
    const jwks = await fetchJwks(world);
    expect(Object.keys(answer)).toEqual(["count", "results"]);
    expect(answer.count).toBe(100);
    expect(answer.results).toHaveLength(100);
    for (const [index, envelope] of answer.results.entries()) {
      const found = index % 3 !== 0;
      expect(envelope.result.found).toBe(found);
      if (found) expect(envelope.result.certificate?.regNo).toBe(asked[index] as string);
      expectGenuine(envelope, jwks, partner.id);
    }
    expect(new Set(answer.results.map(({ verificationId }) => verificationId)).size).toBe(100);
  });

  test("each item is judged for its own purpose, by its own identifier", async () => {
    const { valid, legacyVerified } = teachers;
    const answer = await batch([
      { identifier: { nin: valid.nin }, purpose },
      { identifier: { tId: Number(legacyVerified.t_id) }, purpose: "BODYA_EXAMINER_CREDENTIAL_CHECK" },
      { identifier: { tId: Number(legacyVerified.t_id) }, purpose, context: { correlationId: "3" } },
    ]);
    expect(answer.results.map(({ result }) => result.reasons)).toEqual([[], ["SOURCE_NOT_ACCEPTED"], []]);
    expect(answer.results[0]?.result.certificate?.regNo).toBe(valid.reg_no);
  });

  test("the same item twice is two verifications", async () => {
    const { results } = await batch([item(teachers.valid.reg_no), item(teachers.valid.reg_no)]);
    expect(results[0]?.verificationId).not.toBe(results[1]?.verificationId as string);
    expect(results[0]?.result).toEqual(results[1]?.result as Envelope["result"]);
  });

  test("has the headers of every authenticated answer", async () => {
    const response = await partner.post("/batch", { items: [item(teachers.valid.reg_no)] });
    for (const name of ["Limit", "Remaining", "Reset"]) {
      expect(response.headers.get(`X-RateLimit-${name}`)).toMatch(/^\d+$/);
    }
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    expect(response.headers.get("Content-Type")).toMatch(/^application\/json\b/);
  });
});

describe("requests", () => {
  const good = item("LA/PT/2019/00001");

  test.each([
    ["0 items", { items: [] }, /^items\b.*1 to 100/],
    ["101 items", { items: Array.from({ length: 101 }, () => good) }, /^items\b.*1 to 100/],
    [
      "a bad NIN in the fourth",
      { items: [good, good, good, { identifier: { nin: "777" }, purpose }] },
      /^items\[3\]\.identifier\.nin must be 11 digits$/,
    ],
  ])("%s is refused, by its name", (_name, body, message) => expectRefused(body, message));

  test("one purpose that is not the partner's refuses the whole batch, and nothing of it is attested", async () => {
    const narrow = await world.partner({ purposes: purpose, perDay: 1 });
    const items = [
      ...rows.map(({ reg_no }) => item(reg_no)),
      { ...good, purpose: "BODYA_INVIGILATOR_ELIGIBILITY" },
    ];
    const refused = await narrow.post("/batch", { items });
    expect(refused.status).toBe(403);
    expect(await readJson<Problem>(refused)).toMatchObject({ statusCode: 403 });
    const attested = await world.tvsJson<unknown[]>("attestations", "list", "--partner", narrow.id);
    expect(attested).toEqual([]);
    // The one call of the day is still there.
    expect((await narrow.post("/batch", { items: [good] })).status).toBe(200);
  });
});

describe("cost", () => {
  const items = [item("LA/PT/2019/00001"), item("LA/PT/2019/00002"), item("LA/PT/2019/00003")];
  const left = (response: Response) => Number(response.headers.get("X-RateLimit-Remaining"));

  test("a batch is one call of both quotas", async () => {
    await roomInMinute();
    const partner = await world.partner({ scopes: "batch", perMinute: 10, perDay: 2 });
    const first = await partner.post("/batch", { items });
    expect([first.status, left(first)]).toEqual([200, 1]);
    const second = await partner.post("/batch", { items });
    expect([second.status, left(second)]).toEqual([200, 0]);
    expect((await partner.post("/batch", { items })).status).toBe(429);
  });

  test("or one call an item, when the partner is set so", async () => {
    await roomInMinute();
    // Without the scope a batch costs nothing: it comes with the new cost, so the first paid one is counted by it.
    const partner = await world.partner({ scopes: "eligibility", perMinute: 10, perDay: 7 });
    const set = ["partners", "set", partner.id, "--batch-cost", "item", "--scopes", "eligibility,batch"];
    expect((await world.tvs(...set)).code).toBe(0);
    const { batchCost } = await world.tvsJson<{ batchCost: string }>("partners", "show", partner.id);
    expect(batchCost).toBe("item");
    // One node may know of it a moment before another.
    const ask = () =>
      untilAnswer(
        () => partner.post("/batch", { items }),
        ({ status }) => status !== 403,
      );
    const first = await ask();
    expect([first.status, left(first)]).toEqual([200, 4]);
    const second = await ask();
    expect([second.status, left(second)]).toEqual([200, 1]);
    const third = await ask();
    expect(third.status).toBe(429);
    expect((await readJson<Problem>(third)).message).toContain("day");
    // The refused batch took no token of the day: one is left for one check.
    expect((await partner.check({ tId: 1 })).status).toBe(200);
    expect((await partner.check({ tId: 1 })).status).toBe(429);
  });
});
