/** Finds NINs, phone numbers and e-mail addresses in free text, which must not be stored (decision D3.7). */

/** Decimal digits of every script, and characters that NFKC turns into digits. */
const digit = "[\\p{Nd}⁰¹²³⁴-⁹₀-₉⓪①-⑨]";
/** Separators between the digits of one number. A comma before a space separates two numbers. */
const joint = "(?:[\\s\\p{Pd}\\p{Ps}\\p{Pe}\\p{Pc}\\p{DI}−.．·/／'’\\u20e3]|,(?!\\s)){1,3}";
/** A UUID, which is not personal data. One UUID in ten has eleven digits in a row or in groups, and looks like a NIN. */
const uuid = "(?<![0-9a-z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-z])";

/** An e-mail address. The bounds of its parts keep the search linear in the length of a text. */
const email = /(?:[^\s"@＠﹫]{1,64}|"[^"@＠﹫]{1,64}")[@＠﹫][^\s"@＠﹫]{1,255}/gu;
const number = new RegExp(`${uuid}|[+＋]?\\p{Ps}?${digit}(?:(?:${joint})?${digit})*`, "giu");
const groups = new RegExp(`${digit}+`, "gu");
const digits = new RegExp(digit, "gu");
const anyAt = /[@＠﹫]/;
const anyDigit = new RegExp(digit, "u");

/** Separators that are common in reference numbers (12/2024/0345) and lists, and rare in phone numbers. */
const rareInPhones = /[/／,\p{Pc}]/u;

const removed = "[removed]";
/** The fewest digits in a row that count as personal data: a phone number without its leading zero has ten. */
export const minPersonalDigits = 10;
const ninDigits = 11;
/** The most digits of a phone number (E.164), and the fewest digits after a plus sign that count as one. */
const maxPhoneDigits = 15;
const minPlusDigits = 9;

/** Printable ASCII. Most texts match, and are not searched for the digits of other scripts. */
const plainText = /^[ -~]*$/;

/** The longest text that is searched, in characters: ten times the longest text that is stored. */
const maxSearchedLength = 40_000;

/** Replaces NINs, phone numbers and e-mail addresses by `[removed]`. A text that is too long is replaced whole. */
export function redactPersonalData(text: string): string {
  if (text.length > maxSearchedLength) return removed;
  const rest = anyAt.test(text) ? text.replace(email, removed) : text;
  // A text with so few digits contains no phone number and no NIN.
  if (plainText.test(rest) && asciiDigitsOf(rest).length < minPlusDigits) return rest;
  return anyDigit.test(rest) ? rest.replace(number, (found) => (isPersonal(found) ? removed : found)) : rest;
}

export function holdsPersonalData(text: string): boolean {
  return redactPersonalData(text) !== text;
}

export function asciiDigitsOf(text: string): string {
  if (plainText.test(text)) return text.replace(/[^0-9]+/g, "");
  return (text.match(digits) ?? []).map(asciiDigit).join("");
}

/** Replaces the decimal digits of every script by ASCII digits. */
export function toAsciiDigits(text: string): string {
  return plainText.test(text) ? text : text.replace(/\p{Nd}/gu, asciiDigit);
}

const knownDigits = new Map<string, string>();

function asciiDigit(char: string): string {
  const known = knownDigits.get(char) ?? findDigit(char);
  knownDigits.set(char, known);
  return known;
}

/** Finds a digit's value: the distance, modulo 10, from the start of a run of digits, which in Unicode is a zero. */
function findDigit(char: string): string {
  const folded = char < "\u0080" ? char : char.normalize("NFKC");
  if (/^[0-9]$/.test(folded)) return folded;
  const code = char.codePointAt(0) ?? 0;
  let first = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--;
  return String((code - first) % 10);
}

/** Consecutive digits of a number, with the separators before and after. */
type Group = { readonly digits: string; readonly jointBefore: string; readonly jointAfter: string };

/** True if a run of digits and separators looks like a NIN or a phone number. */
function isPersonal(run: string): boolean {
  if (/[a-f]/i.test(run)) return false;
  const all = groupsOf(run);
  const total = all.reduce((sum, group) => sum + group.digits.length, 0);
  if (/^[+＋]/.test(run) && total >= minPlusDigits && total <= maxPhoneDigits) return true;
  if (all.some(({ digits }) => digits.length >= minPersonalDigits)) return true;
  return usualGrouping.test(grouped(all)) || withoutYears(all).some(isNumber);
}

/** The common groupings of phone numbers and NINs, in which one group may look like a year. */
const usualGrouping =
  /(?<!\d)(?:(?:234-?0?|0)[789]-?[01](?:-?\d){8}|[789][01]\d-\d{3}-\d{4}|\d{3}-\d{4}-\d{4}|\d{4}-\d{3}-\d{4}|\d{4}-\d{4}-\d{3})(?!\d)/;

/** Joins the groups of digits by "/" where the separator is rare in phone numbers, and by "-" elsewhere. */
function grouped(all: readonly Group[]): string {
  return all
    .map(
      ({ digits, jointBefore }, at) => (at === 0 ? "" : rareInPhones.test(jointBefore) ? "/" : "-") + digits,
    )
    .join("");
}

function groupsOf(run: string): Group[] {
  const found = [...run.matchAll(groups)];
  return found.map((match, index) => ({
    digits: asciiDigitsOf(match[0]),
    jointBefore: run.slice(index === 0 ? 0 : endOf(found[index - 1]), match.index),
    jointAfter: run.slice(endOf(match), found[index + 1]?.index),
  }));
}

function endOf(match: RegExpExecArray | undefined): number {
  return match === undefined ? 0 : match.index + match[0].length;
}

/** Splits the groups at each year that has a slash, dash or dot beside it, as in dates and file numbers. */
function withoutYears(all: readonly Group[]): Group[][] {
  const parts: Group[][] = [[]];
  for (const group of all) {
    const isYear = /^(?:19[5-9]|20[0-4])\d$/.test(group.digits);
    if (isYear && /[\p{Pd}./／．]/u.test(group.jointBefore + group.jointAfter)) parts.push([]);
    else parts.at(-1)?.push(group);
  }
  return parts;
}

/** True if all groups, or some adjacent groups, form a NIN or a phone number. */
function isNumber(part: readonly Group[]): boolean {
  const joints = part.slice(1).map(({ jointBefore }) => jointBefore);
  const isSpaced = !rareInPhones.test(joints.join(""));
  const total = part.reduce((sum, group) => sum + group.digits.length, 0);
  if (isSpaced && total >= ninDigits && total <= maxPhoneDigits) return true;
  return part.some((_, from) => {
    let text = "";
    return part.slice(from, from + maxPhoneDigits).some((group) => {
      text += group.digits;
      return (
        text.length === ninDigits ||
        /^2340?[789]\d{9}$/.test(text) ||
        (isSpaced && /^[789][01]\d{8}$/.test(text))
      );
    });
  });
}
