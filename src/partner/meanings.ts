/**
 * What each word of the contract means, in a sentence for partners' engineers. The OpenAPI document and the API
 * reference show them (decision D8.7); the compiler names the word that has none.
 */
import type { CertificateStatus, EventType, LicenseStatus, Purpose, Reason, Source } from "./contract.ts";

/** Why `eligible` is false, and what would change it where somebody can. */
export const reasonMeanings: Readonly<Record<Reason, string>> = {
  TEACHER_NOT_FOUND:
    "Nobody in the register has this identifier. Compare it with the document before concluding.",
  TEACHER_DEACTIVATED:
    "The registration is switched off, so nothing else about the license is said. Only the registry can reactivate it.",
  LICENSE_NOT_FOUND: "The teacher is registered, but was never licensed.",
  LICENSE_NOT_YET_VALID: "The license begins on a later day: see `license.issueDate`.",
  LICENSE_EXPIRED: "The last day of the license has passed: see `license.expiryDate`. It may be renewed.",
  LICENSE_REVOKED: "The registry withdrew the license. It may be reinstated.",
  LICENSE_EXPIRES_TOO_SOON:
    "The license is valid, but has fewer days left than the purpose asks for: see `license.daysRemaining`.",
  CERTIFICATE_NOT_FOUND: "The register has no certificate that the purpose accepts.",
  CERTIFICATE_CLAIMED: "The teacher says there is a certificate; the registry has not verified it.",
  CERTIFICATE_LEGACY_ONLY:
    "The certificate is known from the old records only, which the purpose does not accept.",
  SOURCE_NOT_ACCEPTED: "The record comes from a source that the purpose does not accept.",
  CATEGORY_NOT_ACCEPTED: "The teacher is registered in a category that the purpose does not accept.",
  POLICY_MISSING: "The operator has set no rule for this purpose, so nobody is eligible. Tell the operator.",
};

export const licenseStatusMeanings: Readonly<Record<LicenseStatus, string>> = {
  VALID: "Licensed today. A license is valid through its last day.",
  EXPIRED: "There was a license; its last day has passed.",
  NOT_FOUND: "No license in force: never licensed, not begun yet, or the teacher is deactivated or unknown.",
  REVOKED: "The registry withdrew the license. The public lookup says `NOT_FOUND` instead.",
};

export const certificateStatusMeanings: Readonly<Record<CertificateStatus, string>> = {
  VERIFIED: "The registry has verified the certificate.",
  NOT_FOUND: "The register knows of no certificate.",
  CLAIMED: "The teacher says there is one; the registry has not verified it.",
  LEGACY_RECORD: "It stands in the old records, from before certificates were verified.",
};

export const sourceMeanings: Readonly<Record<Source, string>> = {
  new_system: "The present register, whose records are certified and can have a profile.",
  legacy: "The register's earlier records. There is no profile.",
};

export const purposeMeanings: Readonly<Record<Purpose, string>> = {
  BODYA_INVIGILATOR_ELIGIBILITY: "May the teacher invigilate examinations of body A?",
  BODYA_EXAMINER_CREDENTIAL_CHECK: "Do the teacher's credentials suffice for an examiner of body A?",
  BODYB_INVIGILATOR_ELIGIBILITY: "May the teacher invigilate examinations of body B?",
  BODYB_EXAMINER_CREDENTIAL_CHECK: "Do the teacher's credentials suffice for an examiner of body B?",
  BODYC_CBT_STAFF_VERIFICATION: "May the teacher work in computer-based tests of body C?",
  BODYC_INVIGILATOR_ELIGIBILITY: "May the teacher invigilate examinations of body C?",
  BODYC_ENDORSEMENT_ELIGIBILITY: "May body C endorse the teacher?",
  SCHOOL_EMPLOYMENT_VERIFICATION: "May a school employ this person as a teacher?",
  EMPLOYER_BACKGROUND_CHECK: "Is what an applicant told an employer about the license true?",
  GENERAL_PUBLIC_VERIFICATION:
    "Is this person a licensed teacher? Lookups without a purpose are judged by it.",
};

/** What happened, and what `previousStatus` is about. */
export const eventMeanings: Readonly<Record<EventType, string>> = {
  "license.verified": "A teacher who had no license in force has a valid one now.",
  "license.expired": "The license ran out, or a change made it an expired one.",
  "license.revoked": "The registry withdrew the license. Stop relying on earlier answers.",
  "license.reinstated": "An expired or revoked license, or that of a deactivated teacher, is valid again.",
  "certificate.verified": "The registry has verified the certificate.",
  "certificate.revoked": "The certificate is verified no longer.",
  "teacher.deactivated":
    "The registration was switched off. It is announced alone, whatever else it changes.",
};
