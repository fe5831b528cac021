import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import type { BlindIndex } from "../blind-index.ts";
import { toAsciiDigits } from "../personal-data.ts";
import { canonicalizeRegNo, maxTeacherId, type TeacherKey } from "./teachers.ts";

/** A NIN: exactly eleven digits (contract C6). */
export const ninPattern = /^\d{11}$/;

/** Maximum characters of a term. No e-mail address or registration number is longer. */
export const maxTermLength = 320;
/** Maximum characters of a typed text. It may have invisible characters and spaces, which are removed from a term. */
const maxTypedLength = 4 * maxTermLength;

/**
 * Cleans a typed or pasted text: removes surrounding white space, invisible characters and the spaces in a printed
 * number ("999 000 000 01"), and converts full-width characters to ASCII.
 * @returns the text unchanged if it is longer than `maxTypedLength`
 */
export function cleanTerm(text: string): string {
  if (text.length > maxTypedLength) return text;
  const clean = text
    .normalize("NFKC")
    .replace(/\p{Cf}/gu, "")
    .trim();
  const plain = toAsciiDigits(clean);
  return /^\+?[\d\s().-]+$/.test(plain) ? plain.replace(/[\s().-]/g, "") : clean;
}

/** An identifier that a search term may be. `text` is canonical, and is not yet converted to a blind index. */
type Candidate = { readonly by: TeacherKey["by"]; readonly text: string };

/**
 * Lists the keys that a search term may mean, in the order in which lookups try them.
 *
 * A term with `@` is an e-mail address, with `/` a registration number. Eleven digits are tried as NIN, phone number
 * and teacher id. `+234…`, `234…` and `0…` are a phone number, other digits a teacher id. The term that
 * {@link correctTypingErrors} returns is tried too, unless the typed term is a NIN, a phone number or a teacher id.
 * @param term the trimmed term
 * @returns an empty list if the term is not an identifier
 */
export function searchKeysOf(term: string, index: BlindIndex): TeacherKey[] {
  if (term.length > maxTermLength) return [];
  const typed = candidatesOf(term);
  const meant = correctTypingErrors(term);
  const by = typed[0]?.by;
  const mayBeMeant = by === undefined || by === "regNo" || by === "email";
  const all = meant === term || !mayBeMeant ? typed : [...typed, ...candidatesOf(meant)];
  return all.map(({ by, text }): TeacherKey => {
    if (by === "regNo") return { by, value: text };
    return by === "tId" ? { by, value: Number(text) } : { by, value: index[by](text) };
  });
}

function candidatesOf(term: string): Candidate[] {
  if (term.includes("@")) return [{ by: "email", text: term }];
  if (term.includes("/")) return candidate("regNo", canonicalizeRegNo(term));
  const ids = candidate("tId", /^\d+$/.test(term) && Number(term) <= maxTeacherId ? term : null);
  if (ninPattern.test(term)) {
    const phones = candidate("phone", canonicalizePhone(term));
    // Teacher ids have no leading zero, so a term with a leading zero is not a teacher id.
    return [{ by: "nin", text: term }, ...phones, ...(term.startsWith("0") ? [] : ids)];
  }
  const phones = /^(\+|234|0)/.test(term) ? candidate("phone", canonicalizePhone(term)) : [];
  return phones.length > 0 ? phones : ids;
}

function candidate(by: Candidate["by"], text: string | null): Candidate[] {
  return text === null ? [] : [{ by, text }];
}

/** A Nigerian phone number in its usual spellings. Its ten digits after the prefix, or all eleven, are captured. */
const plainNigerian = /^(?:(?:0|\+?234)([1-9]\d{9})|([1-9]\d{10}))$/;

/** Converts a phone number to E.164. A number without a country code is Nigerian. @returns null for another text */
export function canonicalizePhone(text: string): string | null {
  const plain = plainNigerian.exec(text);
  // A shortcut: libphonenumber has the same result, and takes much longer.
  if (plain !== null) return `+234${plain[1] ?? plain[2]}`;
  const international = /^234\d{10}$/.test(text) ? `+${text}` : text;
  const parsed = parsePhoneNumberFromString(international, { defaultCountry: "NG", extract: false });
  return parsed?.isPossible() ? parsed.number : null;
}

/** What a search term looks like. `elevenDigits` may be a NIN, a phone number or a teacher id. */
export type SearchTermKind = Exclude<TeacherKey["by"], "nin"> | "elevenDigits";

/**
 * Guesses the kind of a search term. Only `regNo` and `tId` may be put into a URL; the other kinds are personal data.
 * @returns null if the term is not an identifier
 */
export function searchTermKindOf(term: string): SearchTermKind | null {
  if (term.length > maxTermLength) return null;
  const [first] = [...candidatesOf(term), ...candidatesOf(correctTypingErrors(term))];
  return first?.by === "nin" ? "elevenDigits" : (first?.by ?? null);
}

/**
 * Whether a trimmed term may be a NIN, an e-mail address or a phone number. Lookups of these have their own rate limit.
 * Every lookup calls this first, so the test is cheap and inexact: a few long teacher ids count as phone numbers.
 */
export function isPersonalTerm(term: string): boolean {
  return isPersonalAsTyped(term) || isPersonalAsTyped(correctTypingErrors(term));
}

function isPersonalAsTyped(term: string): boolean {
  if (term.includes("@")) return true;
  if (term.includes("/")) return false;
  return ninPattern.test(term) || /^(?:\+|234.{6}|0.{8})/s.test(term);
}

/** A separator in a registration number as people type it: slash, dash, minus sign or backslash, maybe with spaces. */
const typedSeparator = /\s+[/\p{Pd}\u2212\\]\s+|[/\p{Pd}\u2212\\]/u;
/** A repeated slash between two letters or digits. The slashes of a URL follow a colon and do not match. */
const doubledSlash = /(?<=[\p{L}\d])\/{2,}(?=[\p{L}\d])/gu;
/** Matches a part of a registration number. A text with a space inside or a sign at an end may be of two numbers. */
const wholePart = /^[\p{L}\d](?:\S*[\p{L}\d])?$/u;
/** A registration number with spaces for slashes. Only the form letters, year, letters, digits is recognised. */
const spacedRegNo = /^([a-z]{1,5})\s+(\d{2,4})\s+([a-z]{1,5})\s+(\d{1,10})$/i;

/**
 * Corrects typing errors in a trimmed term. Digits of any script become ASCII. A final full stop or slash, a repeated
 * slash and the spaces in a NIN are removed. In a registration number dashes and spaces become slashes.
 *
 * No correction turns one person's number into another's: a registration number has three slashes, so other separators
 * become slashes only in a term with exactly three separators.
 * @returns the term itself if it has no such error or is longer than `maxTermLength`
 */
export function correctTypingErrors(term: string): string {
  if (term.length > maxTermLength) return term;
  const plain = toAsciiDigits(term)
    .replace(/\s*[./]$/, "")
    .replace(doubledSlash, "/");
  if (plain.includes("@")) return plain;
  const digits = plain.replace(/\s+/g, "");
  // A NIN printed in groups. Fewer than eleven digits could be two numbers, so their spaces stay.
  if (/^\d{11}$/.test(digits)) return digits;
  if (canonicalizeRegNo(plain) !== null) return plain;
  const parts = spacedRegNo.exec(plain)?.slice(1) ?? plain.split(typedSeparator);
  // Requires letters and digits, because a name or a phone number can have three dashes too.
  const isParted = parts.length === 4 && parts.every((part) => wholePart.test(part));
  const isNumber = isParted && /\d/.test(plain) && /\p{L}/u.test(plain);
  const regNo = isNumber ? parts.join("/") : "";
  return canonicalizeRegNo(regNo) === null ? plain : regNo;
}

/** The form of most registration numbers, AB/2019/CD/000123, with or without the zeros of the last part. */
const usualForm = /^([A-Z]{2}\/\d{4}\/[A-Z]{2}\/)(\d{1,6})$/;
const mayBeDigits = /^[\dOIL]+$/;

/**
 * Guesses the registration number that was meant: replaces the letter O with a zero and l or I with a one, and adds
 * missing zeros to the last part. The register is not searched.
 * @returns null if the term has no such error
 */
export function guessRegNo(term: string): string | null {
  const regNo = canonicalizeRegNo(correctTypingErrors(term));
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

/** Whether a part of digits, O, I and L was meant as digits: the last part, a year, or a part with a digit. */
function isMeantAsDigits(part: string, at: number): boolean {
  return mayBeDigits.test(part) && (at === 3 || (at === 1 && part.length > 1) || /\d/.test(part));
}
