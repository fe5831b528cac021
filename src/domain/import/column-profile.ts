/** What stands in the columns of a table that nobody knows yet: counts, and never a value of a person. */

import { isCalendarDate } from "../clock.ts";
import { canonicalPhone, ninPattern } from "../teachers/search-term.ts";
import { canonicalRegNo } from "../teachers/teachers.ts";
import { dateReader, knownForms } from "./dates.ts";
import { squeezed } from "./fields.ts";

/** What a value may be. A value may be of several kinds: eleven digits are a NIN, and a phone number. */
export const valueKinds = {
  regNo: (cell: string) => canonicalRegNo(cell) !== null,
  nin: (cell: string) => ninPattern.test(cell),
  whole: (cell: string) => /^\d+$/.test(cell),
  email: (cell: string) => /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(cell),
  phone: (cell: string) => /^[+(\d][\d\s()./-]{6,}$/.test(cell) && canonicalPhone(cell) !== null,
  url: (cell: string) => /^https?:\/\//i.test(cell),
  words: (cell: string) => /\p{L}.*\p{L}/u.test(cell) && !/[@/]/.test(cell),
  /** What a spreadsheet makes of a long number. */
  shortened: (cell: string) => /^\d+([.,]\d+)?e\+?\d+$/i.test(cell),
} as const;
type ValueKind = keyof typeof valueKinds;

const readers = knownForms.map((form) => ({ form, read: dateReader(form) }));
/** Serial numbers of days from 1954 to 2064: other numbers of five digits are no dates of a register. */
const serialDay = /^[2-5]\d{4}(?:[.,]\d+)?$/;

/** How many of a column's dates a form reads, and the line of the first that no other form of the column reads. */
type FormCount = { count: number; onlyAt: number | null };

export type ColumnProfile = {
  readonly name: string;
  filled: number;
  readonly kinds: Record<ValueKind, number>;
  /** Dates of the register's own form. */
  isoDates: number;
  readonly forms: Map<string, FormCount>;
  /** Different values, by how they are compared, each as it was first written, and how often; null beyond fifty. */
  words: Map<string, { text: string; count: number }> | null;
};

const maxWords = 50;
const maxWordLength = 40;

export function newProfile(name: string): ColumnProfile {
  const kinds = Object.fromEntries(Object.keys(valueKinds).map((kind) => [kind, 0])) as Record<
    ValueKind,
    number
  >;
  return { name, filled: 0, kinds, isoDates: 0, forms: new Map(), words: new Map() };
}

/** Adds the cell of a row. */
export function addCell(profile: ColumnProfile, cell: string, line: number): void {
  if (cell === "") return;
  profile.filled++;
  for (const kind of Object.keys(valueKinds) as ValueKind[])
    if (valueKinds[kind](cell)) profile.kinds[kind]++;
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
