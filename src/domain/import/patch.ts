import { Buffer } from "node:buffer";
import type { CalendarDate } from "../clock.ts";
import type { StoredTeacher, TeacherContent } from "../teachers/teachers.ts";
import { contentFields, licenseStatusOn, teacherFields } from "../teachers/teachers.ts";
import { type ImportField, labelOfField, type RawRow } from "./fields.ts";
import type { ImportIssue, RejectionCode, WarningCode } from "./report.ts";
import type { LicenseStatusWord } from "./values.ts";

/** The values that a row sets; absent fields stay unchanged. Blind indexes are hex, because patches are stored as JSON. */
export type TeacherPatch = Partial<Omit<TeacherContent, IndexField>> &
  Partial<Record<IndexField, string | null>> &
  Pick<TeacherContent, "regNo"> & {
    /** {@link computeRowEffect} replaces this word with the revocation that the word sets or lifts. */
    readonly licenseStatus?: LicenseStatusWord;
  };

const indexFields = contentFields.filter(
  (field): field is IndexField => teacherFields[field].kind === "bytes",
);

type IndexField = {
  [F in keyof TeacherContent]: (typeof teacherFields)[F]["kind"] extends "bytes" ? F : never;
}[keyof TeacherContent];

/** Defaults of a new teacher. The row's values replace them. */
const newTeacher: Partial<TeacherContent> = {
  ...Object.fromEntries(
    contentFields.flatMap((field) => (teacherFields[field].nullable ? [[field, null]] : [])),
  ),
  ninVerified: false,
  active: true,
  hidden: false,
};

/** Effect of importing a row. `before` is the teacher's record, null for a new teacher; `content` is the new record. */
export type RowEffect = {
  readonly patch: TeacherPatch;
  /** `patch` without `licenseStatus`, and with the revocation that this word sets or lifts. */
  readonly set: TeacherPatch;
  readonly before: StoredTeacher | null;
  readonly content: TeacherContent;
  /** The fields whose value changes; null for a new teacher. */
  readonly changed: readonly (keyof TeacherContent)[] | null;
};

/**
 * Computes a teacher's record after the import of a row. A changed NIN becomes unverified, unless the row says that the
 * NIN is verified. An operator's revocation stays unless `liftRevocations` is set. A hidden teacher stays hidden.
 */
export function computeRowEffect(
  before: StoredTeacher | null,
  patch: TeacherPatch,
  { liftRevocations, today }: { liftRevocations: boolean; today: CalendarDate },
): RowEffect {
  const set = withRevocationOf(before, patch, today);
  const indexes: Partial<Record<IndexField, Uint8Array>> = {};
  for (const field of indexFields) {
    const hex = set[field];
    if (typeof hex === "string") indexes[field] = Uint8Array.fromHex(hex);
  }
  const content = { ...(before ?? newTeacher), ...set, ...indexes } as TeacherContent;
  const ninChanged = before !== null && !isSame(before.ninIndex, content.ninIndex);
  const ninVerified = ninChanged && set.ninVerified === undefined ? false : content.ninVerified;
  // Changes the copy in place, because a second copy would double the time of this function.
  const hidden = content.hidden || before?.hidden === true;
  Object.assign(content, { ninVerified, hidden }, revocationAfter(before, content, liftRevocations));
  const changed = before && contentFields.filter((field) => !isSame(before[field], content[field]));
  return { patch, set, before, content, changed };
}

export function changesNothing({ changed }: Pick<RowEffect, "changed">): boolean {
  return changed?.length === 0;
}

/** The reason that is stored if `license_status` says REVOKED and the row has no reason. */
const defaultReason = "extract";

/**
 * Replaces `licenseStatus` with a revocation. REVOKED without a date keeps the stored date; if none is stored, the
 * date is today. Another word lifts a revocation, unless the file has the column `license_revoked_on`, which decides.
 */
function withRevocationOf(before: StoredTeacher | null, patch: TeacherPatch, today: CalendarDate) {
  if (patch.licenseStatus === undefined) return patch;
  const { licenseStatus, ...set } = patch;
  const known = before?.licenseRevokedOn ?? null;
  if (licenseStatus !== "REVOKED") {
    if (set.licenseRevokedOn !== undefined || known === null) return set;
    return { ...set, licenseRevokedOn: null, licenseRevokedReason: set.licenseRevokedReason ?? null };
  }
  if (set.licenseRevokedOn != null) return set;
  const reason = known === null ? defaultReason : (before?.licenseRevokedReason ?? null);
  const licenseRevokedReason = set.licenseRevokedReason ?? reason;
  return { ...set, licenseRevokedOn: known ?? today, licenseRevokedReason };
}

type Revocation = Pick<TeacherContent, "licenseRevokedOn" | "licenseRevokedReason" | "licenseRevokedBy">;

/** Computes the revocation after the import of a row. `licenseRevokedBy` says who last set the revocation's date. */
function revocationAfter(
  before: StoredTeacher | null,
  { licenseRevokedOn, licenseRevokedReason }: TeacherContent,
  liftRevocations: boolean,
): Revocation {
  if (before?.licenseRevokedBy === "operator" && !liftRevocations) {
    const { licenseRevokedOn: on, licenseRevokedReason: reason } = before;
    return { licenseRevokedOn: on, licenseRevokedReason: reason, licenseRevokedBy: "operator" };
  }
  if (licenseRevokedOn === null) return { licenseRevokedOn, licenseRevokedReason, licenseRevokedBy: null };
  const isKnown = before !== null && before.licenseRevokedOn === licenseRevokedOn;
  const licenseRevokedBy = isKnown ? before.licenseRevokedBy : "extract";
  return { licenseRevokedOn, licenseRevokedReason, licenseRevokedBy };
}

/** Whether two values are equal. Profiles are compared as JSON: one schema gives their members the same order. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (one instanceof Uint8Array && other instanceof Uint8Array) return Buffer.compare(one, other) === 0;
  return JSON.stringify(one) === JSON.stringify(other);
}

export function findContentIssues(
  row: Pick<RawRow, "line" | "format">,
  { patch, set, before, content }: RowEffect,
  today: CalendarDate,
): ImportIssue[] {
  const { licenseIssueDate: issued, licenseExpiryDate: expires, licenseRevokedOn: revoked } = content;
  const issues: ImportIssue[] = [];
  const add = (field: ImportField, code: RejectionCode | WarningCode) =>
    issues.push({ line: row.line, field: labelOfField(field, row.format), code });
  if (issued !== null && expires !== null && expires < issued)
    add("licenseExpiryDate", "EXPIRY_BEFORE_ISSUE");
  if (issued !== null && expires === null) add("licenseExpiryDate", "LICENSE_WITHOUT_EXPIRY");
  const wrongDay = patch.licenseRevokedOn == null ? null : codeOfEarlyDay(patch.licenseRevokedOn, issued);
  if (wrongDay !== null) add("licenseRevokedOn", wrongDay);
  else if (revoked !== null && revoked > today) add("licenseRevokedOn", "REVOKED_IN_FUTURE");
  if (liftsRevocation({ before, content })) add("licenseRevokedOn", "REVOCATION_CLEARED");
  const kept = findKeptField(set, content);
  if (kept !== undefined) add(kept, "REVOCATION_KEPT");
  else if (differsFromDates(patch, content, today)) add("licenseStatus", "STATUS_DIFFERS");
  if (before !== null && !before.active && content.active) add("active", "REACTIVATED");
  return issues;
}

const firstRevocation = "1950-01-01";

/** Returns the code that rejects a too early revocation, or null. Other systems write such dates for "never". */
function codeOfEarlyDay(day: CalendarDate, issued: CalendarDate | null): RejectionCode | null {
  if (day < firstRevocation) return "REVOCATION_TOO_OLD";
  return issued !== null && day < issued ? "REVOKED_BEFORE_ISSUE" : null;
}

/** Whether `licenseStatus` contradicts the licence's dates. Deactivation is ignored. */
function differsFromDates({ licenseStatus }: TeacherPatch, content: TeacherContent, today: CalendarDate) {
  if (licenseStatus === undefined) return false;
  const byDates = licenseStatusOn({ ...content, active: true }, today);
  return licenseStatus !== (byDates === "NOT_FOUND" ? "NONE" : byDates);
}

/** Finds a field of the revocation that the row would change, but that keeps the value of the operator's revocation. */
function findKeptField(
  patch: TeacherPatch,
  content: TeacherContent,
): "licenseRevokedOn" | "licenseRevokedReason" | undefined {
  const fields = ["licenseRevokedOn", "licenseRevokedReason"] as const;
  return fields.find((field) => patch[field] !== undefined && patch[field] !== content[field]);
}

/** Whether a row lifts a revocation. A new date of revocation, even in the future, does not lift the revocation. */
export function liftsRevocation({ before, content }: Pick<RowEffect, "before" | "content">): boolean {
  return before !== null && before.licenseRevokedOn !== null && content.licenseRevokedOn === null;
}
