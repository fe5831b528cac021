/** Counts the values of an unknown table's columns, by kind. */

import { isCalendarDate } from "../clock.ts";
import { holdsPersonalData } from "../personal-data.ts";
import { hasHiddenCharacter } from "../plain-text.ts";
import { canonicalPhone, ninPattern } from "../teachers/search-term.ts";
import { canonicalRegNo } from "../teachers/teachers.ts";
import { dateReader, knownForms, neverDate } from "./dates.ts";
import { type ImportField, squeezed } from "./fields.ts";
import { type SuspectKind, suspectIn } from "./suspect-text.ts";
import { readEmail } from "./values.ts";
import { isOwnWord, meansWithdrawn, otherWord } from "./words.ts";

/** Whether a spreadsheet has shortened a long number. */
const isShortened = (cell: string) => /^\d+([.,]\d+)?e\+?\d+$/i.test(cell);
const isWordOf = (field: ImportField) => (cell: string) =>
  isOwnWord(field, cell) || otherWord(field, cell) !== undefined;

/** The name of a field's values, and whether a cell may be one of them. */
export const looks: Readonly<
  Partial<Record<ImportField, { readonly called: string; readonly fits: (cell: string) => boolean }>>
> = {
  regNo: { called: "registration numbers of four segments", fits: (cell) => canonicalRegNo(cell) !== null },
  nin: { called: "numbers of eleven digits", fits: (cell) => ninPattern.test(cell) || isShortened(cell) },
  email: { called: "e-mail addresses", fits: (cell) => "value" in readEmail(cell) || isShortened(cell) },
  phone: {
    called: "phone numbers",
    fits: (cell) =>
      (/^[+(\d][\d\s()./-]{6,}$/.test(cell) && canonicalPhone(cell) !== null) || isShortened(cell),
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
const lookedFor = Object.entries(looks) as [ImportField, NonNullable<(typeof looks)[ImportField]>][];

const readers = knownForms.map((form) => ({ form, read: dateReader(form) }));
/** Serial numbers of days from 1954 to 2064. */
const serialDay = /^[2-5]\d{4}(?:[.,]\d+)?$/;

/** The dates that a form reads, and the line of the first date that no other form reads. */
type FormCount = { count: number; onlyAt: number | null };

/** A value, in its first spelling, and its number of cells. */
export type Counted = { readonly text: string; count: number };

export type ColumnProfile = ReturnType<typeof newProfile>;

const maxWords = 50;
const maxWordLength = 40;
const maxStatusLength = 64;
const maxKept = 20;

/** @param position the column's position in the table, from 1 */
export function newProfile(name: string, position: number) {
  return {
    ...{ name, position, filled: 0, shortened: 0 },
    /** Dates of the register's own form. */
    isoDates: 0,
    /** How many of the cells may be values of a field. */
    fitting: new Map(lookedFor.map(([field]) => [field, 0])),
    forms: new Map<string, FormCount>(),
    /** Different values by their normalised spelling; null beyond `maxWords`. */
    words: new Map() as Map<string, Counted> | null,
    /** Dates that mean "no date", such as 0000-00-00; `forms` does not count them. */
    never: new Map<string, Counted>(),
    /** Words that mean a withdrawn licence. */
    withdrawn: new Map<string, Counted>(),
    /** Words for an empty cell, such as NULL. */
    nulls: new Map<string, Counted>(),
    /** Damaged cells by kind. */
    suspects: new Map<SuspectKind, number>(),
    /** The earliest and the latest of the unambiguous dates. */
    span: null as { readonly first: string; readonly last: string } | null,
    /** The first value with a letter beyond ASCII. */
    accented: null as string | null,
  };
}

export function addCell(profile: ColumnProfile, cell: string, line: number): void {
  if (cell === "") return;
  profile.filled++;
  for (const [field, { fits }] of lookedFor)
    if (fits(cell)) profile.fitting.set(field, (profile.fitting.get(field) ?? 0) + 1);
  if (isShortened(cell)) profile.shortened++;
  if (neverDate(cell)) addTo(profile.never, cell);
  else if (isCalendarDate(cell)) {
    profile.isoDates++;
    widen(profile, cell);
  } else addDate(profile, cell, line);
  addWord(profile, cell);
  if (cell.length <= maxStatusLength && meansWithdrawn(cell)) addTo(profile.withdrawn, cell);
  const kind = suspectIn(cell);
  if (kind !== null) profile.suspects.set(kind, (profile.suspects.get(kind) ?? 0) + 1);
  if (kind === "NULL_WORD") addTo(profile.nulls, cell);
  if (/[^\p{ASCII}]/u.test(cell)) profile.accented ??= cell;
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
  const key = squeezed(cell);
  const known = profile.words.get(key);
  if (known !== undefined) known.count++;
  else if (profile.words.size >= maxWords || cell.length > maxWordLength) profile.words = null;
  else profile.words.set(key, { text: cell, count: 1 });
}

function addTo(kept: Map<string, Counted>, cell: string): void {
  const known = kept.get(cell);
  if (known !== undefined) known.count++;
  else if (kept.size < maxKept) kept.set(cell, { text: cell, count: 1 });
}

/** A value for messages, without personal data and control characters. */
export function valueLabel(text: string): string {
  const isShown = text.length <= maxWordLength && !hasHiddenCharacter(text) && !holdsPersonalData(text);
  return isShown ? text : "a value that is not shown";
}

/** Lists values with their numbers of cells, the most frequent first. */
export function listValues(values: Iterable<Counted>, most = 12): string {
  const sorted = [...values].sort((one, other) => other.count - one.count);
  const more = sorted.length > most ? ` and ${sorted.length - most} more` : "";
  const shown = sorted.slice(0, most).map(({ text, count }) => `${valueLabel(text)} (${count})`);
  return shown.join(", ") + more;
}

/** Counts the dates: those of the most frequent form, of the register's own, and those that mean "no date". */
export function dateCount({ isoDates, forms, never }: ColumnProfile): number {
  return sumOf(never) + isoDates + Math.max(0, ...[...forms.values()].map(({ count }) => count));
}

export function sumOf(counted: ReadonlyMap<string, Counted>): number {
  return [...counted.values()].reduce((sum, { count }) => sum + count, 0);
}
