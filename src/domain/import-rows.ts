import type { BlindIndex } from "./blind-index.ts";
import type { CalendarDate } from "./clock.ts";
import { type ImportIssue, isRejection, type RejectionCode, type WarningCode } from "./import-codes.ts";
import { fieldLabel, type ImportField, importFields, type RawRow, requiredFields } from "./import-fields.ts";
import { readProfile } from "./import-profile.ts";
import {
  isFailedFormula,
  type Read,
  readBoolean,
  readCertificateStatus,
  readDate,
  readEmail,
  readNin,
  readPhone,
  readPhotoUrl,
  readSource,
  readText,
  readTId,
} from "./import-values.ts";
import type { StoredTeacher, TeacherContent } from "./register.ts";
import { canonicalRegNo } from "./teachers.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** What a row sets; a field that is absent stays as it is. No raw NIN, e-mail address or phone number. */
export type TeacherPatch = Partial<TeacherContent> & Pick<TeacherContent, "regNo">;

/** A row that was read: what it sets, or null when it is rejected, and what is to be said about it. */
export type CheckedRow = { readonly patch: TeacherPatch | null; readonly issues: readonly ImportIssue[] };

const maxLengths = { name: 200, state: 100, category: 100, licenseRevokedReason: 500 } as const;

/**
 * Checks one row by itself, every field of it, so that an operator can mend all faults at once.
 * Contacts are a convenience: one that cannot be read is left out with a warning. Everything else rejects.
 */
export function checkRow(row: RawRow, blindIndex: BlindIndex): CheckedRow {
  const issues: ImportIssue[] = [];
  const add = (field: ImportField | "profile" | null, code: RejectionCode | WarningCode) =>
    issues.push({ line: row.line, field: field === null ? null : fieldLabel(field, row.format), code });
  if (row.fault !== undefined) {
    add(row.fault.field, row.fault.code);
    return { patch: null, issues };
  }
  const cells = row.cells;
  const patch: Partial<Mutable<TeacherContent>> = {};
  for (const field of importFields) {
    const cell = cells[field];
    if (cell === undefined) continue;
    if (isFailedFormula(cell)) add(field, "SPREADSHEET_DAMAGE");
    else readField(patch, { field, cell, blindIndex, add });
  }
  for (const field of requiredFields) if (cells[field] === undefined) add(field, missing[field]);
  if (row.profile !== undefined)
    take(
      readProfile(row.profile),
      (value) => (patch.profile = value),
      (code) => add("profile", code),
    );
  refuseOwnData(patch, cells, add);
  return { patch: issues.some(isRejection) ? null : (patch as TeacherPatch), issues };
}

const missing = {
  regNo: "REG_NO_INVALID",
  name: "NAME_MISSING",
  source: "SOURCE_INVALID",
  certificateStatus: "CERTIFICATE_STATUS_INVALID",
} as const;

type Adder = (field: ImportField, code: RejectionCode | WarningCode) => void;

function take<T>(
  read: Read<T>,
  accept: (value: T) => void,
  refuse: (code: RejectionCode | WarningCode) => void,
): void {
  if ("code" in read) refuse(read.code);
  else accept(read.value);
}

function readField(
  patch: Partial<Mutable<TeacherContent>>,
  { field, cell, blindIndex, add }: { field: ImportField; cell: string; blindIndex: BlindIndex; add: Adder },
): void {
  const refuse = (code: RejectionCode | WarningCode) => add(field, code);
  switch (field) {
    case "regNo": {
      const regNo = canonicalRegNo(cell);
      if (regNo === null) refuse("REG_NO_INVALID");
      else patch.regNo = regNo;
      break;
    }
    case "tId":
      take(readTId(cell), (value) => (patch.tId = value), refuse);
      break;
    case "name":
      take(
        readText(cell, maxLengths.name),
        (value) => (value === null ? refuse("NAME_MISSING") : (patch.name = value)),
        refuse,
      );
      break;
    case "state":
    case "category":
    case "licenseRevokedReason":
      take(readText(cell, maxLengths[field]), (value) => (patch[field] = value), refuse);
      break;
    case "nin":
      take(readNin(cell), (nin) => (patch.ninIndex = nin === null ? null : blindIndex.nin(nin)), refuse);
      break;
    case "email":
      patch.emailIndex = null;
      take(
        readEmail(cell),
        (email) => (patch.emailIndex = email === null ? null : blindIndex.email(email)),
        refuse,
      );
      break;
    case "phone":
      patch.phoneIndex = null;
      take(
        readPhone(cell),
        (phone) => (patch.phoneIndex = phone === null ? null : blindIndex.phone(phone)),
        refuse,
      );
      break;
    case "photoUrl":
      patch.photoUrl = null;
      take(readPhotoUrl(cell), (url) => (patch.photoUrl = url), refuse);
      break;
    case "source":
      take(readSource(cell), (value) => (patch.source = value), refuse);
      break;
    case "certificateStatus":
      take(readCertificateStatus(cell), (value) => (patch.certificateStatus = value), refuse);
      break;
    case "ninVerified":
      take(readBoolean(cell), (value) => (patch.ninVerified = value ?? false), refuse);
      break;
    case "active":
      // Nobody is deactivated or reactivated by an empty cell: a known teacher stays as he is.
      take(readBoolean(cell), (value) => value !== null && (patch.active = value), refuse);
      break;
    default:
      take(readDate(cell), (value) => (patch[field] = value), refuse);
  }
}

/** A NIN, an address or a number of the same row must not stand in a column that is stored as it is. */
function refuseOwnData(
  patch: Partial<Mutable<TeacherContent>>,
  cells: Partial<Record<ImportField, string>>,
  add: Adder,
): void {
  const { nin = "", email = "", phone = "" } = cells;
  const own = [nin, email, phone.replace(/\D/g, "").slice(-10)].filter((text) => text.length >= 6);
  const holdsOwn = (text: string | null | undefined) =>
    text != null && own.some((value) => text.includes(value));
  if (holdsOwn(patch.regNo)) add("regNo", "PERSONAL_DATA");
  if (nin !== "" && String(patch.tId) === nin) add("tId", "PERSONAL_DATA");
  if (holdsOwn(patch.photoUrl)) {
    patch.photoUrl = null;
    add("photoUrl", "PHOTO_URL_INVALID");
  }
}

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
