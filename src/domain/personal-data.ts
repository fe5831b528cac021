/** Finds NINs, phone numbers and e-mail addresses in free text; none of them is ever stored (decision D3.7). */

/** Decimal digits of every script, and what NFKC makes a digit of. */
const digit = "[\\p{Nd}⁰¹²³⁴-⁹₀-₉⓪①-⑨]";
/** What may stand between the digits of one number. A comma before a space parts two. */
const joint = "(?:[\\s\\p{Pd}\\p{Ps}\\p{Pe}\\p{Pc}\\p{DI}−.．·/／'’\\u20e3]|,(?!\\s)){1,3}";
/** An id of software: a tenth of them hold eleven digits in a row or in groups, and say nothing of anybody. */
const uuid = "(?<![0-9a-z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-z])";

/** An e-mail address, bounded in length: the expression would take the square of a long text's length. */
const email = /(?:[^\s"@＠﹫]{1,64}|"[^"@＠﹫]{1,64}")[@＠﹫][^\s"@＠﹫]{1,255}/gu;
const number = new RegExp(`${uuid}|[+＋]?\\p{Ps}?${digit}(?:(?:${joint})?${digit})*`, "giu");
const groups = new RegExp(`${digit}+`, "gu");
const digits = new RegExp(digit, "gu");
const anyAt = /[@＠﹫]/;
const anyDigit = new RegExp(digit, "u");

/** Slashes, commas and underscores part the numbers of files and lists more often than those of phones. */
const partingJoint = /[/／,\p{Pc}]/u;

const removed = "[removed]";
/** A number of so many digits in a row may be a phone number without its zero; a NIN has one more. */
export const personalDigits = 10;
const ninDigits = 11;
/** The longest phone number (E.164), and the shortest that is taken for one by its plus alone. */
const maxPhoneDigits = 15;
const minPlusDigits = 9;

/** ASCII, which most texts are: it has no digits but ten, and no blanks but one. */
const plainText = /^[ -~]*$/;

/** Characters of a text that is searched, at most: those that are kept have a tenth. */
const maxSearched = 40_000;

/** Takes NINs, phone numbers and e-mail addresses out of a text. Of a text that is too long nothing is kept. */
export function withoutPersonalData(text: string): string {
  if (text.length > maxSearched) return removed;
  const rest = anyAt.test(text) ? text.replace(email, removed) : text;
  // So few digits are no number of anybody's, whatever stands between them.
  if (plainText.test(rest) && digitsOf(rest).length < minPlusDigits) return rest;
  return anyDigit.test(rest) ? rest.replace(number, (found) => (isPersonal(found) ? removed : found)) : rest;
}

export function holdsPersonalData(text: string): boolean {
  return withoutPersonalData(text) !== text;
}

export function digitsOf(text: string): string {
  if (plainText.test(text)) return text.replace(/[^0-9]+/g, "");
  return (text.match(digits) ?? []).map(asciiDigit).join("");
}

/** The text with the decimal digits of any script as ASCII, all else as it is. */
export function withAsciiDigits(text: string): string {
  return plainText.test(text) ? text : text.replace(/\p{Nd}/gu, asciiDigit);
}

const knownDigits = new Map<string, string>();

function asciiDigit(char: string): string {
  const known = knownDigits.get(char) ?? findDigit(char);
  knownDigits.set(char, known);
  return known;
}

/** Digits of one script stand in a row from zero to nine, and such rows may follow each other. */
function findDigit(char: string): string {
  const folded = char < "\u0080" ? char : char.normalize("NFKC");
  if (/^[0-9]$/.test(folded)) return folded;
  const code = char.codePointAt(0) ?? 0;
  let first = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--;
  return String((code - first) % 10);
}

/** Digits in a row, and what stands before and after them within the run. */
type Group = { readonly digits: string; readonly jointBefore: string; readonly jointAfter: string };

/** Whether a run of digits is somebody's number; what it is joined by says how likely that is. */
function isPersonal(run: string): boolean {
  if (/[a-f]/i.test(run)) return false;
  const all = groupsOf(run);
  const total = all.reduce((sum, group) => sum + group.digits.length, 0);
  if (/^[+＋]/.test(run) && total >= minPlusDigits && total <= maxPhoneDigits) return true;
  if (all.some(({ digits }) => digits.length >= personalDigits)) return true;
  return usualGrouping.test(grouped(all)) || withoutYears(all).some(isNumber);
}

/** Groups in which phone numbers and NINs are mostly written; one of them may look like a year. */
const usualGrouping =
  /(?<!\d)(?:(?:234-?0?|0)[789]-?[01](?:-?\d){8}|[789][01]\d-\d{3}-\d{4}|\d{3}-\d{4}-\d{4}|\d{4}-\d{3}-\d{4}|\d{4}-\d{4}-\d{3})(?!\d)/;

/** The digits with a dash for whatever joins two groups of one number, and a slash for what mostly parts two. */
function grouped(all: readonly Group[]): string {
  return all
    .map(
      ({ digits, jointBefore }, at) => (at === 0 ? "" : partingJoint.test(jointBefore) ? "/" : "-") + digits,
    )
    .join("");
}

function groupsOf(run: string): Group[] {
  const found = [...run.matchAll(groups)];
  return found.map((match, index) => ({
    digits: digitsOf(match[0]),
    jointBefore: run.slice(index === 0 ? 0 : endOf(found[index - 1]), match.index),
    jointAfter: run.slice(endOf(match), found[index + 1]?.index),
  }));
}

function endOf(match: RegExpExecArray | undefined): number {
  return match === undefined ? 0 : match.index + match[0].length;
}

/** A year beside a slash, a dash or a dot parts a number, as in dates and in the numbers of files and decisions. */
function withoutYears(all: readonly Group[]): Group[][] {
  const parts: Group[][] = [[]];
  for (const group of all) {
    const isYear = /^(?:19[5-9]|20[0-4])\d$/.test(group.digits);
    if (isYear && /[\p{Pd}./／．]/u.test(group.jointBefore + group.jointAfter)) parts.push([]);
    else parts.at(-1)?.push(group);
  }
  return parts;
}

/** Whether groups, or some of them that follow each other, make a NIN or a phone number. */
function isNumber(part: readonly Group[]): boolean {
  const joints = part.slice(1).map(({ jointBefore }) => jointBefore);
  const isSpaced = !partingJoint.test(joints.join(""));
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
