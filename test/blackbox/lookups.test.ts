import { beforeAll, describe, expect, test } from "bun:test";
import type { Envelope, Problem } from "./contract.ts";
import { expectGenuine, fetchJwks } from "./jws.ts";
import { teachers } from "./registry.ts";
import { type Partner, readJson, sharedWorld } from "./world.ts";

const world = sharedWorld();
let partner: Partner;
const { valid, legacyRecord } = teachers;

beforeAll(async () => {
  partner = await world.partner({ purposes: "BODYA_EXAMINER_CREDENTIAL_CHECK" });
});

async function find(response: Response): Promise<Envelope> {
  expect(response.status).toBe(200);
  const envelope = await readJson<Envelope>(response);
  expectGenuine(envelope, await fetchJwks(world), partner.id);
  expect(response.headers.get("X-Verification-Id")).toBe(envelope.verificationId);
  expect(response.headers.get("X-Signature-Kid")).toBe(envelope.signatureKid);
  for (const name of ["Limit", "Remaining", "Reset"]) {
    expect(response.headers.get(`X-RateLimit-${name}`)).toMatch(/^\d+$/);
  }
  return envelope;
}

async function expectRefused(response: Response, message: RegExp): Promise<void> {
  expect(response.status).toBe(400);
  const body = await readJson<Problem>(response);
  expect(Object.keys(body)).toEqual(["statusCode", "message"]);
  expect(body.message).toMatch(message);
}

describe("by registration number", () => {
  test.each([
    "LA%2FPT%2F2019%2F00001",
    "LA/PT%2F2019/00001",
    "la/pt/2019/00001",
    "%20LA%2FPT%2F2019%2F00001%20",
    "LA%2FPT%2F2019%2F00001?x=1",
  ])("%s", async (path) => {
    const { result } = await find(await partner.get(`/lookup/by-reg-no/${path}`));
    expect(result.teacher?.name).toBe(valid.name);
    expect(result.certificate?.regNo).toBe(valid.reg_no);
  });

  test("nobody is an answer", async () => {
    const { result } = await find(await partner.get("/lookup/by-reg-no/LA%2FPT%2F2019%2F99999"));
    expect(result).toMatchObject({ found: false, status: "NOT_FOUND", reasons: ["TEACHER_NOT_FOUND"] });
  });

  test.each(["LA%2FPT%2F2019", "LA/PT/2019/00001/2", "LA%2F%2F2019%2F00001", "LA%252FPT%252F2019%252F00001"])(
    "%s has not four segments",
    async (path) => {
      await expectRefused(await partner.get(`/lookup/by-reg-no/${path}`), /^regNo\b/);
    },
  );
});

describe("by teacher id", () => {
  test("finds the teacher", async () => {
    const { result } = await find(await partner.get(`/lookup/by-tid/${legacyRecord.t_id}`));
    expect(result.teacher?.tId).toBe(Number(legacyRecord.t_id));
  });

  test("nobody has another", async () => {
    const { result } = await find(await partner.get("/lookup/by-tid/9999999"));
    expect(result.found).toBe(false);
  });

  test.each(["abc", "1.5", "-1", "0x10", "%20", "9007199254740992", "١"])(
    "%s is no teacher id",
    async (tId) => {
      await expectRefused(await partner.get(`/lookup/by-tid/${tId}`), /^tId\b/);
    },
  );
});

describe("by NIN", () => {
  test("finds the teacher", async () => {
    const response = await partner.post("/lookup/by-nin", { nin: valid.nin, extra: true });
    const { result } = await find(response);
    expect(result.teacher?.name).toBe(valid.name);
    expect(result.profile?.ninVerified).toBe(true);
    expect(JSON.stringify(result)).not.toContain(valid.nin);
  });

  test("a telephone number of the same digits is not a NIN", async () => {
    const { result } = await find(await partner.post("/lookup/by-nin", { nin: "08031234501" }));
    expect(result.found).toBe(false);
  });

  test.each([{}, { nin: 70000000001 }, { nin: "7000000000" }])("%j is refused", async (body) => {
    await expectRefused(await partner.post("/lookup/by-nin", body), /^nin\b/);
  });

  test("a NIN is never taken from the address", async () => {
    const response = await partner.get(`/lookup/by-nin/${valid.nin}`);
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain(valid.nin);
    expect((await partner.get(`/lookup/by-nin?nin=${valid.nin}`)).status).toBe(405);
    const empty = await partner.post(`/lookup/by-nin?nin=${valid.nin}`, {});
    expect(empty.status).toBe(400);
  });
});

test("a lookup is judged for the public's purpose, whatever the partner's purposes are", async () => {
  const { result } = await find(await partner.get(`/lookup/by-tid/${teachers.claimed.t_id}`));
  expect(result.certificate?.status).toBe("CLAIMED");
  expect(result).toMatchObject({ eligible: true, reasons: [] });
});
