import type { BlindIndex } from "../blind-index.ts";
import { asciiDigitsOf, holdsPersonalData } from "../personal-data.ts";
import { canonicalizeRegNo } from "../teachers/teachers.ts";
import type { ImportField, RawRow } from "./fields.ts";
import { columnOfField, importFields, labelOfField, recordFieldOf } from "./fields.ts";
import type { TeacherPatch } from "./patch.ts";
import { type ImportIssue, isRejection, type RejectionCode, type WarningCode } from "./report.ts";
import { findDamage } from "./suspect-text.ts";
import * as values from "./values.ts";

type Column = {
  /** Reads a cell. The value undefined leaves the teacher's field unchanged. */
  readonly read: (cell: string, blindIndex: BlindIndex) => values.ParseResult<unknown>;
  /** Explains the column to people who prepare an extract. */
  readonly explanation: string;
  /** The code that rejects a row without this column. An optional field has none. */
  readonly absent?: RejectionCode;
  /** Whether an unreadable value clears the field with a warning, instead of rejecting the row. */
  readonly isConvenience?: boolean;
};

// biome-ignore format: a table reads better in rows
const importColumns: Readonly<Record<ImportField, Column>> = {
  regNo: { read: values.readRegNo, absent: "REG_NO_INVALID", explanation: "registration number of four segments, A/B/C/D; it names the teacher for ever" },
  tId: { read: values.readTeacherId, explanation: "teacher id: a whole number, nobody else's" },
  name: { read: (cell) => (cell === "" ? { code: "NAME_MISSING" } : values.readText(cell, 200)), absent: "NAME_MISSING", explanation: "the whole name, up to 200 characters" },
  nin: { read: (cell, blindIndex) => toBlindIndex(values.readNin(cell), blindIndex.nin), explanation: "NIN: exactly 11 digits, as text; only a keyed hash is kept" },
  ninVerified: { read: (cell) => (cell === "" ? { value: false } : values.readBoolean(cell)), explanation: "whether the NIN was verified: true or false; empty is false" },
  email: { read: (cell, blindIndex) => toBlindIndex(values.readEmail(cell), blindIndex.email), isConvenience: true, explanation: "e-mail address; only a keyed hash is kept" },
  phone: { read: (cell, blindIndex) => toBlindIndex(values.readPhone(cell), blindIndex.phone), isConvenience: true, explanation: "phone number, 0803... or +234...; only a keyed hash is kept" },
  state: { read: (cell) => values.readText(cell, 100), explanation: "state, up to 100 characters" },
  category: { read: (cell) => values.readText(cell, 100), explanation: "category, up to 100 characters; the policy may ask for it" },
  source: { read: values.readSource, absent: "SOURCE_INVALID", explanation: "new_system or legacy: the system that the record comes from" },
  // An empty cell neither deactivates nor reactivates a teacher.
  active: { read: (cell) => (cell === "" ? { value: undefined } : values.readBoolean(cell)), explanation: "true or false; a teacher who is not active is found, but has no licence" },
  hidden: { read: (cell) => (cell === "" ? { value: undefined } : values.readBoolean(cell)), explanation: "true hides the teacher from everybody but the operator; false and empty change nothing" },
  certificateStatus: { read: values.readCertificateStatus, absent: "CERTIFICATE_STATUS_INVALID", explanation: "VERIFIED, CLAIMED, LEGACY_RECORD or NOT_FOUND" },
  certificateIssueDate: { read: values.readDate, explanation: "date, YYYY-MM-DD" },
  licenseIssueDate: { read: values.readDate, explanation: "first day of the licence, YYYY-MM-DD" },
  licenseExpiryDate: { read: values.readDate, explanation: "last day of the licence, YYYY-MM-DD; without it there is no licence" },
  // After an empty cell, only the dates decide the licence's status.
  licenseStatus: { read: (cell) => (cell === "" ? { value: undefined } : values.readLicenseStatus(cell)), explanation: "REVOKED, EXPIRED, NONE or VALID; REVOKED without license_revoked_on revokes as of the day of the import, the others are compared with the dates" },
  licenseRevokedOn: { read: values.readDate, explanation: "day of a revocation, YYYY-MM-DD; empty lifts one that an extract brought" },
  licenseRevokedReason: { read: (cell) => values.readText(cell, 500), explanation: "why it was revoked, up to 500 characters, without personal data" },
  photoUrl: { read: values.readPhotoUrl, isConvenience: true, explanation: "https address of a photo" },
};

function toBlindIndex(read: values.ParseResult<string | null>, index: (value: string) => Uint8Array) {
  return "code" in read || read.value === null ? read : { value: index(read.value).toHex() };
}

export const requiredFields = importFields.filter((field) => importColumns[field].absent !== undefined);

/** All columns of an extract, with explanations. `member` is the column's name in NDJSON. */
export const templateColumns = importFields.map((member) => ({
  column: columnOfField[member],
  member,
  required: requiredFields.includes(member),
  explanation: importColumns[member].explanation,
}));

export const csvHeaderLine = `${templateColumns.map(({ column }) => column).join(",")}\n`;

type OpenPatch = { -readonly [F in keyof TeacherPatch]?: TeacherPatch[F] };

export type CheckedRow = {
  readonly line: number;
  /** The values that the row sets; null for a rejected row. */
  readonly patch: TeacherPatch | null;
  readonly issues: readonly ImportIssue[];
};

/** The fields with their readers, as an array through which `checkRow` goes for every row. */
const fieldReaders = importFields.map((field) => ({
  field,
  patchField: field === "licenseStatus" ? field : recordFieldOf[field],
  ...importColumns[field],
}));
/** Fields whose text the public lookup or the history shows. A damaged text in one of these fields gets a warning. */
const textFields: ReadonlySet<ImportField> = new Set(["name", "state", "category", "licenseRevokedReason"]);
const spreadsheetDamage = { code: "SPREADSHEET_DAMAGE" } as const;

/**
 * Checks every field of a row and reports all faults, so that the operator can correct them together. An unreadable
 * contact or photo is dropped with a warning; any other fault rejects the row.
 */
export function checkRow(row: RawRow, blindIndex: BlindIndex): CheckedRow {
  const issues: ImportIssue[] = [];
  const add = (field: ImportField | "profile" | null, code: RejectionCode | WarningCode) =>
    issues.push({ line: row.line, field: field === null ? null : labelOfField(field, row.format), code });
  if (row.fault !== undefined) {
    add(row.fault.field, row.fault.code);
    return { line: row.line, patch: null, issues: addIdentity(issues, row, blindIndex) };
  }
  const { cells } = row;
  const patch: OpenPatch = {};
  for (const { field, patchField, isConvenience = false, read: readCell } of fieldReaders) {
    const cell = cells[field];
    if (cell === undefined) continue;
    const read =
      !isConvenience && values.isFailedFormula(cell) ? spreadsheetDamage : readCell(cell, blindIndex);
    if ("code" in read) add(field, read.code);
    else if (textFields.has(field) && findDamage(cell) !== null) add(field, "TEXT_SUSPECT");
    const value = "value" in read ? read.value : isConvenience ? null : undefined;
    if (value !== undefined) (patch as Record<string, unknown>)[patchField] = value;
  }
  for (const { field, absent } of fieldReaders)
    if (absent !== undefined && cells[field] === undefined) add(field, absent);
  const profile = row.profile === undefined ? null : values.readProfile(row.profile);
  if (profile !== null && "code" in profile) add("profile", profile.code);
  else if (profile !== null) patch.profile = profile.value;
  refuseOwnData(patch, cells, add);
  if (!issues.some(isRejection)) return { line: row.line, patch: patch as TeacherPatch, issues };
  return { line: row.line, patch: null, issues: addIdentity(issues, row, blindIndex) };
}

/** Returns a registration number for messages, or undefined if it may contain personal data. */
export function redactRegNo(regNo: string | null): string | undefined {
  return regNo === null || regNo.includes("@") || holdsPersonalData(regNo) ? undefined : regNo;
}

/** Adds a rejected row's registration number, or else a keyed digest of the row's cells, to the row's issues. */
function addIdentity(
  issues: readonly ImportIssue[],
  { cells, fault, format }: RawRow,
  blindIndex: BlindIndex,
): ImportIssue[] {
  // A registration number that contains the row's own NIN or phone number has the code PERSONAL_DATA and is not shown.
  const isOwnData = issues.some(
    ({ field, code }) => code === "PERSONAL_DATA" && field === labelOfField("regNo", format),
  );
  const regNo = isOwnData ? undefined : redactRegNo(canonicalizeRegNo(cells.regNo ?? ""));
  const identity = regNo ?? blindIndex.row(fault?.text ?? JSON.stringify(cells)).toHex();
  return issues.map((issue) => ({ ...issue, ...(regNo === undefined ? {} : { regNo }), identity }));
}

/** Refuses an identifier or photo that contains the row's own NIN, e-mail address or phone number. */
function refuseOwnData(
  patch: OpenPatch,
  { nin = "", email = "", phone = "" }: RawRow["cells"],
  add: (field: ImportField, code: RejectionCode | WarningCode) => void,
): void {
  const numbers = [nin, asciiDigitsOf(phone).slice(-10)].filter((text) => text.length >= 6);
  const holdsOwn = (text: string | null | undefined) => {
    if (text == null) return false;
    const holdsAddress = email !== "" && text.toLowerCase().includes(email.toLowerCase());
    return holdsAddress || numbers.some((value) => asciiDigitsOf(text).includes(value));
  };
  if (holdsOwn(patch.regNo)) add("regNo", "PERSONAL_DATA");
  if (String(patch.tId) === nin) add("tId", "PERSONAL_DATA");
  if (holdsOwn(patch.photoUrl)) {
    patch.photoUrl = null;
    add("photoUrl", "PHOTO_URL_INVALID");
  }
}
