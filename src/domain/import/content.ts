import type { CalendarDate } from "../clock.ts";
import type { StoredTeacher, TeacherContent } from "../teachers.ts";
import type { ImportIssue, RejectionCode, WarningCode } from "./codes.ts";
import { fieldLabel, type ImportField, type RawRow } from "./fields.ts";
import type { TeacherPatch } from "./rows.ts";

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
  licenseRevokedBy: null,
  photoUrl: null,
  profile: null,
};

/**
 * The record after a row. A NIN that changed is not verified, unless the row says so itself. A revocation that the
 * operator made stays as the command set it, unless revocations are to be lifted.
 */
export function applyPatch(
  before: StoredTeacher | null,
  patch: TeacherPatch,
  { liftRevocations }: { liftRevocations: boolean },
): TeacherContent {
  const content = { ...(before === null ? newTeacher : contentOf(before)), ...patch } as TeacherContent;
  const ninChanged = before !== null && !sameBytes(before.ninIndex, content.ninIndex);
  const ninVerified = ninChanged && patch.ninVerified === undefined ? false : content.ninVerified;
  return { ...content, ninVerified, ...revocationAfter(before, content, liftRevocations) };
}

type Revocation = Pick<TeacherContent, "licenseRevokedOn" | "licenseRevokedReason" | "licenseRevokedBy">;

/** A revocation is whoever's who set its date last. */
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
  "licenseRevokedBy", "photoUrl",
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

/** A row with the record that it names, as it is and as the row would make it. */
export type RowEffect = {
  readonly patch: TeacherPatch;
  readonly before: StoredTeacher | null;
  readonly content: TeacherContent;
};

/** What is to be said about the record that a row would make. */
export function checkContent(
  row: Pick<RawRow, "line" | "format">,
  { patch, before, content, today }: RowEffect & { today: CalendarDate },
): ImportIssue[] {
  const { licenseIssueDate: issued, licenseExpiryDate: expires, licenseRevokedOn: revoked } = content;
  const issues: ImportIssue[] = [];
  const add = (field: ImportField, code: RejectionCode | WarningCode) =>
    issues.push({ line: row.line, field: fieldLabel(field, row.format), code });
  if (issued !== null && expires !== null && expires < issued)
    add("licenseExpiryDate", "EXPIRY_BEFORE_ISSUE");
  if (issued !== null && expires === null) add("licenseExpiryDate", "LICENSE_WITHOUT_EXPIRY");
  if (revoked !== null && revoked > today) add("licenseRevokedOn", "REVOKED_IN_FUTURE");
  if (losesRevocation({ before, content })) add("licenseRevokedOn", "REVOCATION_CLEARED");
  const kept = keptFrom(patch, content);
  if (kept !== undefined) add(kept, "REVOCATION_KEPT");
  if (before !== null && !before.active && content.active) add("active", "REACTIVATED");
  return issues;
}

/** What the row says of a revocation and the record does not take over. */
function keptFrom(
  patch: TeacherPatch,
  content: TeacherContent,
): "licenseRevokedOn" | "licenseRevokedReason" | undefined {
  const fields = ["licenseRevokedOn", "licenseRevokedReason"] as const;
  return fields.find((field) => patch[field] !== undefined && patch[field] !== content[field]);
}

/** Whether the record's revocation would be gone; a date that is moved, into the future too, revokes all the same. */
export function losesRevocation({ before, content }: Pick<RowEffect, "before" | "content">): boolean {
  return before !== null && before.licenseRevokedOn !== null && content.licenseRevokedOn === null;
}
