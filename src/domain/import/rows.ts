import type { BlindIndex } from "../blind-index.ts";
import { digitsOf, holdsPersonalData } from "../personal-data.ts";
import { canonicalRegNo } from "../teachers/teachers.ts";
import { columns } from "./columns.ts";
import { fieldLabel, type ImportField, importFields, type RawRow, recordFieldOf } from "./fields.ts";
import type { TeacherPatch } from "./patch.ts";
import { type ImportIssue, isRejection, type RejectionCode, type WarningCode } from "./report.ts";
import { suspectIn } from "./suspect-text.ts";
import { isFailedFormula, readProfile } from "./values.ts";

/** A patch that is still being read. */
type OpenPatch = { -readonly [F in keyof TeacherPatch]?: TeacherPatch[F] };

/** A row that was read and checked by itself: what it sets, or null when it is rejected, and what is to be said about it. */
export type CheckedRow = {
  readonly line: number;
  readonly patch: TeacherPatch | null;
  readonly issues: readonly ImportIssue[];
};

/** All that is known of a field, looked up once and not in each of a million rows. */
const fieldReaders = importFields.map((field) => ({
  field,
  patchField: field === "licenseStatus" ? field : recordFieldOf[field],
  ...columns[field],
}));
/** What is shown as it stands: a placeholder or a damaged letter there is seen by everybody. */
const textFields: ReadonlySet<ImportField> = new Set(["name", "state", "category", "licenseRevokedReason"]);
const spreadsheetDamage = { code: "SPREADSHEET_DAMAGE" } as const;

/**
 * Checks one row by itself, every field of it, so that an operator can correct all faults at once.
 * Contacts and photos are a convenience: what cannot be read of them is left out with a warning. Everything
 * else rejects the row.
 */
export function checkRow(row: RawRow, blindIndex: BlindIndex): CheckedRow {
  const issues: ImportIssue[] = [];
  const add = (field: ImportField | "profile" | null, code: RejectionCode | WarningCode) =>
    issues.push({ line: row.line, field: field === null ? null : fieldLabel(field, row.format), code });
  if (row.fault !== undefined) {
    add(row.fault.field, row.fault.code);
    return { line: row.line, patch: null, issues: identified(issues, row, blindIndex) };
  }
  const { cells } = row;
  const patch: OpenPatch = {};
  for (const { field, patchField, isConvenience = false, read: readCell } of fieldReaders) {
    const cell = cells[field];
    if (cell === undefined) continue;
    const read = !isConvenience && isFailedFormula(cell) ? spreadsheetDamage : readCell(cell, blindIndex);
    if ("code" in read) add(field, read.code);
    else if (textFields.has(field) && suspectIn(cell) !== null) add(field, "TEXT_SUSPECT");
    const value = "value" in read ? read.value : isConvenience ? null : undefined;
    if (value !== undefined) (patch as Record<string, unknown>)[patchField] = value;
  }
  for (const { field, absent } of fieldReaders)
    if (absent !== undefined && cells[field] === undefined) add(field, absent);
  const profile = row.profile === undefined ? null : readProfile(row.profile);
  if (profile !== null && "code" in profile) add("profile", profile.code);
  else if (profile !== null) patch.profile = profile.value;
  refuseOwnData(patch, cells, add);
  if (!issues.some(isRejection)) return { line: row.line, patch: patch as TeacherPatch, issues };
  return { line: row.line, patch: null, issues: identified(issues, row, blindIndex) };
}

/** A registration number as messages show it; undefined where it is none, or may be somebody's NIN or phone number. */
export function shownNumber(regNo: string | null): string | undefined {
  return regNo === null || regNo.includes("@") || holdsPersonalData(regNo) ? undefined : regNo;
}

/** The issues of a rejected row with its number, or, of a row without one, with a digest of all that it holds. */
function identified(
  issues: readonly ImportIssue[],
  { cells, fault, format }: RawRow,
  blindIndex: BlindIndex,
): ImportIssue[] {
  // A number with the row's own NIN or phone number in it is refused as PERSONAL_DATA, and not shown either.
  const isOwnData = issues.some(
    ({ field, code }) => code === "PERSONAL_DATA" && field === fieldLabel("regNo", format),
  );
  const regNo = isOwnData ? undefined : shownNumber(canonicalRegNo(cells.regNo ?? ""));
  const identity = regNo ?? blindIndex.row(fault?.text ?? JSON.stringify(cells)).toHex();
  return issues.map((issue) => ({ ...issue, ...(regNo === undefined ? {} : { regNo }), identity }));
}

/** A NIN, an address or a number of the same row must not stand in a column that is stored as it is. */
function refuseOwnData(
  patch: OpenPatch,
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
  if (String(patch.tId) === nin) add("tId", "PERSONAL_DATA");
  if (holdsOwn(patch.photoUrl)) {
    patch.photoUrl = null;
    add("photoUrl", "PHOTO_URL_INVALID");
  }
}
