/** What stands in the columns of a table that nobody knows yet: counts, and never a value of a person. */

import { isCalendarDate } from "../clock.ts";
import { canonicalPhone, ninPattern } from "../teachers/search-term.ts";
import { canonicalRegNo } from "../teachers/teachers.ts";
import { dateReader, knownForms } from "./dates.ts";
import { type ImportField, squeezed } from "./fields.ts";
import { isOwnWord, otherWord } from "./words.ts";

/** What a spreadsheet makes of a long number. */
const isShortened = (cell: string) => /^\d+([.,]\d+)?e\+?\d+$/i.test(cell);
const isWordOf = (field: ImportField) => (cell: string) =>
  isOwnWord(field, cell) || otherWord(field, cell) !== undefined;

/**
 * What the values of a field are called, and whether a cell may be one. A cell may be one of several fields: eleven
 * digits are a NIN, and a phone number.
 */
export const looks: Readonly<
  Partial<Record<ImportField, { readonly called: string; readonly fits: (cell: string) => boolean }>>
> = {
  regNo: { called: "registration numbers of four segments", fits: (cell) => canonicalRegNo(cell) !== null },
  nin: { called: "numbers of eleven digits", fits: (cell) => ninPattern.test(cell) || isShortened(cell) },
  email: {
    called: "e-mail addresses",
    fits: (cell) => /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(cell) || isShortened(cell),
  },
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
};
const lookedFor = Object.entries(looks) as [ImportField, NonNullable<(typeof looks)[ImportField]>][];

const readers = knownForms.map((form) => ({ form, read: dateReader(form) }));
/** Serial numbers of days from 1954 to 2064: other numbers of five digits are no dates of a register. */
const serialDay = /^[2-5]\d{4}(?:[.,]\d+)?$/;

/** How many of a column's dates a form reads, and the line of the first that no other form of the column reads. */
type FormCount = { count: number; onlyAt: number | null };

export type ColumnProfile = {
  readonly name: string;
  filled: number;
  /** How many of its cells may be of a field, for the fields whose values look like something. */
  readonly fitting: Map<ImportField, number>;
  shortened: number;
  /** Dates of the register's own form. */
  isoDates: number;
  readonly forms: Map<string, FormCount>;
  /** Different values, by how they are compared, each as it was first written, and how often; null beyond fifty. */
  words: Map<string, { text: string; count: number }> | null;
};

const maxWords = 50;
const maxWordLength = 40;

export function newProfile(name: string): ColumnProfile {
  const fitting = new Map(lookedFor.map(([field]) => [field, 0]));
  return { name, filled: 0, fitting, shortened: 0, isoDates: 0, forms: new Map(), words: new Map() };
}

/** Adds the cell of a row. */
export function addCell(profile: ColumnProfile, cell: string, line: number): void {
  if (cell === "") return;
  profile.filled++;
  for (const [field, { fits }] of lookedFor)
    if (fits(cell)) profile.fitting.set(field, (profile.fitting.get(field) ?? 0) + 1);
  if (isShortened(cell)) profile.shortened++;
  if (isCalendarDate(cell)) profile.isoDates++;
  else addDate(profile, cell, line);
  addWord(profile, cell);
}

function addDate({ forms }: ColumnProfile, cell: string, line: number): void {
  if (cell.length < 5 || cell.length > 30 || !/\d/.test(cell)) return;
  const fitting = readers.filter(({ form, read }) =>
    form === "excel" ? serialDay.test(cell) : read?.(cell) != null,
  );
  for (const { form } of fitting) {
    const count = forms.get(form) ?? { count: 0, onlyAt: null };
    count.count++;
    if (fitting.length === 1) count.onlyAt ??= line;
    forms.set(form, count);
  }
}

function addWord(profile: ColumnProfile, cell: string): void {
  if (profile.words === null) return;
  const key = squeezed(cell);
  const known = profile.words.get(key);
  if (known !== undefined) known.count++;
  else if (profile.words.size >= maxWords || cell.length > maxWordLength) profile.words = null;
  else profile.words.set(key, { text: cell, count: 1 });
}

/** How many of the filled cells are dates of any form. */
export function dateCount({ isoDates, forms }: ColumnProfile): number {
  return isoDates + Math.max(0, ...[...forms.values()].map(({ count }) => count));
}
