/** The columns of an extract: missing, misspelled and unread ones. */

import type { AppliedImport } from "../../store/imports.ts";
import { editDistance } from "../did-you-mean.ts";
import { TvsError } from "../errors.ts";
import { holdsPersonalData } from "../personal-data.ts";
import { hasHiddenCharacter } from "../plain-text.ts";
import {
  type ArrivedField,
  columnOfField,
  exportFields,
  fieldLabel,
  type ImportField,
  type ImportFormat,
  importFields,
  squeezed,
} from "./fields.ts";
import { licenseWords, readLicenseStatus } from "./values.ts";
import { isStatusName, maxStatusWords, meansWithdrawn } from "./words.ts";

/** An unknown column or member, which is left out. */
export type UnknownName = {
  /** The name for messages. */
  readonly label: string;
  /** The field of which this may be a misspelling. */
  readonly near: ImportField | null;
};

/** The names that a reader finds in a file, each once. */
export type ArrivedNames = {
  readonly fields: ArrivedField[];
  readonly unknown: UnknownName[];
  /** The lines of totals below a table, which are left out. */
  readonly totals: number[];
  /** The columns that are neither read nor ignored by the mapping, with their words. */
  readonly unread: UnreadColumn[];
};

export type Arrival = {
  readonly format: ImportFormat;
  readonly rows: number;
  readonly fields: ReadonlySet<ArrivedField>;
  readonly unknown: readonly UnknownName[];
};

/** Something that an extract should have: a correct name, a column, the licences, or rows. */
export type Missing =
  | { readonly kind: "misspelled"; readonly column: string; readonly meant: string }
  | { readonly kind: "column"; readonly column: string }
  | { readonly kind: "license"; readonly column: string }
  | { readonly kind: "rows"; readonly rows: number; readonly before: number | null };

/** Typing errors of a misspelled name, and at most one for so many of its letters: `pin` is not a misspelled `nin`. */
const maxSlips = 2;
const lettersOfSlip = 4;
const maxNameLength = 64;

/** Without `license_status`: a column with a similar name is examined by its words. */
const squeezedFields = importFields
  .filter((field) => field !== "licenseStatus")
  .map((field) => ({ field, squeezed: squeezed(columnOfField[field]) }));

/** Finds the field that a misspelled name means. */
export function closestField(name: string): ImportField | null {
  if (name.length > maxNameLength) return null;
  const given = squeezed(name);
  // No two fields are so similar that the order would matter.
  const near = squeezedFields.find(
    ({ squeezed: known }) =>
      editDistance(given, known) <= Math.min(maxSlips, Math.floor(known.length / lettersOfSlip)),
  );
  return near?.field ?? null;
}

/** A name for messages. In a file without a header, a name may be a person's data. */
export function nameLabel(name: string, otherwise: string): string {
  const isName = /^[\p{L}_][\p{L}\p{M}\p{N} _.()/#*:'’-]{0,39}$/u.test(name);
  return isName && !hasHiddenCharacter(name) && !holdsPersonalData(name) ? name : otherwise;
}

/** Lists what an extract lacks and the last one had. @param last null before the first extract */
export function missingFrom(arrival: Arrival, last: AppliedImport | null): Missing[] {
  const { rows, fields, unknown, format } = arrival;
  // Beside the column `phone`, `phone2` is not a misspelling.
  const misspelled = unknown.flatMap(({ label, near }) =>
    near === null || fields.has(near) ? [] : [{ label, near }],
  );
  const reported = new Set<ArrivedField>(misspelled.map(({ near }) => near));
  // Only an export has `hidden`, and a file without it changes nothing.
  const lacks = (field: ArrivedField) => field !== "hidden" && !fields.has(field) && !reported.has(field);
  const expected = isExport(fields) ? [] : [...importFields, "profile" as const];
  const missing: Missing[] = misspelled.map(({ label, near }) => {
    return { kind: "misspelled", column: label, meant: fieldLabel(near, format) };
  });
  for (const field of expected)
    if (last?.fields.has(field) && lacks(field))
      missing.push({ kind: "column", column: fieldLabel(field, format) });
  if (last === null && lacks("licenseExpiryDate"))
    missing.push({ kind: "license", column: fieldLabel("licenseExpiryDate", format) });
  if (rows === 0 || rows * 2 < (last?.rows ?? 0))
    missing.push({ kind: "rows", rows, before: last?.rows ?? null });
  return missing;
}

/** Whether a file has the columns of an export. An export lacks the contacts, and may always be imported again. */
function isExport(fields: Arrival["fields"]): boolean {
  const written: readonly ArrivedField[] = [...exportFields, "profile"];
  return (
    exportFields.every((field) => fields.has(field)) && [...fields].every((field) => written.includes(field))
  );
}

export function describeMissing(missing: Missing): string {
  switch (missing.kind) {
    case "misspelled":
      return `the column ${missing.column} is not known (did you mean ${missing.meant}?)`;
    case "column":
      return `the column ${missing.column} is missing, and the last import had it`;
    case "license":
      return `the column ${missing.column} is missing, so that nobody would have a licence`;
    case "rows":
      return missing.rows === 0
        ? "there is no row below the header"
        : `there are ${missing.rows} rows, fewer than half of the last import's ${missing.before}`;
  }
}

export type UnreadColumn = {
  readonly name: string;
  /** The name for messages. */
  readonly label: string;
  /** Whether it is the register's own `license_status`, without a mapping. */
  readonly isOwn: boolean;
  /** Whether the column has words that are not in `words`. */
  isMore: boolean;
  /** Different words with their numbers of rows. */
  readonly words: Map<string, number>;
};

const maxWordLength = 64;
/** Limit of words that mean withdrawn, which are counted beyond `maxStatusWords`. */
const maxWithdrawn = 2 * maxStatusWords;

export function unreadColumn(name: string, label: string, isOwn: boolean): UnreadColumn {
  return { name, label, isOwn, isMore: false, words: new Map() };
}

/** Counts a cell's word: the first different ones, and up to a limit those that mean withdrawn or are unknown. */
export function countWord(column: UnreadColumn, cell: string): void {
  const word = cell.trim();
  if (word === "") return;
  const { words } = column;
  const count = words.get(word);
  if (count !== undefined) words.set(word, count + 1);
  else if (isCounted(column, word)) words.set(word, 1);
  else column.isMore = true;
}

function isCounted({ words, isOwn }: UnreadColumn, word: string): boolean {
  if (word.length > maxWordLength || words.size >= maxWithdrawn) return false;
  return words.size < maxStatusWords || (isOwn ? !isLicenseWord(word) : meansWithdrawn(word));
}

function isLicenseWord(word: string): boolean {
  return "value" in readLicenseStatus(word);
}

/** Whether teachers whom a column calls withdrawn would count as licensed. */
function isOverlooked({ name, words, isOwn, isMore }: UnreadColumn): boolean {
  if (words.size === 0 && !isMore) return false;
  if (isOwn) return isMore || [...words.keys()].some((word) => !isLicenseWord(word));
  return isStatusName(name) || [...words.keys()].some(meansWithdrawn);
}

/**
 * Refuses a file in which an unread column says whose licence was withdrawn.
 * @throws TvsError INPUT_UNREADABLE with the column's words and their numbers of rows
 */
export function refuseOverlooked(
  columns: readonly UnreadColumn[],
  { name, format }: { readonly name: string; readonly format: ImportFormat },
): void {
  const column = columns.find(isOverlooked);
  if (column === undefined) return;
  const { label, isOwn } = column;
  const own = licenseWords.join(", ");
  const says = isOwn
    ? `holds words that are none of ${own}`
    : "looks like the status of a licence, and nothing says how it is read";
  const found = `the ${format === "ndjson" ? "member" : "column"} ${label} ${says}`;
  const remedy =
    format === "ndjson"
      ? `name it licenseStatus, with the words ${own}, or leave it out of the file`
      : "tvs teachers map FILE proposes a mapping, whose `columns` take it for license_status and whose `values` give the words' meaning; or name it in the mapping's `ignore`";
  throw new TvsError(
    "INPUT_UNREADABLE",
    `${name}: ${found}: ${describeWords(column)}. Without it, teachers whose licence was withdrawn would be shown as licensed. ${remedy}; nothing was changed`,
  );
}

/** Lists the words that are not personal data, the most frequent first. */
function describeWords({ words, isMore }: UnreadColumn): string {
  const rows = (count: number) => (count === 1 ? "1 row" : `${count} rows`);
  const all = [...words].sort(([, one], [, other]) => other - one);
  const isShown = ([word]: readonly [string, number]) => nameLabel(word, "") !== "";
  const others = all.reduce((sum, one) => sum + (isShown(one) ? 0 : one[1]), 0);
  const parts = all.filter(isShown).map(([word, count]) => `${word} (${rows(count)})`);
  if (others > 0) parts.push(`other values (${rows(others)})`);
  if (isMore) parts.push("and more");
  return parts.join(", ");
}
