import { Buffer } from "node:buffer";
import * as v from "valibot";
import { certificateStatuses, sources } from "../../partner/contract.ts";
import { isCalendarDate } from "../clock.ts";
import { holdsPersonalData } from "../personal-data.ts";
import { hasHiddenCharacter } from "../plain-text.ts";
import { canonicalPhone, ninPattern } from "../teachers/search-term.ts";
import { canonicalRegNo, maxTId, type Teacher } from "../teachers/teachers.ts";
import { squeezed } from "./fields.ts";
import type { RejectionCode, WarningCode } from "./report.ts";

/** A cell's value, or why it is none. */
export type Read<T, Code = RejectionCode | WarningCode> = { readonly value: T } | { readonly code: Code };

/** What a spreadsheet makes of a long number: 2.3E+10, 12345678901.0, 1,234,567 or a leading apostrophe. */
const damagedNumber = /^[+-]?\d+([.,]\d+)?e[+-]?\d+$|^\d+[.,]0+$|^\d{1,3}([.,]\d{3})+$|^'\d/i;
/** What a spreadsheet writes where a formula failed or a column was too narrow. */
const failedFormula = /^#(REF!|N\/A|VALUE!|NAME\?|DIV\/0!|NUM!|NULL!|SPILL!|CALC!)$|^#{3,}$/i;
/** A date as the number of days since 1900, which is how a spreadsheet keeps it. */
const serialDate = /^\d{5}([.,]\d+)?$/;

/** White space, without the byte order mark, which shows nothing. */
const whiteSpace = /(?:(?!\ufeff)\s)+/gu;
const plainText = /^[\x20-\x7e]*$/;

export function isFailedFormula(cell: string): boolean {
  return cell.startsWith("#") && failedFormula.test(cell);
}

const maxGaps = 1000;

/** Text for people, on one line. @param maxLength in characters */
export function readText(cell: string, maxLength: number): Read<string | null> {
  // To normalise many marks takes the square of their number; four of them at most become one character.
  if (cell.length > 4 * maxLength + maxGaps) return { code: "TEXT_TOO_LONG" };
  const text =
    plainText.test(cell) && !cell.includes("  ") ? cell : cell.normalize("NFC").replace(whiteSpace, " ");
  if (text === "") return { value: null };
  if (!plainText.test(text) && hasHiddenCharacter(text)) return { code: "TEXT_INVALID" };
  if (text.length > maxLength) return { code: "TEXT_TOO_LONG" };
  return holdsPersonalData(text) ? { code: "PERSONAL_DATA" } : { value: text };
}

export function readRegNo(cell: string): Read<string, RejectionCode> {
  const regNo = canonicalRegNo(cell);
  // Whoever searches for a term with an @ looks for an address.
  if (regNo?.includes("@")) return { code: "PERSONAL_DATA" };
  return regNo === null ? { code: "REG_NO_INVALID" } : { value: regNo };
}

export function readTId(cell: string): Read<number | null, RejectionCode> {
  if (cell === "") return { value: null };
  if (damagedNumber.test(cell)) return { code: "SPREADSHEET_DAMAGE" };
  const tId = Number(cell);
  return /^\d+$/.test(cell) && tId > 0 && tId <= maxTId ? { value: tId } : { code: "T_ID_INVALID" };
}

export function readNin(cell: string): Read<string | null, RejectionCode> {
  if (cell === "") return { value: null };
  if (ninPattern.test(cell)) return { value: cell };
  return { code: damagedNumber.test(cell) ? "SPREADSHEET_DAMAGE" : "NIN_INVALID" };
}

/** Dates that were read already: an extract holds few of them, each many times. */
const knownDates = new Map<string, Read<string>>();
const maxKnownDates = 20_000;

export function readDate(cell: string): Read<string | null> {
  if (cell === "") return { value: null };
  const known = knownDates.get(cell);
  if (known !== undefined) return known;
  if (isCalendarDate(cell)) {
    // A text of its own: a part of the file's text would keep the whole of that in memory.
    const read = { value: Buffer.from(cell).toString() };
    if (knownDates.size < maxKnownDates) knownDates.set(read.value, read);
    return read;
  }
  return { code: serialDate.test(cell) || damagedNumber.test(cell) ? "SPREADSHEET_DAMAGE" : "DATE_INVALID" };
}

const yes = ["true", "1", "yes", "y"];
const no = ["false", "0", "no", "n"];

export function readBoolean(cell: string): Read<boolean> {
  const word = cell.toLowerCase();
  if (yes.includes(word)) return { value: true };
  return no.includes(word) ? { value: false } : { code: "BOOLEAN_INVALID" };
}

/** Reads words as people write them: `Verified`, `New System`. */
function wordReader<T extends string>(values: readonly T[], code: RejectionCode): (cell: string) => Read<T> {
  const words = new Map(
    values.flatMap((value) => [[value, value] as const, [squeezed(value), value] as const]),
  );
  return (cell) => {
    const value = words.get(cell as T) ?? words.get(squeezed(cell));
    return value === undefined ? { code } : { value };
  };
}

/** The words of `license_status`. NONE: there is no licence. */
export const licenseWords = ["REVOKED", "EXPIRED", "NONE", "VALID"] as const;
export type LicenseWord = (typeof licenseWords)[number];

export const readSource = wordReader(sources, "SOURCE_INVALID");
export const readCertificateStatus = wordReader(certificateStatuses, "CERTIFICATE_STATUS_INVALID");
export const readLicenseStatus = wordReader(licenseWords, "LICENSE_STATUS_INVALID");

export function readEmail(cell: string): Read<string | null> {
  if (cell === "") return { value: null };
  const readable =
    cell.length <= 254 && !hasHiddenCharacter(cell) && /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(cell);
  return readable ? { value: cell } : { code: "EMAIL_INVALID" };
}

/** @returns the number in E.164 form, the same that a search for it looks for */
export function readPhone(cell: string): Read<string | null> {
  if (cell === "") return { value: null };
  const phone = damagedNumber.test(cell) ? null : canonicalPhone(cell);
  return phone === null ? { code: "PHONE_INVALID" } : { value: phone };
}

const maxUrlLength = 2000;

export function readPhotoUrl(cell: string): Read<string | null> {
  if (cell === "") return { value: null };
  const url = cell.length <= maxUrlLength && URL.canParse(cell) ? new URL(cell) : null;
  // An @ parts a name and a password from the host, or is an e-mail address.
  return url?.protocol === "https:" && url.href.length <= maxUrlLength && !url.href.includes("@")
    ? { value: url.href }
    : { code: "PHOTO_URL_INVALID" };
}

const maxEntries = 100;
const maxTextLength = 200;

/** Text of the profile obeys the rules of every other text: one line, undamaged, nothing personal. */
const line = v.pipe(
  v.string(),
  v.trim(),
  v.nonEmpty(),
  v.check((text) => "value" in readText(text, maxTextLength)),
);
const optionalLine = v.optional(v.nullable(line), null);
/** A year, a month or a day: that is how precisely people remember where they worked. */
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
 * Unknown members are dropped; null clears the profile.
 */
export function readProfile(value: unknown): Read<Teacher["profile"]> {
  if (value === null) return { value: null };
  // An array is an object too, in JavaScript: one without the members would empty the profile.
  if (Array.isArray(value)) return { code: "PROFILE_INVALID" };
  const parsed = v.safeParse(schema, value);
  return parsed.success ? { value: parsed.output } : { code: "PROFILE_INVALID" };
}
