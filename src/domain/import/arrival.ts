/** Finds the columns of an extract that are missing, misspelled or not read. */

import type { AppliedImport } from "../../store/imports.ts";
import { editDistance } from "../did-you-mean.ts";
import { TvsError } from "../errors.ts";
import { holdsPersonalData } from "../personal-data.ts";
import { hasHiddenCharacter } from "../plain-text.ts";
import type { ExtractField, ImportField, ImportFormat } from "./fields.ts";
import { columnOfField, exportFields, importFields, labelOfField, normalizeName } from "./fields.ts";
import { licenseStatusWords, readLicenseStatus } from "./values.ts";
import { isStatusColumnName, isWithdrawalWord, maxStatusWords } from "./words.ts";

/** The name of an unknown column or JSON member, which is not imported. */
type UnknownName = {
  /** The name for messages: a substitute, such as `column 7`, if the name may be personal data. */
  readonly label: string;
  /** The field whose name is probably misspelled; null if the name resembles no field's name. */
  readonly near: ImportField | null;
};

/** Names and lines that the reader of an extract collects. The lists are complete after the last row. */
export type ExtractFindings = {
  readonly fields: ExtractField[];
  readonly unknown: UnknownName[];
  /** The line numbers of rows with a table's totals, which are not imported. */
  readonly totals: number[];
  /** Columns that may hold unread licence statuses: unknown columns, and `license_status` if no mapping names it. */
  readonly unread: UnreadColumnTally[];
};

export type ExtractSummary = {
  readonly format: ImportFormat;
  readonly rows: number;
  readonly fields: ReadonlySet<ExtractField>;
  readonly unknown: readonly UnknownName[];
};

/** A sign that an extract is incomplete. `before` is the last import's number of rows; null before the first import. */
export type MissingPart =
  | { readonly kind: "misspelled"; readonly column: string; readonly meant: string }
  | { readonly kind: "column"; readonly column: string }
  /** The first extract of a register has no expiry dates, so that nobody would have a licence. */
  | { readonly kind: "license"; readonly column: string }
  | { readonly kind: "rows"; readonly rows: number; readonly before: number | null };

/** A misspelled name has at most two typing errors, and at most one per four letters. `pin` does not mean `nin`. */
const maxTypos = 2;
const lettersPerTypo = 4;
const maxNameLength = 64;

/** Fields whose misspelled names are found. A misspelled `license_status` is found by the words in its column. */
const fieldsByName = importFields
  .filter((field) => field !== "licenseStatus")
  .map((field) => ({ field, own: normalizeName(columnOfField[field]) }));

/** Finds the field of which `name` is probably a misspelling. @returns null if no field fits */
export function findSimilarField(name: string): ImportField | null {
  if (name.length > maxNameLength) return null;
  const given = normalizeName(name);
  const near = fieldsByName.find(
    ({ own }) => editDistance(given, own) <= Math.min(maxTypos, Math.floor(own.length / lettersPerTypo)),
  );
  return near?.field ?? null;
}

/** Returns `name`, or `substitute` if the name may be personal data, as in the first row of a file without a header. */
export function redactLabel(name: string, substitute: string): string {
  const isName = /^[\p{L}_][\p{L}\p{M}\p{N} _.()/#*:'’-]{0,39}$/u.test(name);
  return isName && !hasHiddenCharacter(name) && !holdsPersonalData(name) ? name : substitute;
}

/** Lists what an extract lacks compared with the last import. @param last null before the first import */
export function listMissingParts(arrival: ExtractSummary, last: AppliedImport | null): MissingPart[] {
  const { rows, fields, unknown, format } = arrival;
  // `phone2` is a misspelled `phone` only in a file without the column `phone`.
  const misspelled = unknown.flatMap(({ label, near }) =>
    near === null || fields.has(near) ? [] : [{ label, near }],
  );
  const reported = new Set<ExtractField>(misspelled.map(({ near }) => near));
  // The column `hidden` may be missing: only exports of this register have it, and a file without it unhides nobody.
  const lacks = (field: ExtractField) => field !== "hidden" && !fields.has(field) && !reported.has(field);
  const expected = isExport(fields) ? [] : [...importFields, "profile" as const];
  const missing: MissingPart[] = misspelled.map(({ label, near }) => {
    return { kind: "misspelled", column: label, meant: labelOfField(near, format) };
  });
  for (const field of expected)
    if (last?.fields.has(field) && lacks(field))
      missing.push({ kind: "column", column: labelOfField(field, format) });
  if (last === null && lacks("licenseExpiryDate"))
    missing.push({ kind: "license", column: labelOfField("licenseExpiryDate", format) });
  if (rows === 0 || rows * 2 < (last?.rows ?? 0))
    missing.push({ kind: "rows", rows, before: last?.rows ?? null });
  return missing;
}

/** Whether a file is an export of this register. An export has no NINs and contacts, so no column counts as missing. */
function isExport(fields: ExtractSummary["fields"]): boolean {
  const written: readonly ExtractField[] = [...exportFields, "profile"];
  return (
    exportFields.every((field) => fields.has(field)) && [...fields].every((field) => written.includes(field))
  );
}

export function describeMissingPart(missing: MissingPart): string {
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

export type UnreadColumnTally = ReturnType<typeof createUnreadColumnTally>;

const maxWordLength = 64;

/**
 * Makes the tally of the words in a column that the import does not read. `label` is the column's name for messages.
 * @param isOwn whether the column is the register's own `license_status`, in a file without a mapping
 */
export function createUnreadColumnTally(name: string, label: string, isOwn: boolean) {
  return {
    ...{ name, label, isOwn },
    /** The number of rows with each word. */
    words: new Map<string, number>(),
    /** Whether `words` lacks some of the column's words, because the size of `words` is limited. */
    isTruncated: false,
    /** True after a word that may mean a withdrawn licence; if `isOwn`, after a word outside `licenseStatusWords`. */
    isSuspect: false,
  };
}

/** Counts the word of a cell. After `maxStatusWords` different words, adds only words that may mean a withdrawal. */
export function countColumnWord(column: UnreadColumnTally, cell: string): void {
  const word = cell.trim();
  if (word === "") return;
  const { words, isOwn } = column;
  const isLong = word.length > maxWordLength;
  if (!words.has(word)) {
    const isSuspect = isOwn ? "code" in readLicenseStatus(word) : !isLong && isWithdrawalWord(word);
    column.isSuspect ||= isSuspect;
    if (isLong || words.size >= (isSuspect ? 2 : 1) * maxStatusWords) {
      column.isTruncated = true;
      return;
    }
  }
  words.set(word, (words.get(word) ?? 0) + 1);
}

/** Whether a column seems to say whose licence was withdrawn. Without the column these teachers appear as licensed. */
function isWithdrawalColumn({ name, words, isOwn, isTruncated, isSuspect }: UnreadColumnTally): boolean {
  return isSuspect || (!isOwn && (words.size > 0 || isTruncated) && isStatusColumnName(name));
}

/**
 * Refuses a file if a column that is not read seems to say whose licence was withdrawn.
 * @throws TvsError INPUT_UNREADABLE with the column's words and the number of rows with each word
 */
export function refuseUnreadStatusColumn(
  columns: readonly UnreadColumnTally[],
  { name, format }: { readonly name: string; readonly format: ImportFormat },
): void {
  const column = columns.find(isWithdrawalColumn);
  if (column === undefined) return;
  const { label, isOwn } = column;
  const own = licenseStatusWords.join(", ");
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

/** Lists a column's words, the most frequent first. Words that may be personal data are counted but not shown. */
function describeWords({ words, isTruncated }: UnreadColumnTally): string {
  const rows = (count: number) => (count === 1 ? "1 row" : `${count} rows`);
  const all = [...words].sort(([, one], [, other]) => other - one);
  const isShown = ([word]: readonly [string, number]) => redactLabel(word, "") !== "";
  const others = all.reduce((sum, one) => sum + (isShown(one) ? 0 : one[1]), 0);
  const parts = all.filter(isShown).map(([word, count]) => `${word} (${rows(count)})`);
  if (others > 0) parts.push(`other values (${rows(others)})`);
  if (isTruncated) parts.push("and more");
  return parts.join(", ");
}
