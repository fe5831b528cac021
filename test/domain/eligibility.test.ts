import { expect, test } from "bun:test";
import { evaluateEligibility, listIneligibilityReasons } from "../../src/domain/eligibility.ts";
import type { Policy, PolicyRule } from "../../src/domain/policy.ts";
import { describeLicenseOn, type StoredTeacher } from "../../src/domain/teachers/teachers.ts";
import {
  certificateStatuses,
  notFoundResult,
  type Purpose,
  ineligibilityReasons as published,
  teacherSources,
} from "../../src/partner/contract.ts";
import { aStoredTeacher } from "../harness/samples.ts";

const today = "2026-03-01";
const purpose = "EMPLOYER_BACKGROUND_CHECK";
const anything: PolicyRule = {
  certificate: [...certificateStatuses],
  sources: [...teacherSources],
  categories: [],
  minDaysRemaining: 0,
};

function withRule(rule: Partial<PolicyRule> | null): Policy {
  return { version: "test", purposes: rule === null ? {} : { [purpose]: { ...anything, ...rule } } };
}

function reasonsFor(
  changes: Partial<StoredTeacher>,
  policy: Policy = withRule({}),
  asked: Purpose = purpose,
) {
  const teacher = aStoredTeacher(changes);
  return listIneligibilityReasons(teacher, describeLicenseOn(teacher, today), {
    purpose: asked,
    policy,
    today,
  });
}

const deactivated = { active: false };
const unlicensed = { licenseIssueDate: null, licenseExpiryDate: null };
const later = { licenseIssueDate: "2026-03-02" };
const expired = { licenseExpiryDate: "2026-02-28" };
const revoked = { licenseRevokedOn: "2026-01-01" };

test.each<[string, Partial<StoredTeacher>, Partial<PolicyRule>]>([
  ["TEACHER_DEACTIVATED", deactivated, {}],
  ["LICENSE_NOT_FOUND", unlicensed, {}],
  ["LICENSE_NOT_YET_VALID", later, {}],
  ["LICENSE_EXPIRED", expired, {}],
  ["LICENSE_REVOKED", revoked, {}],
  ["LICENSE_EXPIRES_TOO_SOON", { licenseExpiryDate: "2026-03-30" }, { minDaysRemaining: 30 }],
  ["CERTIFICATE_NOT_FOUND", { certificateStatus: "NOT_FOUND" }, { certificate: ["VERIFIED"] }],
  ["CERTIFICATE_CLAIMED", { certificateStatus: "CLAIMED" }, { certificate: ["VERIFIED"] }],
  ["CERTIFICATE_LEGACY_ONLY", { certificateStatus: "LEGACY_RECORD" }, { certificate: ["VERIFIED"] }],
  ["SOURCE_NOT_ACCEPTED", { source: "legacy" }, { sources: ["new_system"] }],
  ["CATEGORY_NOT_ACCEPTED", { category: "B" }, { categories: ["A", "C"] }],
  ["CATEGORY_NOT_ACCEPTED", { category: null }, { categories: ["A"] }],
  ["TEACHER_DEACTIVATED", { ...deactivated, ...expired }, { minDaysRemaining: 30 }],
  ["TEACHER_DEACTIVATED", { ...deactivated, ...revoked }, { minDaysRemaining: 30 }],
  ["TEACHER_DEACTIVATED", { ...deactivated, ...later }, { minDaysRemaining: 30 }],
  ["TEACHER_DEACTIVATED", { ...deactivated, ...unlicensed }, { minDaysRemaining: 30 }],
  ["LICENSE_REVOKED", { ...revoked, ...expired }, { minDaysRemaining: 30 }],
  ["LICENSE_REVOKED", { ...revoked, ...later }, { minDaysRemaining: 30 }],
  ["LICENSE_REVOKED", { ...revoked, ...unlicensed }, { minDaysRemaining: 30 }],
])("only the reason %s applies to a teacher with %j under a rule with %j", (reason, changes, rule) => {
  expect(reasonsFor(changes, withRule(rule))).toEqual([reason as never]);
});

test("a teacher is not eligible for a purpose without a rule, with the reason POLICY_MISSING", () => {
  expect(reasonsFor({}, withRule(null))).toEqual(["POLICY_MISSING"]);
  expect(reasonsFor({}, withRule({}), "BODYA_INVIGILATOR_ELIGIBILITY")).toEqual(["POLICY_MISSING"]);
});

const verdictOn = (teacher: StoredTeacher | null) =>
  evaluateEligibility(teacher, { purpose, policy: withRule({}), today });
const empty = { ninVerified: false, qualifications: [], employment: [] };
const degree = { title: "B.Ed.", institution: null, year: 2010 };

test("the verdict about an unknown teacher is the contract's result for nobody", () => {
  expect(verdictOn(null)).toEqual(notFoundResult);
});

test("the verdict has the teacher, the licence, the certificate and the reasons", () => {
  const teacher = aStoredTeacher({ tId: 7 });
  expect(verdictOn(teacher)).toEqual({
    ...{ found: true, source: "new_system", status: "VALID", eligible: true, reasons: [] },
    teacher: { name: "Ada Obi", tId: 7, state: "Lagos", category: "A" },
    license: describeLicenseOn(teacher, today),
    certificate: { status: "VERIFIED", regNo: teacher.regNo, issueDate: "2020-01-01" },
    profile: empty,
  });
  const refused = { status: "REVOKED", eligible: false, reasons: ["LICENSE_REVOKED"] } as const;
  expect(verdictOn(aStoredTeacher(revoked))).toMatchObject(refused);
});

test.each<[Partial<StoredTeacher>, object | null]>([
  [{ ninVerified: true }, { ...empty, ninVerified: true }],
  [{ profile: { qualifications: [degree], employment: [] } }, { ...empty, qualifications: [degree] }],
  [{ source: "legacy", profile: { qualifications: [degree], employment: [] } }, null],
])(
  "the verdict on a teacher with %j has a profile only if the record is from the new system",
  (changes, profile) => {
    expect(verdictOn(aStoredTeacher(changes)).profile).toEqual(profile as never);
  },
);

const demanding = { certificate: [], sources: [], categories: ["none of them"], minDaysRemaining: 36_500 };

test.each<[Partial<StoredTeacher>, string[]]>([
  [{ ...deactivated, certificateStatus: "CLAIMED" }, ["TEACHER_DEACTIVATED", "CERTIFICATE_CLAIMED"]],
  [{ ...unlicensed, certificateStatus: "NOT_FOUND" }, ["LICENSE_NOT_FOUND", "CERTIFICATE_NOT_FOUND"]],
  [{ ...later, certificateStatus: "LEGACY_RECORD" }, ["LICENSE_NOT_YET_VALID", "CERTIFICATE_LEGACY_ONLY"]],
  [{ ...expired, certificateStatus: "CLAIMED" }, ["LICENSE_EXPIRED", "CERTIFICATE_CLAIMED"]],
  [{ ...revoked, certificateStatus: "NOT_FOUND" }, ["LICENSE_REVOKED", "CERTIFICATE_NOT_FOUND"]],
  [{ certificateStatus: "VERIFIED" }, ["LICENSE_EXPIRES_TOO_SOON", "CERTIFICATE_NOT_FOUND"]],
])("the verdict on a teacher with %j has all reasons, in the published order", (changes, first) => {
  const reasons = reasonsFor(changes, withRule(demanding));
  expect(reasons).toEqual([...first, "SOURCE_NOT_ACCEPTED", "CATEGORY_NOT_ACCEPTED"] as never);
});

test("the reasons of a verdict are unique and in the published order, and only a teacher with a valid licence has none", () => {
  const licenses = [{}, { licenseExpiryDate: today }, deactivated, unlicensed, later, expired, revoked];
  const rules = [null, {}, demanding, { minDaysRemaining: 1 }, { certificate: ["VERIFIED" as const] }];
  const records = licenses.flatMap((license) =>
    certificateStatuses.flatMap((status) => teacherSources.map((source) => ({ license, status, source }))),
  );
  for (const { license, status, source } of records) {
    for (const rule of rules) {
      const reasons = reasonsFor({ ...license, certificateStatus: status, source }, withRule(rule));
      const order = reasons.map((reason) => published.indexOf(reason));
      expect(order).toEqual([...new Set(order)].sort((a, b) => a - b));
      expect(reasons).not.toContain("TEACHER_NOT_FOUND");
      if (reasons.length === 0) expect(licenses.indexOf(license)).toBeLessThan(2);
    }
  }
});

test.each<[Partial<StoredTeacher>, Partial<PolicyRule>, boolean]>([
  [{ licenseExpiryDate: "2026-03-31" }, { minDaysRemaining: 30 }, true],
  [{ licenseExpiryDate: "2026-03-30" }, { minDaysRemaining: 30 }, false],
  [{ licenseExpiryDate: "2026-03-02" }, { minDaysRemaining: 1 }, true],
  [{ licenseExpiryDate: "2026-03-01" }, { minDaysRemaining: 1 }, false],
  [{ licenseExpiryDate: "2026-03-01" }, { minDaysRemaining: 0 }, true],
  [{ category: "Z" }, { categories: [] }, true],
  [{ category: null }, { categories: [] }, true],
  [{ category: "A" }, { categories: ["A"] }, true],
  [{ category: "a" }, { categories: ["A"] }, false],
])("a teacher with %j is eligible under a rule with %j: %p", (changes, rule, isEligible) => {
  expect(reasonsFor(changes, withRule(rule)).length === 0).toBe(isEligible);
});
