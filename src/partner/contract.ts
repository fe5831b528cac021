/** The types and enumerations of the published contract: the values that partners send and receive. */

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

/** The reasons why `eligible` is false, in the order in which answers list them. A name never changes its meaning. */
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

/** A teacher's licence. Dates are `YYYY-MM-DD` in the service's time zone. */
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

/** The answer about one teacher (contract C10). If `found` is false, every nullable member is null. */
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

/** The result if the register has nobody with the requested identifier. */
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

/** A signed answer (contract C9). The claim `result` of `signature`, a compact JWS (RS256), is authoritative. */
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
  /** The row's number, from 1. */
  row: number;
  tId: number | null;
  regNo: string | null;
  eligible: boolean;
  status: LicenseStatus;
  reasons: Reason[];
  /** Whether the listed name may be the registered teacher's; null if no name was listed or nobody was found. */
  nameMatches: boolean | null;
};

/** The name and the reference that the partner gave its list. */
export type ListLabel = { name: string; reference: string | null };

/**
 * Counts for a statement. `listed` is the number of rows. `distinct` is the number of different people: a person listed
 * twice counts once, and so does an identifier that finds nobody. All members below it count people, not rows.
 */
export type StatementSummary = {
  listed: number;
  distinct: number;
  found: number;
  eligible: number;
  /** `eligible` as a percentage of `distinct`, rounded down to one decimal place. */
  percentEligible: number;
  byReason: Partial<Record<Reason, number>>;
};

/** One signed answer for a whole list. `signature` covers the rows by the root of a Merkle tree over them. */
export type SignedStatement = {
  statementId: string;
  issuedAt: string;
  issuer: string;
  audience: string;
  purpose: Purpose;
  policyVersion: string;
  list: ListLabel;
  summary: StatementSummary;
  rows: StatementRow[];
  signature: string;
  signatureKid: string;
};

/** The `typ` of a statement's JWS, so that no verifier accepts it as an envelope (RFC 8725 section 3.11). */
export const statementType = "tvs-statement+jwt";

/** The first line of each leaf below `rowsRoot`, so that no leaf of another Merkle tree is accepted as a row. */
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

/** The body of a webhook delivery (contract C19). It has only public identifiers and statuses. */
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
