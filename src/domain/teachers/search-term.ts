import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import type { BlindIndex } from "../blind-index.ts";
import { withAsciiDigits } from "../personal-data.ts";
import { canonicalRegNo, maxTId, type TeacherKey } from "./teachers.ts";

/** A NIN: exactly eleven digits (contract C6). */
export const ninPattern = /^\d{11}$/;

/** Characters of a term at most: far above any e-mail address or registration number; a longer one names nobody. */
export const maxTermLength = 320;
/** Characters that are read of what somebody typed: invisible ones among them do not count as the term's. */
const maxTypedLength = 4 * maxTermLength;

/**
 * Cleans what somebody typed or pasted: white space around it, invisible characters and the groups in which numbers are
 * printed ("999 000 000 01") are removed; full-width characters become ordinary ones.
 * @returns a text that is too long for a term, unchanged
 */
export function cleanTerm(text: string): string {
  if (text.length > maxTypedLength) return text;
  const clean = text
    .normalize("NFKC")
    .replace(/\p{Cf}/gu, "")
    .trim();
  const plain = withAsciiDigits(clean);
  return /^\+?[\d\s().-]+$/.test(plain) ? plain.replace(/[\s().-]/g, "") : clean;
}

/**
 * Lists the keys that a public search term may mean, in the order in which they are tried.
 *
 * With `@` an e-mail address, with `/` a registration number, eleven digits a NIN, else a phone number, else a teacher
 * id; `+234…`, `234…` and `0…` a phone number; other digits a teacher id. A mistyped term is read as meant where it can
 * name nobody as it stands, and second where it is a number or an address of its own.
 * @param term the trimmed term
 * @returns no key when the term can name nobody
 */
export function searchKeys(term: string, index: BlindIndex): TeacherKey[] {
  if (term.length > maxTermLength) return [];
  const keys = keysAsTyped(term, index);
  const meant = meantTerm(term);
  const by = keys[0]?.by;
  const mayBeMeant = by === undefined || by === "regNo" || by === "email";
  return meant === term || !mayBeMeant ? keys : [...keys, ...keysAsTyped(meant, index)];
}

function keysAsTyped(term: string, index: BlindIndex): TeacherKey[] {
  if (term.includes("@")) return [{ by: "email", value: index.email(term) }];
  if (term.includes("/")) return regNoKeys(term);
  if (ninPattern.test(term)) {
    // No teacher id is written with a leading zero: that is a phone number, which may belong to two teachers.
    const ids = term.startsWith("0") ? [] : tIdKeys(term);
    return [{ by: "nin", value: index.nin(term) }, ...phoneKeys(term, index), ...ids];
  }
  if (/^(\+|234|0)/.test(term)) {
    const keys = phoneKeys(term, index);
    return keys.length > 0 ? keys : tIdKeys(term);
  }
  return tIdKeys(term);
}

/** Nigerian numbers as nearly everybody writes them. Eleven digits are a possible number too, though most often a NIN. */
const plainNigerian = /^(?:(?:0|\+?234)([1-9]\d{9})|([1-9]\d{10}))$/;

/** Makes a phone number's E.164 form; a national number is Nigerian. @returns null when the text is no phone number */
export function canonicalPhone(text: string): string | null {
  const plain = plainNigerian.exec(text);
  // The library gives the same for these, and takes much longer.
  if (plain !== null) return `+234${plain[1] ?? plain[2]}`;
  const international = /^234\d{10}$/.test(text) ? `+${text}` : text;
  const parsed = parsePhoneNumberFromString(international, { defaultCountry: "NG", extract: false });
  return parsed?.isPossible() ? parsed.number : null;
}

/** What a term is taken for; eleven digits may be a NIN, a phone number or a teacher id. */
export type TermKind = "regNo" | "tId" | "email" | "phone" | "elevenDigits";

/**
 * Says what {@link searchKeys} takes a trimmed term for. Only a registration number and a teacher id are no personal
 * data, and may stand in a link.
 * @returns null when the term can name nobody
 */
export function termKind(term: string): TermKind | null {
  if (term.length > maxTermLength) return null;
  return kindAsTyped(term) ?? kindAsTyped(meantTerm(term));
}

function kindAsTyped(term: string): TermKind | null {
  if (term.includes("@")) return "email";
  if (term.includes("/")) return canonicalRegNo(term) === null ? null : "regNo";
  if (ninPattern.test(term)) return "elevenDigits";
  if (/^(\+|234|0)/.test(term) && canonicalPhone(term) !== null) return "phone";
  return /^\d+$/.test(term) && Number(term) <= maxTId ? "tId" : null;
}

/**
 * Says whether a trimmed term may mean a NIN, an e-mail address or a phone number, which have a limit of their own.
 * Every lookup asks this first, so it goes by the form alone, and takes a few long teacher ids for phone numbers too.
 */
export function isPersonalTerm(term: string): boolean {
  return isPersonalAsTyped(term) || isPersonalAsTyped(meantTerm(term));
}

function isPersonalAsTyped(term: string): boolean {
  if (term.includes("@")) return true;
  if (term.includes("/")) return false;
  return ninPattern.test(term) || /^(?:\+|234.{6}|0.{8})/s.test(term);
}

function regNoKeys(term: string): TeacherKey[] {
  const regNo = canonicalRegNo(term);
  return regNo === null ? [] : [{ by: "regNo", value: regNo }];
}

function phoneKeys(term: string, index: BlindIndex): TeacherKey[] {
  const phone = canonicalPhone(term);
  return phone === null ? [] : [{ by: "phone", value: index.phone(phone) }];
}

function tIdKeys(term: string): TeacherKey[] {
  const tId = Number(term);
  return /^\d+$/.test(term) && tId <= maxTId ? [{ by: "tId", value: tId }] : [];
}

/** What is typed for a slash: any dash, a minus sign, a backslash, with spaces on both sides of it or on none. */
const otherSlash = /\s+[/\p{Pd}\u2212\\]\s+|[/\p{Pd}\u2212\\]/u;
/** Between two parts, and not that of an address: no number has an empty part. */
const doubledSlash = /(?<=[\p{L}\d])\/{2,}(?=[\p{L}\d])/gu;
/** A part with a sign or a space at its end, or a space in it, may be two of another number's. */
const wholePart = /^[\p{L}\d](?:\S*[\p{L}\d])?$/u;
/** With spaces in place of the slashes only what could be nothing else: letters, a year, letters, digits. */
const spaced = /^([a-z]{1,5})\s+(\d{2,4})\s+([a-z]{1,5})\s+(\d{1,10})$/i;

/**
 * Reads a trimmed term as it was meant: digits of any script are digits, a full stop or a slash at the end says nothing,
 * a slash typed twice is one, spaces group the digits of a NIN, and dashes or spaces stand for slashes.
 *
 * None of it makes one person's number of another's: a registration number has three slashes, so other signs are read
 * as slashes only where there are not three, and where there are three of all kinds together.
 * @returns the term itself where nothing was mistyped, or where it is too long to name anybody
 */
export function meantTerm(term: string): string {
  if (term.length > maxTermLength) return term;
  const plain = withAsciiDigits(term)
    .replace(/\s*[./]$/, "")
    .replace(doubledSlash, "/");
  if (plain.includes("@")) return plain;
  const digits = plain.replace(/\s+/g, "");
  // Eleven digits in groups are a NIN as it is printed; fewer could be two numbers.
  if (/^\d{11}$/.test(digits)) return digits;
  if (canonicalRegNo(plain) !== null) return plain;
  const parts = spaced.exec(plain)?.slice(1) ?? plain.split(otherSlash);
  // Names and phone numbers have dashes, too; but not letters and digits.
  const isParted = parts.length === 4 && parts.every((part) => wholePart.test(part));
  const isNumber = isParted && /\d/.test(plain) && /\p{L}/u.test(plain);
  const regNo = isNumber ? parts.join("/") : "";
  return canonicalRegNo(regNo) === null ? plain : regNo;
}

/** Letters, a year, letters and six digits: the form of most registration numbers. */
const usualForm = /^([A-Z]{2}\/\d{4}\/[A-Z]{2}\/)(\d{1,6})$/;
const mayBeDigits = /^[\dOIL]+$/;

/**
 * Guesses the registration number that may have been meant, by its form alone. The letter O stands for a zero and l or I
 * for a one, or the zeros of the last part were left out.
 * @returns null when nothing looks mistyped
 */
export function likelyRegNo(term: string): string | null {
  const regNo = canonicalRegNo(meantTerm(term));
  if (regNo === null) return null;
  const guess = regNo
    .split("/")
    .map((part, at) =>
      isMeantAsDigits(part, at) ? part.replaceAll("O", "0").replaceAll(/[IL]/g, "1") : part,
    )
    .join("/");
  const [, beginning, last = ""] = usualForm.exec(guess) ?? [];
  const likely = beginning === undefined ? guess : `${beginning}${last.padStart(6, "0")}`;
  return likely === regNo ? null : likely;
}

/** The second part is a year or letters, of which there are two; the last one is a number. */
function isMeantAsDigits(part: string, at: number): boolean {
  return mayBeDigits.test(part) && (at === 3 || (at === 1 && part.length > 1) || /\d/.test(part));
}
