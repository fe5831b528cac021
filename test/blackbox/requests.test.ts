import { beforeAll, expect, test } from "bun:test";
import type { Problem } from "./contract.ts";
import { teachers } from "./registry.ts";
import { type Partner, readJson, sharedWorld } from "./world.ts";

const world = sharedWorld();
let partner: Partner;

beforeAll(async () => {
  partner = await world.partner();
});

const purpose = "GENERAL_PUBLIC_VERIFICATION";
const good = { identifier: { tId: 1_000_001 }, purpose };

async function expectRefused(body: unknown, member: RegExp): Promise<void> {
  const response = await partner.post("/eligibility-check", body);
  expect(response.status).toBe(400);
  const problem = await readJson<Problem>(response);
  expect(Object.keys(problem)).toEqual(["statusCode", "message"]);
  expect(problem.statusCode).toBe(400);
  expect(problem.message).toMatch(member);
  // The values that these requests carry have this mark in them.
  expect(problem.message).not.toMatch(/7777|Q7Q/);
  expect(response.headers.get("X-RateLimit-Limit")).toBe("100000");
}

test.each([
  ["an identifier with two", { identifier: { tId: 7777, nin: "77777777777" }, purpose }, /^identifier\b/],
  ["a regNo of three segments", { identifier: { regNo: "Q7Q/B/C" }, purpose }, /^identifier\.regNo\b/],
  ["a regNo with an empty segment", { identifier: { regNo: "Q7Q//C/D" }, purpose }, /^identifier\.regNo\b/],
  ["a purpose that is none", { ...good, purpose: "Q7Q" }, /^purpose\b/],
  ["a purpose of an object's own", { ...good, purpose: "__proto__" }, /^purpose\b/],
  ["a batch that is a number", { ...good, context: { examBatch: 7777 } }, /^context\.examBatch\b/],
  ["nothing", "", /body/],
  ["something after the JSON", `${JSON.stringify(good)} Q7Q`, /body/],
])("%s is refused, by its name", (_name, body, member) => expectRefused(body, member));

test("a purpose of the contract that is not the partner's is 403, after all that is 400", async () => {
  const narrow = await world.partner({
    purposes: "BODYA_INVIGILATOR_ELIGIBILITY,EMPLOYER_BACKGROUND_CHECK",
  });
  const regNo = teachers.valid.reg_no;
  expect((await narrow.check({ regNo }, "BODYA_INVIGILATOR_ELIGIBILITY")).status).toBe(200);
  expect((await narrow.check({ regNo }, "EMPLOYER_BACKGROUND_CHECK")).status).toBe(200);
  for (const other of ["BODYB_INVIGILATOR_ELIGIBILITY", "GENERAL_PUBLIC_VERIFICATION"] as const) {
    const refused = await narrow.check({ regNo }, other);
    expect(refused.status).toBe(403);
    expect(await readJson<Problem>(refused)).toMatchObject({ statusCode: 403 });
    expect(refused.headers.get("X-RateLimit-Remaining")).toMatch(/^\d+$/);
  }
  expect((await narrow.check({ nin: "7" }, "BODYB_INVIGILATOR_ELIGIBILITY")).status).toBe(400);
});

test("unknown members are ignored, at every level", async () => {
  const body = {
    identifier: { ...good.identifier, passport: "A1" },
    purpose,
    context: { examBatch: "2026-A", employerName: "School", correlationId: "c-1", other: 1 },
    extra: [1, { two: null }],
  };
  expect((await partner.post("/eligibility-check", body)).status).toBe(200);
});

test("the body is JSON, though its type says otherwise", async () => {
  const response = await partner.post("/eligibility-check", good, { "Content-Type": "application/xml" });
  expect(response.status).toBe(200);
});

test("256 KiB are read, one byte more is 413", async () => {
  const text = JSON.stringify(good);
  const padded = (bytes: number) => text + " ".repeat(bytes - text.length);
  expect((await partner.post("/eligibility-check", padded(256 * 1024))).status).toBe(200);
  const response = await partner.post("/eligibility-check", padded(256 * 1024 + 1));
  expect(response.status).toBe(413);
  expect(await readJson<Problem>(response)).toMatchObject({ statusCode: 413 });
});

test("a body that comes in pieces without a length has the same limit", async () => {
  const piece = new TextEncoder().encode(" ".repeat(64 * 1024));
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(JSON.stringify(good)));
      for (let i = 0; i < 5; i++) controller.enqueue(piece);
      controller.close();
    },
  });
  const url = `${world.service().url}/v1/inter-agency/eligibility-check`;
  const headers = { Authorization: `Bearer ${partner.apiKey}` };
  expect((await fetch(url, { method: "POST", headers, body: stream })).status).toBe(413);
});

test.each([{}, { "Idempotency-Key": "deep" }])(
  "a deeply nested body is no failure of the service %p",
  async (headers) => {
    const depth = 100_000;
    const body = `{"identifier":{"tId":1000001},"purpose":"${purpose}","x":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    const response = await partner.post("/eligibility-check", body, headers as Record<string, string>);
    expect([200, 400]).toContain(response.status);
  },
);

test("text that is no UTF-8 is refused", async () => {
  const url = `${world.service().url}/v1/inter-agency/eligibility-check`;
  const headers = { Authorization: `Bearer ${partner.apiKey}` };
  const body = new Uint8Array([
    ...new TextEncoder().encode('{"identifier":{"regNo":"'),
    0xff,
    0x22,
    0x7d,
    0x7d,
  ]);
  expect((await fetch(url, { method: "POST", headers, body })).status).toBe(400);
});
