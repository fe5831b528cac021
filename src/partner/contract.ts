/** Enumerations and types of the published contract. The types are made from the schemas of data/openapi.yaml. */

import type { EligibilityResult } from "./api-types.ts";

export type {
  Certificate,
  EligibilityResult,
  License,
  Profile,
  SignedEnvelope,
  SignedStatement,
  StatementList as ListLabel,
  StatementRow,
  StatementSummary,
  WebhookEvent,
} from "./api-types.ts";

export const licenseStatuses = ["VALID", "EXPIRED", "NOT_FOUND", "REVOKED"] as const;
export type LicenseStatus = (typeof licenseStatuses)[number];

export const certificateStatuses = ["VERIFIED", "NOT_FOUND", "CLAIMED", "LEGACY_RECORD"] as const;
export type CertificateStatus = (typeof certificateStatuses)[number];

export const teacherSources = ["new_system", "legacy"] as const;
export type TeacherSource = (typeof teacherSources)[number];

export const purposes = [
  "BODYA_INVIGILATOR_ELIGIBILITY",
  "BODYA_EXAMINER_CREDENTIAL_CHECK",
  "BODYB_INVIGILATOR_ELIGIBILITY",
  "BODYB_EXAMINER_CREDENTIAL_CHECK",
  "BODYC_CBT_STAFF_VERIFICATION",
  "BODYC_INVIGILATOR_ELIGIBILITY",
  "BODYC_ENDORSEMENT_ELIGIBILITY",
  "SCHOOL_EMPLOYMENT_VERIFICATION",
  "EMPLOYER_BACKGROUND_CHECK",
  "GENERAL_PUBLIC_VERIFICATION",
] as const;
export type Purpose = (typeof purposes)[number];

/** The reasons why `eligible` is false, in the order in which answers list them. A name never changes its meaning. */
export const ineligibilityReasons = [
  "TEACHER_NOT_FOUND",
  "TEACHER_DEACTIVATED",
  "LICENSE_NOT_FOUND",
  "LICENSE_NOT_YET_VALID",
  "LICENSE_EXPIRED",
  "LICENSE_REVOKED",
  "LICENSE_EXPIRES_TOO_SOON",
  "CERTIFICATE_NOT_FOUND",
  "CERTIFICATE_CLAIMED",
  "CERTIFICATE_LEGACY_ONLY",
  "SOURCE_NOT_ACCEPTED",
  "CATEGORY_NOT_ACCEPTED",
  "POLICY_MISSING",
  "NAME_DIFFERS",
] as const;
export type Reason = (typeof ineligibilityReasons)[number];

/** The result for an identifier that the register does not have. */
export const notFoundResult: EligibilityResult = {
  found: false,
  source: null,
  status: "NOT_FOUND",
  eligible: false,
  reasons: ["TEACHER_NOT_FOUND"],
  teacher: null,
  license: null,
  certificate: null,
  profile: null,
};

/** The `typ` of a statement's JWS, by which no verifier accepts a statement as an envelope (RFC 8725 section 3.11). */
export const statementJwsType = "tvs-statement+jwt";

/** The first line of each hashed row of a statement, so that a leaf of another Merkle tree is never accepted as a row. */
export const statementRowHashPrefix = "tvs/v1/statement-row\n";

export const eventTypes = [
  "license.verified",
  "license.expired",
  "license.revoked",
  "license.reinstated",
  "certificate.verified",
  "certificate.revoked",
  "teacher.deactivated",
] as const;
export type EventType = (typeof eventTypes)[number];
