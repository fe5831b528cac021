/** Policies and time zones of the operator's own: what the default ones cannot show. */
import { beforeAll, expect, test } from "bun:test";
import type { EligibilityResult, Envelope, Purpose } from "./contract.ts";
import { dateIn, type Row, teacher, teachers } from "./registry.ts";
import { type Partner, readJson, sharedWorld } from "./world.ts";

// Niue is 25 hours behind Kiritimati: its today is always over there.
const lastDayInNiue = teacher("AB/PT/2020/00001", { license_expiry_date: dateIn("Pacific/Niue") });
const rule = { certificate: ["VERIFIED"], sources: ["new_system"], categories: [], minDaysRemaining: 0 };
const policy = {
  version: "test-1",
  purposes: {
    BODYC_INVIGILATOR_ELIGIBILITY: { ...rule, categories: ["Primary", "Secondary"], minDaysRemaining: 20 },
    BODYC_CBT_STAFF_VERIFICATION: {
      ...rule,
      categories: ["Primary"],
      minDaysRemaining: 200,
      sources: ["legacy"],
    },
  },
};
const world = sharedWorld({ rows: [teachers.valid, teachers.revoked, lastDayInNiue] });
let caller: Partner;

beforeAll(async () => {
  const file = await world.file("policy.json", JSON.stringify(policy));
  await world.restart({ args: ["--policy", file, "--time-zone", "Pacific/Kiritimati"] });
  caller = await world.partner();
});

async function resultOf(row: Row, purpose: Purpose): Promise<EligibilityResult> {
  const response = await caller.check({ regNo: row.reg_no }, purpose);
  expect(response.status).toBe(200);
  return (await readJson<Envelope>(response)).result;
}

test.each<[Purpose, string[]]>([
  ["BODYC_INVIGILATOR_ELIGIBILITY", []],
  [
    "BODYC_CBT_STAFF_VERIFICATION",
    ["LICENSE_EXPIRES_TOO_SOON", "SOURCE_NOT_ACCEPTED", "CATEGORY_NOT_ACCEPTED"],
  ],
  ["GENERAL_PUBLIC_VERIFICATION", ["POLICY_MISSING"]],
])("%s", async (purpose, reasons) => {
  const result = await resultOf(teachers.valid, purpose);
  expect(result.reasons).toEqual(reasons);
  expect(result.eligible).toBe(reasons.length === 0);
  expect(result.status).toBe("VALID");
});

test("a licence ends with its day in the service's time zone; policy and zone are remembered", async () => {
  expect((await resultOf(lastDayInNiue, "GENERAL_PUBLIC_VERIFICATION")).status).toBe("EXPIRED");
  await world.restart({ args: [] });
  const expired = await resultOf(lastDayInNiue, "GENERAL_PUBLIC_VERIFICATION");
  expect(expired.reasons).toEqual(["LICENSE_EXPIRED", "POLICY_MISSING"]);
  await world.restart({ args: ["--time-zone", "Pacific/Niue"] });
  const valid = await resultOf(lastDayInNiue, "GENERAL_PUBLIC_VERIFICATION");
  // Midnight may have passed over there since this file was read.
  const today = dateIn("Pacific/Niue");
  expect(valid.status).toBe(today === lastDayInNiue.license_expiry_date ? "VALID" : "EXPIRED");
  await world.restart({ args: ["--time-zone", "Pacific/Kiritimati"] });
});
