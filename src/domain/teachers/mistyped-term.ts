/** What people mistype in a search term: what is read as meant, and what can only be asked about. */

import { withAsciiDigits } from "../personal-data.ts";
import { canonicalRegNo } from "./teachers.ts";

/** Characters of a term at most: far above any e-mail address or registration number; a longer one names nobody. */
export const maxTermLength = 320;

/** What is typed for a slash: any dash, a minus sign, a backslash, with spaces on both sides of it or on none. */
const otherSlash = /\s+[/\p{Pd}\u2212\\]\s+|[/\p{Pd}\u2212\\]/u;
/** Between two parts, and not that of an address: no number has an empty part. */
const doubledSlash = /(?<=[\p{L}\d])\/{2,}(?=[\p{L}\d])/gu;
/** A part with a sign or a space at its end, or a space in it, may be two of another number's. */
const wholePart = /^[\p{L}\d](?:\S*[\p{L}\d])?$/u;
/** With spaces in place of the slashes only what could be nothing else: letters, a year, letters, digits. */
const spaced = /^([a-z]{1,5})\s+(\d{2,4})\s+([a-z]{1,5})\s+(\d{1,10})$/i;

/**
 * A term as it was meant: digits of any script are digits, a full stop or a slash at the end says nothing, a slash typed
 * twice is one, spaces group the digits of a NIN, and dashes or spaces stand for the slashes of a registration number.
 *
 * None of it makes one person's number of another's. A number of the register has three slashes, whatever else is in it;
 * so other signs are read as slashes only where there are not three, and where there are three of all kinds together.
 * @param term the trimmed term
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
 * The registration number that may have been meant, by the form of the number alone: nobody is looked up. The letter O
 * stands for a zero and l or I for a one, or the zeros of the last part were left out.
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
