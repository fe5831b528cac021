import { expect, test } from "bun:test";
import { waitForFreshMinute } from "../harness/program.ts";
import type { Problem } from "./contract.ts";
import { teachers } from "./registry.ts";
import { type Partner, type PartnerOptions, readJson, sharedWorld } from "./world.ts";

const world = sharedWorld({ rows: [teachers.valid] });
const tId = Number(teachers.valid.t_id);
/** All scopes except `lookup_by_nin`: the helper calls that route, which then costs nothing, until the service knows the partner. */
const scopes = "eligibility,lookup_by_reg_no,lookup_by_tid,batch";

/** A partner that has used no quota, at a time with enough of the minute left for the test. */
async function freshPartner(limits: PartnerOptions): Promise<Partner> {
  await waitForFreshMinute(12);
  return world.partner({ scopes, ...limits });
}

type Figures = { status: number; limit: number; remaining: number; reset: number };

function figures(response: Response): Figures {
  const read = (name: string) => {
    const text = response.headers.get(`X-RateLimit-${name}`) ?? "";
    expect(text).toMatch(/^\d+$/);
    return Number(text);
  };
  const { status } = response;
  return { status, limit: read("Limit"), remaining: read("Remaining"), reset: read("Reset") };
}

const dayEnd = () => Math.floor(Date.now() / 86_400_000) * 86_400 + 86_400;
const minuteEnd = () => Math.floor(Date.now() / 60_000) * 60 + 60;

/** Sends one check. @returns its status and X-RateLimit-Remaining */
async function check(partner: Partner, headers: Record<string, string> = {}): Promise<[number, number]> {
  const { status, remaining } = figures(await partner.check({ tId }, "GENERAL_PUBLIC_VERIFICATION", headers));
  return [status, remaining];
}

test("X-RateLimit-Limit, Remaining and Reset are exact from the first to the last call of a minute", async () => {
  const partner = await freshPartner({ perMinute: 4 });
  const reset = minuteEnd();
  // These calls cost nothing.
  await partner.get("/health");
  await partner.get("/.well-known/jwks.json");
  for (const remaining of [3, 2, 1, 0]) {
    expect(figures(await partner.check({ tId }))).toEqual({ status: 200, limit: 4, remaining, reset });
  }
  const refused = await partner.check({ tId });
  expect(figures(refused)).toEqual({ status: 429, limit: 4, remaining: 0, reset });
  // api/error-codes.test.ts has the form of every refusal.
  const body = await readJson<Required<Problem>>(refused);
  expect(body.message).toContain("minute");
  expect(body.message).not.toContain("day");
  const leftSeconds = reset - Date.now() / 1000;
  expect(Math.abs(body.retryAfterSeconds - leftSeconds)).toBeLessThan(3);
});

test("a call beyond the day quota gets a refusal that names the day, with a Retry-After that ends at midnight UTC", async () => {
  const partner = await freshPartner({ perMinute: 50, perDay: 2 });
  expect(await check(partner)).toEqual([200, 1]);
  const last = figures(await partner.check({ tId }));
  expect(last).toMatchObject({ status: 200, remaining: 0, reset: minuteEnd() });
  const refused = await partner.check({ tId });
  expect(figures(refused)).toEqual({ status: 429, limit: 50, remaining: 0, reset: dayEnd() });
  const body = await readJson<Required<Problem>>(refused);
  expect(body.message).toContain("day");
  expect(refused.headers.get("Retry-After")).toBe(String(body.retryAfterSeconds));
  expect(Math.abs(body.retryAfterSeconds - (dayEnd() - Date.now() / 1000))).toBeLessThan(3);
});

test("a quota of N calls allows exactly N of many concurrent calls", async () => {
  const partner = await freshPartner({ perMinute: 10 });
  const responses = await Promise.all(Array.from({ length: 40 }, () => partner.check({ tId })));
  const answered = responses.filter(({ status }) => status === 200);
  expect(answered).toHaveLength(10);
  expect(responses.filter(({ status }) => status === 429)).toHaveLength(30);
  const attested = await world.tvsJson<unknown[]>("attestations", "list", "--partner", partner.id);
  expect(attested).toHaveLength(10);
});

test("neither a restart nor kill -9 gives back any used quota", async () => {
  const partner = await freshPartner({ perMinute: 10, perDay: 1_000 });
  await check(partner);
  await check(partner);
  expect((await partner.post("/eligibility-check", {})).status).toBe(400);
  await world.restart();
  expect(await check(partner)).toEqual([200, 6]);
  await world.restart({ kill: true });
  expect(await check(partner)).toEqual([200, 5]);
});
