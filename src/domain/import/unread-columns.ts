/** Columns that an import does not read, as far as they may say whose licence was withdrawn. */

import { TvsError } from "../errors.ts";
import { nameLabel } from "./arrival.ts";
import type { ImportFormat } from "./fields.ts";
import { licenseWords, readLicenseStatus } from "./values.ts";
import { isStatusName, maxStatusWords, meansWithdrawn } from "./words.ts";

/** A column or member with its different words, and how often each stands there. */
export type UnreadColumn = {
  readonly name: string;
  /** As messages call it. */
  readonly label: string;
  /** Whether it is the register's own `license_status`, which no mapping explains. */
  readonly isOwn: boolean;
  /** Whether the column is known to hold other words than these. */
  isMore: boolean;
  readonly words: Map<string, number>;
};

/** Letters of a word that is counted. */
const maxWordLength = 64;
/** Words that mean withdrawn are counted beyond the few of a column, so many of them. */
const maxWithdrawn = 2 * maxStatusWords;

export function unreadColumn(name: string, label: string, isOwn: boolean): UnreadColumn {
  return { name, label, isOwn, isMore: false, words: new Map() };
}

/** Counts a cell's word: the first few of a column, and all that mean withdrawn or are not known, up to a limit. */
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

/** Whether the teachers whom a column calls withdrawn would be taken for licensed. */
function isOverlooked({ name, words, isOwn, isMore }: UnreadColumn): boolean {
  if (words.size === 0 && !isMore) return false;
  if (isOwn) return isMore || [...words.keys()].some((word) => !isLicenseWord(word));
  return isStatusName(name) || [...words.keys()].some(meansWithdrawn);
}

/**
 * Refuses a file with a column that says whose licence was withdrawn, and that nothing reads.
 * @throws TvsError INPUT_UNREADABLE with the column's words and how often each stands there
 */
export function refuseOverlooked(
  columns: readonly UnreadColumn[],
  { name, format }: { readonly name: string; readonly format: ImportFormat },
): void {
  const column = columns.find(isOverlooked);
  if (column === undefined) return;
  const { label, isOwn } = column;
  const thing = format === "ndjson" ? "member" : "column";
  const own = licenseWords.join(", ");
  const found = isOwn
    ? `the ${thing} ${label} holds words that are none of ${own}`
    : `the ${thing} ${label} looks like the status of a licence, and nothing says how it is read`;
  const remedy =
    format === "ndjson"
      ? `name it licenseStatus, with the words ${own}, or leave it out of the file`
      : `tvs teachers map FILE proposes a mapping, whose \`columns\` take it for license_status and whose \`values\` give the words' meaning; or name it in the mapping's \`ignore\``;
  throw new TvsError(
    "INPUT_UNREADABLE",
    `${name}: ${found}: ${describeWords(column)}. Without it, teachers whose licence was withdrawn would be shown as licensed. ${remedy}; nothing was changed`,
  );
}

/** The words that are no personal data, the most frequent first. */
function describeWords({ words, isMore }: UnreadColumn): string {
  const rows = (count: number) => (count === 1 ? "1 row" : `${count} rows`);
  const all = [...words].sort(([, one], [, other]) => other - one);
  const [shown, hidden] = [
    all.filter(([word]) => nameLabel(word, "") !== ""),
    all.filter(([word]) => nameLabel(word, "") === ""),
  ];
  const others = hidden.reduce((sum, [, count]) => sum + count, 0);
  return [
    ...shown.map(([word, count]) => `${word} (${rows(count)})`),
    ...(others > 0 ? [`other values (${rows(others)})`] : []),
    ...(isMore ? ["and more"] : []),
  ].join(", ");
}
