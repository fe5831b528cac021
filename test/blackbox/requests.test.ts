import { beforeAll, expect, test } from "bun:test";
import type { Envelope, Problem } from "./contract.ts";
import { expectGenuine, fetchJwks } from "./jws.ts";
import { teachers } from "./registry.ts";
import { type Partner, readJson, sharedWorld } from "./world.ts";

const world = sharedWorld();
let examiner: Partner;
const { valid } = teachers;

beforeAll(async () => {
  examiner = await world.partner({ purposes: "BODYA_EXAMINER_CREDENTIAL_CHECK" });
});

test("a known purpose that the partner does not have gets 403, and an invalid request gets 400 first", async () => {
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

async function find(response: Response): Promise<Envelope> {
  expect(response.status).toBe(200);
  const envelope = await readJson<Envelope>(response);
  expectGenuine(envelope, await fetchJwks(world), examiner.id);
  expect(response.headers.get("X-Verification-Id")).toBe(envelope.verificationId);
  expect(response.headers.get("X-Signature-Kid")).toBe(envelope.signatureKid);
  for (const name of ["Limit", "Remaining", "Reset"]) {
    expect(response.headers.get(`X-RateLimit-${name}`)).toMatch(/^\d+$/);
  }
  return envelope;
}

test("a lookup by NIN finds the teacher", async () => {
  const response = await examiner.post("/lookup/by-nin", { nin: valid.nin, extra: true });
  const { result } = await find(response);
  expect(result.teacher?.name).toBe(valid.name);
  expect(result.profile?.ninVerified).toBe(true);
  expect(JSON.stringify(result)).not.toContain(valid.nin);
});

test("a lookup by NIN finds nobody by a telephone number with the same digits", async () => {
  const { result } = await find(await examiner.post("/lookup/by-nin", { nin: "08031234501" }));
  expect(result.found).toBe(false);
});

test("a NIN in the URL is never accepted, nor repeated in the refusal", async () => {
  const response = await examiner.get(`/lookup/by-nin/${valid.nin}`);
  expect(response.status).toBe(404);
  expect(await response.text()).not.toContain(valid.nin);
  expect((await examiner.get(`/lookup/by-nin?nin=${valid.nin}`)).status).toBe(405);
  const empty = await examiner.post(`/lookup/by-nin?nin=${valid.nin}`, {});
  expect(empty.status).toBe(400);
});

test("a lookup decides eligibility under the public's purpose, whatever the partner's purposes are", async () => {
  const { result } = await find(await examiner.get(`/lookup/by-tid/${teachers.claimed.t_id}`));
  expect(result.certificate?.status).toBe("CLAIMED");
  expect(result).toMatchObject({ eligible: true, reasons: [] });
});
