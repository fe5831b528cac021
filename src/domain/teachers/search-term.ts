import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import type { BlindIndex } from "../blind-index.ts";
import { withAsciiDigits } from "../personal-data.ts";
import { canonicalRegNo, maxTId, type TeacherKey } from "./teachers.ts";

/** A NIN: exactly eleven digits (contract C6). */
export const ninPattern = /^\d{11}$/;

/** Characters of a term. E-mail addresses and registration numbers are shorter. */
export const maxTermLength = 320;
/** Characters of a typed text, invisible ones included. */
const maxTypedLength = 4 * maxTermLength;

/**
 * Cleans a typed or pasted text: removes white space around it, invisible characters and the groups of printed numbers
 * ("999 000 000 01"), and converts full-width characters.
 * @returns a text above `maxTypedLength` unchanged
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

/** An identifier that a term may be. `text` is canonical, and not hashed. */
type Candidate = { readonly by: TeacherKey["by"]; readonly text: string };

/**
 * Lists the keys that a public search term may mean, in the order in which they are tried.
 *
 * With `@` an e-mail address, with `/` a registration number, eleven digits a NIN, then a phone number, then a teacher
 * id; `+234…`, `234…` and `0…` a phone number; other digits a teacher id. The corrected term ({@link meantTerm}) is
 * tried too, unless the typed term is a NIN, a phone number or a teacher id.
 * @param term the trimmed term
 * @returns an empty list for a term without an identifier
 */
export function searchKeys(term: string, index: BlindIndex): TeacherKey[] {
  if (term.length > maxTermLength) return [];
  const typed = candidatesOf(term);
  const meant = meantTerm(term);
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
  if (term.includes("/")) return candidate("regNo", canonicalRegNo(term));
  const ids = candidate("tId", /^\d+$/.test(term) && Number(term) <= maxTId ? term : null);
  if (ninPattern.test(term)) {
    const phones = candidate("phone", canonicalPhone(term));
    // Teacher ids have no leading zero.
    return [{ by: "nin", text: term }, ...phones, ...(term.startsWith("0") ? [] : ids)];
  }
  const phones = /^(\+|234|0)/.test(term) ? candidate("phone", canonicalPhone(term)) : [];
  return phones.length > 0 ? phones : ids;
}

function candidate(by: Candidate["by"], text: string | null): Candidate[] {
  return text === null ? [] : [{ by, text }];
}

/** The usual spellings of Nigerian numbers. Eleven digits may be a phone number too, but are most often a NIN. */
const plainNigerian = /^(?:(?:0|\+?234)([1-9]\d{9})|([1-9]\d{10}))$/;

/** Converts a phone number to E.164; a national number is Nigerian. @returns null for another text */
export function canonicalPhone(text: string): string | null {
  const plain = plainNigerian.exec(text);
  // The library returns the same, and takes much longer.
  if (plain !== null) return `+234${plain[1] ?? plain[2]}`;
  const international = /^234\d{10}$/.test(text) ? `+${text}` : text;
  const parsed = parsePhoneNumberFromString(international, { defaultCountry: "NG", extract: false });
  return parsed?.isPossible() ? parsed.number : null;
}

/** Eleven digits may be a NIN, a phone number or a teacher id. */
export type TermKind = Exclude<TeacherKey["by"], "nin"> | "elevenDigits";

/**
 * The kind of the first key that {@link searchKeys} lists. Links may contain registration numbers and teacher ids; the
 * other kinds are personal data.
 * @returns null for a term without an identifier
 */
export function termKind(term: string): TermKind | null {
  if (term.length > maxTermLength) return null;
  const [first] = [...candidatesOf(term), ...candidatesOf(meantTerm(term))];
  return first?.by === "nin" ? "elevenDigits" : (first?.by ?? null);
}

/**
 * Whether a trimmed term may be a NIN, an e-mail address or a phone number, lookups of which have a limit of their own.
 * Every lookup calls this first, so only the form is checked; a few long teacher ids look like phone numbers.
 */
export function isPersonalTerm(term: string): boolean {
  return isPersonalAsTyped(term) || isPersonalAsTyped(meantTerm(term));
}

function isPersonalAsTyped(term: string): boolean {
  if (term.includes("@")) return true;
  if (term.includes("/")) return false;
  return ninPattern.test(term) || /^(?:\+|234.{6}|0.{8})/s.test(term);
}

/** A dash, minus sign or backslash, with spaces on both sides or on none: people type them for a slash. */
const otherSlash = /\s+[/\p{Pd}\u2212\\]\s+|[/\p{Pd}\u2212\\]/u;
/** A repeated slash between two parts; the slashes of a web address follow a colon. */
const doubledSlash = /(?<=[\p{L}\d])\/{2,}(?=[\p{L}\d])/gu;
/** A part without inner spaces and without a sign at its ends; others may be two parts of another number. */
const wholePart = /^[\p{L}\d](?:\S*[\p{L}\d])?$/u;
/** Spaces replace slashes only in the form letters, year, letters, digits. */
const spaced = /^([a-z]{1,5})\s+(\d{2,4})\s+([a-z]{1,5})\s+(\d{1,10})$/i;

/**
 * Corrects a mistyped trimmed term: digits of any script become ASCII, a full stop or slash at the end is removed, a
 * repeated slash becomes one, spaces between the digits of a NIN are removed, and dashes or spaces become slashes.
 *
 * No correction turns one person's number into another's: a registration number has three slashes, so other signs
 * become slashes only in a term that has three separators in all.
 * @returns the term itself if it has no typing error or is too long
 */
export function meantTerm(term: string): string {
  if (term.length > maxTermLength) return term;
  const plain = withAsciiDigits(term)
    .replace(/\s*[./]$/, "")
    .replace(doubledSlash, "/");
  if (plain.includes("@")) return plain;
  const digits = plain.replace(/\s+/g, "");
  // NINs are printed in groups; fewer than eleven digits could be two numbers.
  if (/^\d{11}$/.test(digits)) return digits;
  if (canonicalRegNo(plain) !== null) return plain;
  const parts = spaced.exec(plain)?.slice(1) ?? plain.split(otherSlash);
  // Names and phone numbers have dashes too, but not both letters and digits.
  const isParted = parts.length === 4 && parts.every((part) => wholePart.test(part));
  const isNumber = isParted && /\d/.test(plain) && /\p{L}/u.test(plain);
  const regNo = isNumber ? parts.join("/") : "";
  return canonicalRegNo(regNo) === null ? plain : regNo;
}

/** The form of most registration numbers: letters, a year, letters and six digits. */
const usualForm = /^([A-Z]{2}\/\d{4}\/[A-Z]{2}\/)(\d{1,6})$/;
const mayBeDigits = /^[\dOIL]+$/;

/**
 * Guesses the registration number that was meant, by its form alone: the letter O for a zero, l or I for a one, and
 * missing zeros of the last part.
 * @returns null for a number without such an error
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

/** Whether a part should be digits: the last part is a number, the second one a year or two letters. */
function isMeantAsDigits(part: string, at: number): boolean {
  return mayBeDigits.test(part) && (at === 3 || (at === 1 && part.length > 1) || /\d/.test(part));
}
