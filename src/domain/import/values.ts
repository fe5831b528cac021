import * as v from "valibot";
import { certificateStatuses, teacherSources } from "../../partner/contract.ts";
import { isCalendarDate } from "../clock.ts";
import { holdsPersonalData } from "../personal-data.ts";
import { hasHiddenCharacter } from "../plain-text.ts";
import { canonicalizePhone, ninPattern } from "../teachers/search-term.ts";
import { canonicalizeRegNo, maxTeacherId, type Teacher } from "../teachers/teachers.ts";
import { normalizeName } from "./fields.ts";
import type { RejectionCode, WarningCode } from "./report.ts";

export type ParseResult<T, Code = RejectionCode | WarningCode> =
  | { readonly value: T }
  | { readonly code: Code };

/** Matches a number that a spreadsheet rewrote: 2.3E+10, 12345678901.0, 1,234,567, or with a leading apostrophe. */
const damagedNumber = /^[+-]?\d+([.,]\d+)?e[+-]?\d+$|^\d+[.,]0+$|^\d{1,3}([.,]\d{3})+$|^'\d/i;
/** Matches what a spreadsheet writes for a failed formula (#REF!) or a number wider than its column (###). */
const failedFormula = /^#(REF!|N\/A|VALUE!|NAME\?|DIV\/0!|NUM!|NULL!|SPILL!|CALC!)$|^#{3,}$/i;
/** Matches a date as a spreadsheet's number of days since 1900. */
const serialDate = /^\d{5}([.,]\d+)?$/;

/** Matches white space except the byte order mark, which `readText` refuses as a hidden character. */
const whiteSpace = /(?:(?!\ufeff)\s)+/gu;
const plainText = /^[\x20-\x7e]*$/;

export function isFailedFormula(cell: string): boolean {
  return cell.startsWith("#") && failedFormula.test(cell);
}

const maxGaps = 1000;

/** Reads a text, with each run of white space as one space. @param maxLength the maximum number of characters */
export function readText(cell: string, maxLength: number): ParseResult<string | null> {
  // Bounds the input of normalize(), whose time is quadratic in combining marks. NFC joins at most four characters.
  if (cell.length > 4 * maxLength + maxGaps) return { code: "TEXT_TOO_LONG" };
  const text =
    plainText.test(cell) && !cell.includes("  ") ? cell : cell.normalize("NFC").replace(whiteSpace, " ");
  if (text === "") return { value: null };
  if (!plainText.test(text) && hasHiddenCharacter(text)) return { code: "TEXT_INVALID" };
  if (text.length > maxLength) return { code: "TEXT_TOO_LONG" };
  return holdsPersonalData(text) ? { code: "PERSONAL_DATA" } : { value: text };
}

export function readRegNo(cell: string): ParseResult<string, RejectionCode> {
  const regNo = canonicalizeRegNo(cell);
  // Nobody could find the teacher by a number with an @, which a search reads as an e-mail address.
  if (regNo?.includes("@")) return { code: "PERSONAL_DATA" };
  return regNo === null ? { code: "REG_NO_INVALID" } : { value: regNo };
}

export function readTeacherId(cell: string): ParseResult<number | null, RejectionCode> {
  if (cell === "") return { value: null };
  if (damagedNumber.test(cell)) return { code: "SPREADSHEET_DAMAGE" };
  const tId = Number(cell);
  return /^\d+$/.test(cell) && tId > 0 && tId <= maxTeacherId ? { value: tId } : { code: "T_ID_INVALID" };
}

export function readNin(cell: string): ParseResult<string | null, RejectionCode> {
  if (cell === "") return { value: null };
  if (ninPattern.test(cell)) return { value: cell };
  return { code: damagedNumber.test(cell) ? "SPREADSHEET_DAMAGE" : "NIN_INVALID" };
}

export function readDate(cell: string): ParseResult<string | null> {
  if (cell === "") return { value: null };
  if (isCalendarDate(cell)) return { value: cell };
  return { code: serialDate.test(cell) || damagedNumber.test(cell) ? "SPREADSHEET_DAMAGE" : "DATE_INVALID" };
}

const yes = ["true", "1", "yes", "y"];
const no = ["false", "0", "no", "n"];

export function readBoolean(cell: string): ParseResult<boolean> {
  const word = cell.toLowerCase();
  if (yes.includes(word)) return { value: true };
  return no.includes(word) ? { value: false } : { code: "BOOLEAN_INVALID" };
}

/** Creates a reader of fixed words that ignores case and spaces, so that `New System` means `new_system`. */
function wordReader<T extends string>(
  values: readonly T[],
  code: RejectionCode,
): (cell: string) => ParseResult<T> {
  const words = new Map(
    values.flatMap((value) => [[value, value] as const, [normalizeName(value), value] as const]),
  );
  return (cell) => {
    const value = words.get(cell as T) ?? words.get(normalizeName(cell));
    return value === undefined ? { code } : { value };
  };
}

/** The words of `license_status`. NONE means that the teacher has no licence. */
export const licenseStatusWords = ["REVOKED", "EXPIRED", "NONE", "VALID"] as const;
export type LicenseStatusWord = (typeof licenseStatusWords)[number];

export const readSource = wordReader(teacherSources, "SOURCE_INVALID");
export const readCertificateStatus = wordReader(certificateStatuses, "CERTIFICATE_STATUS_INVALID");
export const readLicenseStatus = wordReader(licenseStatusWords, "LICENSE_STATUS_INVALID");

export function readEmail(cell: string): ParseResult<string | null> {
  if (cell === "") return { value: null };
  const readable =
    cell.length <= 254 && !hasHiddenCharacter(cell) && /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(cell);
  return readable ? { value: cell } : { code: "EMAIL_INVALID" };
}

/** Reads a phone number. @returns the number in the E.164 format */
export function readPhone(cell: string): ParseResult<string | null> {
  if (cell === "") return { value: null };
  const phone = damagedNumber.test(cell) ? null : canonicalizePhone(cell);
  return phone === null ? { code: "PHONE_INVALID" } : { value: phone };
}

const maxUrlLength = 2000;

export function readPhotoUrl(cell: string): ParseResult<string | null> {
  if (cell === "") return { value: null };
  const url = cell.length <= maxUrlLength && URL.canParse(cell) ? new URL(cell) : null;
  // Refuses an @: the URL would contain a user name and password, or an e-mail address.
  return url?.protocol === "https:" && url.href.length <= maxUrlLength && !url.href.includes("@")
    ? { value: url.href }
    : { code: "PHOTO_URL_INVALID" };
}

const maxEntries = 100;
const maxTextLength = 200;

const line = v.pipe(
  v.string(),
  v.trim(),
  v.nonEmpty(),
  v.check((text) => "value" in readText(text, maxTextLength)),
);
const optionalLine = v.optional(v.nullable(line), null);
/** A year, a month or a day: YYYY, YYYY-MM or YYYY-MM-DD. */
const moment = v.pipe(
  v.string(),
  v.check((text) => /^\d{4}$/.test(text) || isCalendarDate(`${text}-01`) || isCalendarDate(text)),
);
const optionalMoment = v.optional(v.nullable(moment), null);
const year = v.pipe(v.number(), v.integer(), v.minValue(1900), v.maxValue(2100));

const schema = v.object({
  qualifications: v.optional(
    v.pipe(
      v.array(v.object({ title: line, institution: optionalLine, year: v.optional(v.nullable(year), null) })),
      v.maxLength(maxEntries),
    ),
    [],
  ),
  employment: v.optional(
    v.pipe(
      v.array(v.object({ employer: line, role: optionalLine, from: optionalMoment, to: optionalMoment })),
      v.maxLength(maxEntries),
    ),
    [],
  ),
});

/**
 * Reads a profile: `{qualifications: [{title, institution, year}], employment: [{employer, role, from, to}]}`.
 * Drops unknown members. The value null clears the profile.
 */
export function readProfile(value: unknown): ParseResult<Teacher["profile"]> {
  if (value === null) return { value: null };
  // Refuses an array: valibot would accept it as an object without members, which would empty the profile.
  if (Array.isArray(value)) return { code: "PROFILE_INVALID" };
  const parsed = v.safeParse(schema, value);
  return parsed.success ? { value: parsed.output } : { code: "PROFILE_INVALID" };
}
