/** Counts the kinds of values in a table's columns. `tvs teachers map` finds each column's field by these counts. */

import { isCalendarDate } from "../clock.ts";
import { holdsPersonalData } from "../personal-data.ts";
import { hasHiddenCharacter } from "../plain-text.ts";
import { canonicalizePhone, ninPattern } from "../teachers/search-term.ts";
import { canonicalizeRegNo } from "../teachers/teachers.ts";
import { createDateReader, isNoDatePlaceholder, knownDateForms } from "./dates.ts";
import { type ImportField, importFields, normalizeName } from "./fields.ts";
import { type DamageKind, findDamage } from "./suspect-text.ts";
import { readEmail } from "./values.ts";
import { guessRegisterWord, isRegisterWord, isWithdrawalWord } from "./words.ts";

/** Whether a cell is a long number that a spreadsheet shortened, such as 2.3E+10. */
const isShortened = (cell: string) => /^\d+([.,]\d+)?e\+?\d+$/i.test(cell);
const isWordOf = (field: ImportField) => (cell: string) =>
  isRegisterWord(field, cell) || guessRegisterWord(field, cell) !== undefined;

/** For each field: the name of its values in messages, and a test whether a cell may be such a value. */
export const valueTests: Readonly<
  Partial<Record<ImportField, { readonly called: string; readonly fits: (cell: string) => boolean }>>
> = {
  regNo: {
    called: "registration numbers of four segments",
    fits: (cell) => canonicalizeRegNo(cell) !== null,
  },
  nin: { called: "numbers of eleven digits", fits: (cell) => ninPattern.test(cell) || isShortened(cell) },
  email: { called: "e-mail addresses", fits: (cell) => "value" in readEmail(cell) || isShortened(cell) },
  phone: {
    called: "phone numbers",
    fits: (cell) =>
      (/^[+(\d][\d\s()./-]{6,}$/.test(cell) && canonicalizePhone(cell) !== null) || isShortened(cell),
  },
  tId: { called: "whole numbers", fits: (cell) => /^\d+$/.test(cell) || isShortened(cell) },
  photoUrl: { called: "web addresses", fits: (cell) => /^https?:\/\//i.test(cell) },
  name: { called: "words", fits: (cell) => /\p{L}.*\p{L}/u.test(cell) && !/[@/]/.test(cell) },
  ninVerified: { called: "yes or no", fits: isWordOf("ninVerified") },
  active: { called: "yes or no", fits: isWordOf("active") },
  source: { called: "sources", fits: isWordOf("source") },
  certificateStatus: { called: "states of a certificate", fits: isWordOf("certificateStatus") },
  licenseStatus: { called: "states of a licence", fits: isWordOf("licenseStatus") },
};
const lookedFor = importFields.filter((field) => valueTests[field] !== undefined);

const readers = knownDateForms.map((form) => ({ form, read: createDateReader(form) }));
/** Matches a spreadsheet's date between 1954 and 2064, which is a number of days since 1900. */
const serialDay = /^[2-5]\d{4}(?:[.,]\d+)?$/;

/** The number of dates that one form can read. `onlyAt` is the line of the first date that no other form can read. */
type FormCount = { count: number; onlyAt: number | null };

export type CountedValue = { readonly text: string; count: number };

export type ColumnProfile = ReturnType<typeof createColumnProfile>;

const maxWords = 50;
const maxWordLength = 40;
const maxStatusLength = 64;
const maxKept = 20;

/** Creates a profile without cells. @param position the number of the column in the table, from 1 */
export function createColumnProfile(name: string, position: number) {
  return {
    ...{ name, position, filled: 0, shortened: 0 },
    isoDates: 0,
    /** For each field: the number of cells that may be a value of the field. */
    fitting: new Map(lookedFor.map((field) => [field, 0])),
    forms: new Map<string, FormCount>(),
    /** The different values, by normalised spelling; null if a value is long or there are more than `maxWords`. */
    words: new Map() as Map<string, CountedValue> | null,
    /** Dates that mean "no date", such as 0000-00-00. They are not counted in `forms`. */
    never: new Map<string, CountedValue>(),
    /** Words that mean a withdrawn licence, such as REVOKED. */
    withdrawn: new Map<string, CountedValue>(),
    /** Words that mean an empty cell, such as NULL. */
    nulls: new Map<string, CountedValue>(),
    /** The number of damaged cells, by kind of damage. */
    suspects: new Map<DamageKind, number>(),
    /** The earliest and the latest unambiguous date; null if the column has none. */
    span: null as { readonly first: string; readonly last: string } | null,
  };
}

export function addCellToProfile(profile: ColumnProfile, cell: string, line: number): void {
  if (cell === "") return;
  profile.filled++;
  for (const field of lookedFor)
    if (valueTests[field]?.fits(cell)) profile.fitting.set(field, (profile.fitting.get(field) ?? 0) + 1);
  if (isShortened(cell)) profile.shortened++;
  if (isNoDatePlaceholder(cell)) addTo(profile.never, cell);
  else if (isCalendarDate(cell)) {
    profile.isoDates++;
    widen(profile, cell);
  } else addDate(profile, cell, line);
  addWord(profile, cell);
  if (cell.length <= maxStatusLength && isWithdrawalWord(cell)) addTo(profile.withdrawn, cell);
  const kind = findDamage(cell);
  if (kind !== null) profile.suspects.set(kind, (profile.suspects.get(kind) ?? 0) + 1);
  if (kind === "NULL_WORD") addTo(profile.nulls, cell);
}

function addDate(profile: ColumnProfile, cell: string, line: number): void {
  if (cell.length < 5 || cell.length > 30 || !/\d/.test(cell)) return;
  const fitting = readers.flatMap(({ form, read }) => {
    const date = form === "excel" && !serialDay.test(cell) ? null : (read?.(cell) ?? null);
    return date === null ? [] : [{ form, date }];
  });
  for (const { form, date } of fitting) {
    const count = profile.forms.get(form) ?? { count: 0, onlyAt: null };
    count.count++;
    if (fitting.length === 1) {
      count.onlyAt ??= line;
      widen(profile, date);
    }
    profile.forms.set(form, count);
  }
}

function widen(profile: ColumnProfile, date: string): void {
  const { first, last } = profile.span ?? { first: date, last: date };
  profile.span = { first: date < first ? date : first, last: date > last ? date : last };
}

function addWord(profile: ColumnProfile, cell: string): void {
  if (profile.words === null) return;
  const key = normalizeName(cell);
  const known = profile.words.get(key);
  if (known !== undefined) known.count++;
  else if (profile.words.size >= maxWords || cell.length > maxWordLength) profile.words = null;
  else profile.words.set(key, { text: cell, count: 1 });
}

function addTo(kept: Map<string, CountedValue>, cell: string): void {
  const known = kept.get(cell);
  if (known !== undefined) known.count++;
  else if (kept.size < maxKept) kept.set(cell, { text: cell, count: 1 });
}

/** Returns the value for messages, or a substitute if the value is long or may be personal data. */
export function redactValue(text: string): string {
  const isShown = text.length <= maxWordLength && !hasHiddenCharacter(text) && !holdsPersonalData(text);
  return isShown ? text : "a value that is not shown";
}

/** Lists the most frequent values in one text, each with its number of cells. */
export function formatValueCounts(values: Iterable<CountedValue>, most = 12): string {
  const sorted = [...values].sort((one, other) => other.count - one.count);
  const more = sorted.length > most ? ` and ${sorted.length - most} more` : "";
  const shown = sorted.slice(0, most).map(({ text, count }) => `${redactValue(text)} (${count})`);
  return shown.join(", ") + more;
}

/** Counts dates as YYYY-MM-DD, dates in the column's most frequent other form, and dates that mean "no date". */
export function countDateCells({ isoDates, forms, never }: ColumnProfile): number {
  return sumCounts(never) + isoDates + Math.max(0, ...[...forms.values()].map(({ count }) => count));
}

export function sumCounts(counted: ReadonlyMap<string, CountedValue>): number {
  return [...counted.values()].reduce((sum, { count }) => sum + count, 0);
}
