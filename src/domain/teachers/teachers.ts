import type {
  Certificate,
  CertificateStatus,
  License,
  LicenseStatus,
  Profile,
  TeacherSource,
} from "../../partner/contract.ts";
import { maxRegNoCharacters, normalizeRegNo } from "../../partner/reg-no.ts";
import type { CalendarDate } from "../clock.ts";
import { daysBetween } from "../clock.ts";
import { hasHiddenCharacter } from "../plain-text.ts";

type Values = { text: string; integer: number; flag: boolean; bytes: Uint8Array; json: object };

type Field = {
  readonly column: string;
  readonly kind: keyof Values;
  readonly nullable: boolean;
  /** Whether lookups read the field. The other fields are read only by writers. */
  readonly inLookups: boolean;
  /** Whether imports and commands set the field. The program computes the other fields. */
  readonly isContent: boolean;
  /** The field's CSV column. A blind index has the column of the text from which the index is made. */
  readonly csv: string | null;
};

/** All fields of a record. From this table come the types, database columns, readers, writers and extracts' columns. */
// biome-ignore format: a table reads better in rows
export const teacherFields = {
  id: { column: "id", kind: "integer", nullable: false, inLookups: true, isContent: false, csv: null },
  // Grows with every write of the record. An answer is committed only if the version that was read is still current.
  version: { column: "version", kind: "integer", nullable: false, inLookups: true, isContent: false, csv: null },
  regNo: { column: "reg_no", kind: "text", nullable: false, inLookups: true, isContent: true, csv: "reg_no" },
  tId: { column: "t_id", kind: "integer", nullable: true, inLookups: true, isContent: true, csv: "t_id" },
  name: { column: "name", kind: "text", nullable: false, inLookups: true, isContent: true, csv: "name" },
  ninIndex: { column: "nin_index", kind: "bytes", nullable: true, inLookups: false, isContent: true, csv: "nin" },
  ninVerified: { column: "nin_verified", kind: "flag", nullable: false, inLookups: true, isContent: true, csv: "nin_verified" },
  emailIndex: { column: "email_index", kind: "bytes", nullable: true, inLookups: false, isContent: true, csv: "email" },
  phoneIndex: { column: "phone_index", kind: "bytes", nullable: true, inLookups: false, isContent: true, csv: "phone" },
  state: { column: "state", kind: "text", nullable: true, inLookups: true, isContent: true, csv: "state" },
  category: { column: "category", kind: "text", nullable: true, inLookups: true, isContent: true, csv: "category" },
  source: { column: "source", kind: "text", nullable: false, inLookups: true, isContent: true, csv: "source" },
  active: { column: "active", kind: "flag", nullable: false, inLookups: true, isContent: true, csv: "active" },
  // Only the operator finds a hidden teacher.
  hidden: { column: "hidden", kind: "flag", nullable: false, inLookups: true, isContent: true, csv: "hidden" },
  certificateStatus: { column: "certificate_status", kind: "text", nullable: false, inLookups: true, isContent: true, csv: "certificate_status" },
  certificateIssueDate: { column: "certificate_issue_date", kind: "text", nullable: true, inLookups: true, isContent: true, csv: "certificate_issue_date" },
  licenseIssueDate: { column: "license_issue_date", kind: "text", nullable: true, inLookups: true, isContent: true, csv: "license_issue_date" },
  licenseExpiryDate: { column: "license_expiry_date", kind: "text", nullable: true, inLookups: true, isContent: true, csv: "license_expiry_date" },
  licenseRevokedOn: { column: "license_revoked_on", kind: "text", nullable: true, inLookups: true, isContent: true, csv: "license_revoked_on" },
  licenseRevokedReason: { column: "license_revoked_reason", kind: "text", nullable: true, inLookups: true, isContent: true, csv: "license_revoked_reason" },
  // Who revoked, the operator or an extract; null if the licence is not revoked.
  licenseRevokedBy: { column: "license_revoked_by", kind: "text", nullable: true, inLookups: false, isContent: true, csv: null },
  photoUrl: { column: "photo_url", kind: "text", nullable: true, inLookups: true, isContent: true, csv: "photo_url" },
  profile: { column: "profile", kind: "json", nullable: true, inLookups: true, isContent: true, csv: null },
  // The licence status that was announced to partners last.
  announcedStatus: { column: "announced_status", kind: "text", nullable: false, inLookups: true, isContent: false, csv: null },
  // Milliseconds since the epoch.
  updatedAt: { column: "updated_at", kind: "integer", nullable: false, inLookups: false, isContent: false, csv: null },
} as const satisfies Readonly<Record<string, Field>>;

type Fields = typeof teacherFields;

/** Fields whose type is narrower than the type of their kind. */
type Narrower = {
  source: TeacherSource;
  certificateStatus: CertificateStatus;
  licenseRevokedBy: "operator" | "extract";
  profile: Omit<Profile, "ninVerified">;
  announcedStatus: LicenseStatus;
};
type ValueOf<F extends keyof Fields> = F extends keyof Narrower ? Narrower[F] : Values[Fields[F]["kind"]];
type FieldsThat<Mark extends "inLookups" | "isContent"> = {
  [F in keyof Fields]: Fields[F][Mark] extends true ? F : never;
}[keyof Fields];

export type StoredTeacher = {
  readonly [F in keyof Fields]: ValueOf<F> | (Fields[F]["nullable"] extends true ? null : never);
};

/** A teacher's record for lookups, without the blind indexes of NIN, e-mail address and phone number. */
export type Teacher = Pick<StoredTeacher, FieldsThat<"inLookups">>;

export type TeacherContent = Pick<StoredTeacher, FieldsThat<"isContent">>;

export const contentFields = (Object.keys(teacherFields) as (keyof StoredTeacher)[]).filter(
  (field): field is keyof TeacherContent => teacherFields[field].isContent,
);

/** The key of a lookup. For a NIN, e-mail address or phone number `value` is a blind index. */
export type TeacherKey =
  | { readonly by: "regNo"; readonly value: string }
  | { readonly by: "tId"; readonly value: number }
  | { readonly by: "nin" | "email" | "phone"; readonly value: Uint8Array };

/** A key that at most one teacher has. */
export type UniqueKey =
  | Exclude<TeacherKey, { readonly by: "nin" | "email" | "phone" }>
  | { readonly by: "nin"; readonly value: Uint8Array };

/** A fact that an answer depends on: a record's version, or that no teacher has a key. The commit checks the fact. */
export type TeacherPrecondition = Pick<Teacher, "id" | "version"> | UniqueKey;

/** Converts a registration number to upper case without white space. @returns null unless it has four segments */
export function canonicalizeRegNo(text: string): string | null {
  if (text.length > maxRegNoCharacters) return null;
  const folded = normalizeRegNo(text);
  // Names may contain the joiners U+200C and U+200D, registration numbers may not.
  if (folded.length > 100 || /[\u200c\u200d]/.test(folded)) return null;
  const segments = folded.split("/");
  const wellFormed =
    segments.length === 4 && segments.every((segment) => segment !== "" && !hasHiddenCharacter(segment));
  return wellFormed ? folded : null;
}

/** The largest teacher id (`tId`). Larger JSON numbers lose digits. */
export const maxTeacherId = Number.MAX_SAFE_INTEGER;

type LicenseFields = Pick<
  Teacher,
  "active" | "hidden" | "licenseIssueDate" | "licenseExpiryDate" | "licenseRevokedOn"
>;

/** The licence status on a date. A licence is VALID up to and including its expiry date, and NOT_FOUND without one. */
export function licenseStatusOn(teacher: LicenseFields, today: CalendarDate): LicenseStatus {
  const { active, hidden, licenseIssueDate, licenseExpiryDate, licenseRevokedOn } = teacher;
  if (!active || hidden) return "NOT_FOUND";
  if (licenseRevokedOn !== null) return "REVOKED";
  if (licenseExpiryDate === null) return "NOT_FOUND";
  if (licenseIssueDate !== null && licenseIssueDate > today) return "NOT_FOUND";
  return licenseExpiryDate >= today ? "VALID" : "EXPIRED";
}

/** Whether the status is NOT_FOUND only because the licence's first day is still to come. */
export function licenseStartsLater(teacher: LicenseFields, today: CalendarDate): boolean {
  const isFound = teacher.active && !teacher.hidden && teacher.licenseExpiryDate !== null;
  return isFound && licenseStatusOn(teacher, today) === "NOT_FOUND";
}

export const noLicense = {
  status: "NOT_FOUND",
  ...{ issueDate: null, expiryDate: null, daysRemaining: null },
} as const;

/** Describes a licence for partners. A deactivated or hidden teacher's licence has no dates. */
export function describeLicenseOn(teacher: LicenseFields, today: CalendarDate): License {
  const status = licenseStatusOn(teacher, today);
  if (status === "NOT_FOUND" && !licenseStartsLater(teacher, today)) return noLicense;
  return {
    status,
    issueDate: teacher.licenseIssueDate,
    expiryDate: teacher.licenseExpiryDate,
    daysRemaining: daysRemaining(status, teacher.licenseExpiryDate, today),
  };
}

function daysRemaining(status: LicenseStatus, expiry: CalendarDate | null, today: CalendarDate) {
  if (expiry === null || (status !== "VALID" && status !== "EXPIRED")) return null;
  return Math.max(0, daysBetween(today, expiry));
}

export function certificateOf(teacher: Teacher): Certificate {
  return { status: teacher.certificateStatus, regNo: teacher.regNo, issueDate: teacher.certificateIssueDate };
}
