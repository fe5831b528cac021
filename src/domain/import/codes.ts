import { explanationOf, type ImportIssue, isRejection } from "./report.ts";

/**
 * How many rows a code met, or columns where it is of those, and where the first of them stand. No value of the file is
 * part of it (decision D7.8).
 */
export type CodeCount = {
  readonly code: ImportIssue["code"];
  readonly rows: number;
  /** In the order in which they were found, which is the file's but for rows that were refused late. */
  readonly first: readonly Pick<ImportIssue, "line" | "field">[];
};

/** Rows of each code whose places are kept: enough to see what they have in common. */
const keptPlaces = 20;

/** The codes of an import, counted while its rows are judged. */
export type CodeTally = {
  add(issues: readonly ImportIssue[]): void;
  /** Rejections first, then remarks, the most frequent first. */
  counts(): CodeCount[];
};

type OpenCount = {
  rows: number;
  lastLine: number;
  readonly first: Pick<ImportIssue, "line" | "field">[];
};

export function createCodeTally(): CodeTally {
  const counts = new Map<ImportIssue["code"], OpenCount>();
  return {
    add(issues) {
      for (const { code, line, field } of issues) {
        const count = counts.get(code) ?? { rows: 0, lastLine: -1, first: [] };
        counts.set(code, count);
        if (count.first.length < keptPlaces) count.first.push({ line, field });
        // Two dates of one row may be wrong: the row counts once. Unknown columns all stand in the first one.
        if (line !== count.lastLine || code === "UNKNOWN_COLUMN") count.rows++;
        count.lastLine = line;
      }
    },
    counts: () => inOrder([...counts].map(([code, { rows, first }]) => ({ code, rows, first }))),
  };
}

/** Codes as they are shown: rejections first, then remarks, the most frequent first. */
export function inOrder(counts: readonly CodeCount[]): CodeCount[] {
  const rank = ({ code }: CodeCount) => (isRejection({ code }) ? 0 : 1);
  return counts.toSorted((a, b) => rank(a) - rank(b) || b.rows - a.rows || (a.code < b.code ? -1 : 1));
}

/**
 * The first rejected rows of an import, in the order of the file, an entry for each of their reasons.
 * @param limit rows at most, five or fewer: a row has up to four wrong dates, and of a code 20 places are kept
 */
export function firstRejected(counts: readonly CodeCount[], limit: number): ImportIssue[] {
  const rejected = counts
    .filter(isRejection)
    .flatMap(({ code, first }) => first.map((place): ImportIssue => ({ ...place, code })))
    .sort((a, b) => a.line - b.line);
  const lines = new Set([...new Set(rejected.map(({ line }) => line))].slice(0, limit));
  return rejected.filter(({ line }) => lines.has(line));
}

/** A code as it is printed: what it counts, what it means, and where its first rows stand. */
export function describeCode({ code, rows, first }: CodeCount) {
  return { code, rejects: isRejection({ code }), rows, meaning: explanationOf(code), first };
}
