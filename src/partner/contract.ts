/** The shapes and enumerations of the published contract, as a partner sees them. */

export const licenseStatuses = ["VALID", "EXPIRED", "NOT_FOUND", "REVOKED"] as const;
export type LicenseStatus = (typeof licenseStatuses)[number];

export const certificateStatuses = ["VERIFIED", "NOT_FOUND", "CLAIMED", "LEGACY_RECORD"] as const;
export type CertificateStatus = (typeof certificateStatuses)[number];

export const sources = ["new_system", "legacy"] as const;
export type Source = (typeof sources)[number];

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

/** Reasons for a false `eligible`: stable, in this order, never reused for another meaning. */
export const reasons = [
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
export type Reason = (typeof reasons)[number];

/** Dates are `YYYY-MM-DD` in the service's time zone. */
export type License = {
  status: LicenseStatus;
  issueDate: string | null;
  expiryDate: string | null;
  daysRemaining: number | null;
};

export type Certificate = { status: CertificateStatus; regNo: string | null; issueDate: string | null };

export type Profile = {
  ninVerified: boolean;
  qualifications: { title: string; institution: string | null; year: number | null }[];
  employment: { employer: string; role: string | null; from: string | null; to: string | null }[];
};

/** The verdict on a teacher (contract C10): when `found` is false every nullable member is null. */
export type EligibilityResult = {
  found: boolean;
  source: Source | null;
  status: LicenseStatus;
  eligible: boolean;
  reasons: Reason[];
  teacher: { name: string; tId: number | null; state: string | null; category: string | null } | null;
  license: License | null;
  certificate: Certificate | null;
  profile: Profile | null;
};

/** The result when the register knows nobody by the identifier. */
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

/** The signed answer (contract C9): `signature` is a compact RS256 JWS whose `result` claim is authoritative. */
export type SignedEnvelope = {
  verificationId: string;
  verifiedAt: string;
  issuer: string;
  audience: string;
  result: EligibilityResult;
  signature: string;
  signatureKid: string;
};

export type StatementRow = {
  /** From 1. */
  row: number;
  tId: number | null;
  regNo: string | null;
  eligible: boolean;
  status: LicenseStatus;
  reasons: Reason[];
  /** Whether the listed name can be the registered one; null if no name was listed or nobody was found. */
  nameMatches: boolean | null;
};

/** The list of a statement, as the partner named it. */
export type StatementList = { name: string; reference: string | null };

/** `distinct` counts people, or numbers where nobody was found; the counts after it are of `distinct`. */
export type StatementSummary = {
  listed: number;
  distinct: number;
  found: number;
  eligible: number;
  /** Rounded down to one decimal. */
  percentEligible: number;
  byReason: Partial<Record<Reason, number>>;
};

/** One signed answer for a whole list: `signature` covers everything but the rows, and the root of a tree of the rows. */
export type SignedStatement = {
  statementId: string;
  issuedAt: string;
  issuer: string;
  audience: string;
  purpose: Purpose;
  policyVersion: string;
  list: StatementList;
  summary: StatementSummary;
  rows: StatementRow[];
  signature: string;
  signatureKid: string;
};

/** The `typ` of a statement's signature, so that it never passes for an envelope (RFC 8725 section 3.11). */
export const statementType = "tvs-statement+jwt";

/** The beginning of each leaf of `rowsRoot`, so that no leaf of another tree passes for a row. */
export const statementRowPrefix = "tvs/v1/statement-row\n";

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

/** A webhook's body (contract C19): public identifiers and status words only. */
export type WebhookEvent = {
  eventId: string;
  eventType: EventType;
  occurredAt: string;
  data: {
    tId: number | null;
    regNo: string | null;
    licenseStatus: LicenseStatus;
    certificateStatus: CertificateStatus;
    previousStatus: LicenseStatus | CertificateStatus;
  };
};
