import type { BlindIndex } from "../blind-index.ts";
import { digitsOf } from "../personal-data.ts";
import { canonicalRegNo, type TeacherContent } from "../teachers.ts";
import { type ImportIssue, isRejection, type RejectionCode, type WarningCode } from "./codes.ts";
import { fieldLabel, type ImportField, importFields, type RawRow, requiredFields } from "./fields.ts";
import { readProfile } from "./profile.ts";
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
} from "./values.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Draft = Partial<Mutable<TeacherContent>>;

/** What a row sets; a field that is absent stays as it is. No raw NIN, e-mail address or phone number. */
export type TeacherPatch = Partial<TeacherContent> & Pick<TeacherContent, "regNo">;

/** A row that was read: what it sets, or null when it is rejected, and what is to be said about it. */
export type CheckedRow = { readonly patch: TeacherPatch | null; readonly issues: readonly ImportIssue[] };

const maxLengths = { name: 200, state: 100, category: 100, licenseRevokedReason: 500 } as const;

/** An absent member of NDJSON; in CSV the header is looked at once, for the whole file. */
const missing = {
  regNo: "REG_NO_INVALID",
  name: "NAME_MISSING",
  source: "SOURCE_INVALID",
  certificateStatus: "CERTIFICATE_STATUS_INVALID",
} as const;

/** What becomes of a convenience that cannot be read: it is left out, and the row is applied. */
const leftOut: Readonly<Partial<Record<ImportField, Draft>>> = {
  email: { emailIndex: null },
  phone: { phoneIndex: null },
  photoUrl: { photoUrl: null },
};

/**
 * Checks one row by itself, every field of it, so that an operator can mend all faults at once.
 * Contacts and photos are a convenience: what cannot be read of them is left out with a warning. Everything
 * else rejects the row.
 */
export function checkRow(row: RawRow, blindIndex: BlindIndex): CheckedRow {
  const issues: ImportIssue[] = [];
  const add = (field: ImportField | "profile" | null, code: RejectionCode | WarningCode) =>
    issues.push({ line: row.line, field: field === null ? null : fieldLabel(field, row.format), code });
  if (row.fault !== undefined) {
    add(row.fault.field, row.fault.code);
    return { patch: null, issues };
  }
  const { cells } = row;
  const patch: Draft = {};
  for (const field of importFields) {
    const cell = cells[field];
    if (cell === undefined) continue;
    const read = readCell(field, cell, blindIndex);
    if ("value" in read) Object.assign(patch, read.value);
    else {
      add(field, read.code);
      Object.assign(patch, leftOut[field]);
    }
  }
  for (const field of requiredFields) if (cells[field] === undefined) add(field, missing[field]);
  const profile = row.profile === undefined ? null : readProfile(row.profile);
  if (profile !== null && "code" in profile) add("profile", profile.code);
  else if (profile !== null) patch.profile = profile.value;
  refuseOwnData(patch, cells, add);
  return { patch: issues.some(isRejection) ? null : (patch as TeacherPatch), issues };
}

/** What a cell sets, or why it cannot be read. */
function readCell(field: ImportField, cell: string, blindIndex: BlindIndex): Read<Draft> {
  if (isFailedFormula(cell) && leftOut[field] === undefined) return { code: "SPREADSHEET_DAMAGE" };
  switch (field) {
    case "regNo": {
      const regNo = canonicalRegNo(cell);
      // Whoever searches for a term with an @ looks for an address.
      if (regNo?.includes("@")) return { code: "PERSONAL_DATA" };
      return regNo === null ? { code: "REG_NO_INVALID" } : { value: { regNo } };
    }
    case "name":
      return cell === "" ? { code: "NAME_MISSING" } : setting(field, readText(cell, maxLengths.name));
    case "state":
    case "category":
    case "licenseRevokedReason":
      return setting(field, readText(cell, maxLengths[field]));
    case "tId":
      return setting(field, readTId(cell));
    case "source":
      return setting(field, readSource(cell));
    case "certificateStatus":
      return setting(field, readCertificateStatus(cell));
    case "photoUrl":
      return setting(field, readPhotoUrl(cell));
    case "nin":
      return setting("ninIndex", indexed(readNin(cell), blindIndex.nin));
    case "email":
      return setting("emailIndex", indexed(readEmail(cell), blindIndex.email));
    case "phone":
      return setting("phoneIndex", indexed(readPhone(cell), blindIndex.phone));
    case "ninVerified":
      return cell === "" ? { value: { ninVerified: false } } : setting(field, readBoolean(cell));
    case "active":
      // Nobody is deactivated or reactivated by an empty cell: a known teacher stays as they are.
      return cell === "" ? { value: {} } : setting(field, readBoolean(cell));
    default:
      return setting(field, readDate(cell));
  }
}

function setting(field: keyof TeacherContent, read: Read<unknown>): Read<Draft> {
  return "value" in read ? { value: { [field]: read.value } } : read;
}

function indexed(read: Read<string | null>, index: (value: string) => Uint8Array): Read<Uint8Array | null> {
  return "code" in read || read.value === null ? (read as Read<null>) : { value: index(read.value) };
}

/** A NIN, an address or a number of the same row must not stand in a column that is stored as it is. */
function refuseOwnData(
  patch: Draft,
  { nin = "", email = "", phone = "" }: RawRow["cells"],
  add: (field: ImportField, code: RejectionCode | WarningCode) => void,
): void {
  const numbers = [nin, digitsOf(phone).slice(-10)].filter((text) => text.length >= 6);
  const holdsOwn = (text: string | null | undefined) => {
    if (text == null) return false;
    const holdsAddress = email !== "" && text.toLowerCase().includes(email.toLowerCase());
    return holdsAddress || numbers.some((value) => digitsOf(text).includes(value));
  };
  if (holdsOwn(patch.regNo)) add("regNo", "PERSONAL_DATA");
  if (nin !== "" && String(patch.tId) === nin) add("tId", "PERSONAL_DATA");
  if (holdsOwn(patch.photoUrl)) {
    patch.photoUrl = null;
    add("photoUrl", "PHOTO_URL_INVALID");
  }
}
