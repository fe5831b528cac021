import type { CertificateStatus, EligibilityResult, License, Purpose, Reason } from "../partner/contract.ts";
import { notFoundResult } from "../partner/contract.ts";
import type { CalendarDate } from "./clock.ts";
import type { Policy, PolicyRule } from "./policy.ts";
import { certificateOf, describeLicenseOn, licenseStartsLater, type Teacher } from "./teachers/teachers.ts";

type Criteria = { readonly purpose: Purpose; readonly policy: Policy; readonly today: CalendarDate };

/** Decides whether a teacher is eligible for a purpose (contract C10). @param teacher null if nobody was found */
export function evaluateEligibility(teacher: Teacher | null, options: Criteria): EligibilityResult {
  if (teacher === null) return notFoundResult;
  const license = describeLicenseOn(teacher, options.today);
  const reasons = listIneligibilityReasons(teacher, license, options);
  return {
    found: true,
    source: teacher.source,
    status: license.status,
    eligible: reasons.length === 0,
    reasons,
    teacher: { name: teacher.name, tId: teacher.tId, state: teacher.state, category: teacher.category },
    license,
    certificate: certificateOf(teacher),
    profile: profileOf(teacher),
  };
}

function profileOf(teacher: Teacher): EligibilityResult["profile"] {
  if (teacher.source !== "new_system") return null;
  const { qualifications = [], employment = [] } = teacher.profile ?? {};
  return { ninVerified: teacher.ninVerified, qualifications, employment };
}

/**
 * Lists every reason why a teacher is not eligible for a purpose, in the published order. An active teacher with a
 * VALID licence is always required; the policy may require more.
 * @param license the teacher's licence on `today`
 */
export function listIneligibilityReasons(teacher: Teacher, license: License, options: Criteria): Reason[] {
  const { purpose, policy, today } = options;
  const rule = policy.purposes[purpose];
  const ofLicense = licenseReason(teacher, license, today, rule);
  const reasons: Reason[] = ofLicense === null ? [] : [ofLicense];
  if (rule === undefined) return [...reasons, "POLICY_MISSING"];

  if (!rule.certificate.includes(teacher.certificateStatus))
    reasons.push(certificateReasons[teacher.certificateStatus]);
  if (!rule.sources.includes(teacher.source)) reasons.push("SOURCE_NOT_ACCEPTED");
  if (rule.categories.length > 0 && !rule.categories.includes(teacher.category ?? ""))
    reasons.push("CATEGORY_NOT_ACCEPTED");
  return reasons;
}

/** The reason to give for each certificate status, if the policy refuses the status. A policy can refuse VERIFIED. */
const certificateReasons: Readonly<Record<CertificateStatus, Reason>> = {
  NOT_FOUND: "CERTIFICATE_NOT_FOUND",
  CLAIMED: "CERTIFICATE_CLAIMED",
  LEGACY_RECORD: "CERTIFICATE_LEGACY_ONLY",
  VERIFIED: "CERTIFICATE_NOT_FOUND",
};

function licenseReason(teacher: Teacher, license: License, today: CalendarDate, rule?: PolicyRule) {
  const { status, daysRemaining } = license;
  if (!teacher.active) return "TEACHER_DEACTIVATED";
  if (status === "EXPIRED") return "LICENSE_EXPIRED";
  if (status === "REVOKED") return "LICENSE_REVOKED";
  if (status === "NOT_FOUND")
    return licenseStartsLater(teacher, today) ? "LICENSE_NOT_YET_VALID" : "LICENSE_NOT_FOUND";
  return (daysRemaining ?? 0) < (rule?.minDaysRemaining ?? 0) ? "LICENSE_EXPIRES_TOO_SOON" : null;
}
