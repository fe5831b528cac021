import type { CalendarDate } from "./clock.ts";
import type { ImportIssue, RejectionCode, WarningCode } from "./import-codes.ts";
import { fieldLabel, type ImportField, type RawRow } from "./import-fields.ts";
import type { TeacherPatch } from "./import-rows.ts";
import type { StoredTeacher, TeacherContent } from "./register.ts";

const newTeacher: Omit<TeacherContent, "regNo" | "name" | "source" | "certificateStatus"> = {
  tId: null,
  ninIndex: null,
  ninVerified: false,
  emailIndex: null,
  phoneIndex: null,
  state: null,
  category: null,
  active: true,
  certificateIssueDate: null,
  licenseIssueDate: null,
  licenseExpiryDate: null,
  licenseRevokedOn: null,
  licenseRevokedReason: null,
  photoUrl: null,
  profile: null,
};

/** The record after a row. A NIN that changed is not verified, unless the row says so itself. */
export function applyPatch(before: StoredTeacher | null, patch: TeacherPatch): TeacherContent {
  const content = { ...(before === null ? newTeacher : contentOf(before)), ...patch } as TeacherContent;
  const ninChanged = before !== null && !sameBytes(before.ninIndex, content.ninIndex);
  return ninChanged && patch.ninVerified === undefined ? { ...content, ninVerified: false } : content;
}

function contentOf(teacher: StoredTeacher): TeacherContent {
  const {
    id: _id,
    version: _version,
    announcedStatus: _announced,
    updatedAt: _updated,
    ...content
  } = teacher;
  return content;
}

const contentFields = [
  "tId", "name", "ninVerified", "state", "category", "source", "active", "certificateStatus",
  "certificateIssueDate", "licenseIssueDate", "licenseExpiryDate", "licenseRevokedOn", "licenseRevokedReason",
  "photoUrl",
] as const satisfies (keyof TeacherContent)[]; // biome-ignore format: a table of names reads better in rows
const indexFields = ["ninIndex", "emailIndex", "phoneIndex"] as const satisfies (keyof TeacherContent)[];

/** The fields in which a record would change; none means that the row leaves it as it is. */
export function changedFields(before: StoredTeacher, content: TeacherContent): (keyof TeacherContent)[] {
  const changed: (keyof TeacherContent)[] = contentFields.filter((field) => before[field] !== content[field]);
  for (const field of indexFields) if (!sameBytes(before[field], content[field])) changed.push(field);
  if (JSON.stringify(before.profile) !== JSON.stringify(content.profile)) changed.push("profile");
  return changed;
}

function sameBytes(a: Uint8Array | null, b: Uint8Array | null): boolean {
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

/** What is to be said about the record that a row would make. */
export function checkContent(
  row: Pick<RawRow, "line" | "format">,
  { before, content, today }: { before: StoredTeacher | null; content: TeacherContent; today: CalendarDate },
): ImportIssue[] {
  const { licenseIssueDate: issued, licenseExpiryDate: expires, licenseRevokedOn: revoked } = content;
  const issues: ImportIssue[] = [];
  const add = (field: ImportField, code: RejectionCode | WarningCode) =>
    issues.push({ line: row.line, field: fieldLabel(field, row.format), code });
  if (issued !== null && expires !== null && expires < issued)
    add("licenseExpiryDate", "EXPIRY_BEFORE_ISSUE");
  if (issued !== null && expires === null) add("licenseExpiryDate", "LICENSE_WITHOUT_EXPIRY");
  if (revoked !== null && revoked > today) add("licenseRevokedOn", "REVOKED_IN_FUTURE");
  if (revoked === null && before !== null && before.licenseRevokedOn !== null)
    add("licenseRevokedOn", "REVOCATION_CLEARED");
  return issues;
}
