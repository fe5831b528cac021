import type { ImportStaging } from "../../store/staging.ts";
import type { MissingPart } from "./arrival.ts";
import type { LossOfKind } from "./losses.ts";

/** Codes of rejected rows, each with its explanation. Scripts depend on the codes. */
const rejectionCodes = {
  COLUMN_COUNT:
    "the row has more or fewer cells than the header; look for a delimiter that is not inside quotes or, when the row runs over several lines, for a quote that is missing",
  ROWS_IN_A_CELL:
    "the cell runs over several lines and holds the end of one row and the beginning of another: look for a quote that is missing",
  CELL_TOO_LONG:
    "a cell has more than 32,767 characters, the most that a spreadsheet keeps; look for a quote that is not closed",
  JSON_INVALID:
    "the line is no JSON object of at most a mebibyte; look for one that was cut short, and write one object a line",
  JSON_TOO_DEEP: "the JSON is nested deeper than any teacher's",
  DUPLICATE_MEMBER: "the JSON object names a member twice; which value was meant cannot be known",
  VALUE_TYPE_INVALID: "the JSON value has the wrong type; numbers with leading zeros must be strings",
  TEXT_INVALID:
    "the text has control characters or characters that cannot be seen, or was damaged by a wrong character set",
  TEXT_TOO_LONG: "the text is longer than the register keeps",
  PERSONAL_DATA:
    "the text holds what looks like a NIN, an e-mail address or a phone number, which is never stored",
  SPREADSHEET_DAMAGE:
    "a spreadsheet has changed the value: shortened a number, turned a date into one, or failed; export the column as text",
  REG_NO_INVALID: "a registration number has four segments separated by slashes",
  T_ID_INVALID: "a teacher id is a whole number above zero",
  NAME_MISSING: "a teacher needs a name",
  NIN_INVALID: "a NIN is exactly 11 digits",
  SOURCE_INVALID: "the source is new_system or legacy",
  CERTIFICATE_STATUS_INVALID: "the certificate status is VERIFIED, NOT_FOUND, CLAIMED or LEGACY_RECORD",
  LICENSE_STATUS_INVALID: "the licence status is REVOKED, EXPIRED, NONE or VALID",
  BOOLEAN_INVALID: "a yes-or-no column holds true, false, 1, 0, yes or no",
  DATE_INVALID: "a date is written YYYY-MM-DD, or as the mapping says, and must exist",
  EXPIRY_BEFORE_ISSUE: "the licence ends before it begins",
  REVOKED_BEFORE_ISSUE:
    "the licence was revoked before it began; where the date means never, a mapping's values give the empty text for it",
  REVOCATION_TOO_OLD:
    "the revocation is dated before 1950; where the date means never, a mapping's values give the empty text for it",
  PROFILE_INVALID: "the profile is not {qualifications: [...], employment: [...]} with the members described",
  DUPLICATE_REG_NO: "an earlier row has the same registration number; the earlier row counts",
  DUPLICATE_T_ID: "an earlier row or another teacher of the register has this teacher id",
  DUPLICATE_NIN: "an earlier row or another teacher of the register has this NIN",
  CHANGED_MEANWHILE:
    "the record was changed while the import was under way; look at it, and import the row again if it is right",
} as const;

/** Codes of warnings, which reject no row, each with its explanation. */
const warningCodes = {
  UNKNOWN_COLUMN: "the column is not known and was left out",
  TOTALS_LINE: "the last line has no registration number and says that it is a total; it was left out",
  EMAIL_INVALID: "the e-mail address cannot be read; the teacher has none on file now",
  PHONE_INVALID: "the phone number cannot be read; the teacher has none on file now",
  PHOTO_URL_INVALID: "a photo needs an https URL without personal data; the teacher has none on file now",
  LICENSE_WITHOUT_EXPIRY: "a licence without an expiry date does not count as one",
  REVOCATION_CLEARED: "an empty cell, or another word than REVOKED, has taken back a revocation",
  REVOCATION_KEPT:
    "the operator's command has revoked the licence; what the row says of it was left out, the rest was applied; only tvs teachers reinstate or --lift-revocations lifts it",
  STATUS_DIFFERS:
    "the licence status of the row is another than its dates say; the dates count, and a revocation above all",
  TEXT_SUSPECT:
    "the text looks like a placeholder or damaged; a mapping's values give the right text for it, or the empty one",
  REACTIVATED: "the row has put a deactivated teacher back; look whether that is meant",
  REVOKED_IN_FUTURE: "the date of the revocation is in the future; the licence is revoked from now on",
} as const;

export type RejectionCode = keyof typeof rejectionCodes;
export type WarningCode = keyof typeof warningCodes;

/** Explanations that replace the general ones in an import whose mapping accepts other words or dates. */
export type CodeExplanations = Readonly<Partial<Record<ImportIssue["code"], string>>>;

export type ImportIssue = {
  /** The number of the file's line on which the row begins, from 1. */
  readonly line: number;
  /** The column or JSON member; null if the issue is about the whole row. */
  readonly field: string | null;
  readonly code: RejectionCode | WarningCode;
  /** The row's registration number; absent if the row has none, or if the number may be personal data. */
  readonly regNo?: string | undefined;
  /** A text by which the next import recognises the row. The register stores only a keyed digest of the text. */
  readonly identity?: string | undefined;
};

export function isRejection({ code }: Pick<ImportIssue, "code">): boolean {
  return code in rejectionCodes;
}

const explanations: Readonly<Record<ImportIssue["code"], string>> = { ...rejectionCodes, ...warningCodes };

/** The number of rows with a code (for UNKNOWN_COLUMN, of columns), and the first locations (decision D7.8). */
export type IssueCodeCount = {
  readonly code: ImportIssue["code"];
  readonly rows: number;
  /** The first twenty locations, in the order of the file. Rows that `applyStagedRows` rejected come last. */
  readonly first: readonly Location[];
  /** The code's explanation, if this import's mapping replaces the general one. */
  readonly meaning?: string | undefined;
};

type Location = Pick<ImportIssue, "line" | "field" | "regNo">;

const keptLocations = 20;

export function createIssueCodeTally() {
  const counts = new Map<ImportIssue["code"], { rows: number; lastLine: number; first: Location[] }>();
  return {
    add(issues: readonly ImportIssue[]): void {
      for (const { code, line, field, regNo } of issues) {
        const count = counts.get(code) ?? { rows: 0, lastLine: -1, first: [] };
        counts.set(code, count);
        const location = { line, field, ...(regNo === undefined ? {} : { regNo }) };
        if (count.first.length < keptLocations) count.first.push(location);
        // Counts a row with two wrong dates once. Counts each unknown column, although all these issues have line 1.
        if (line !== count.lastLine || code === "UNKNOWN_COLUMN") count.rows++;
        count.lastLine = line;
      }
    },
    counts(explanations: CodeExplanations = {}): IssueCodeCount[] {
      return sortIssueCodeCounts(
        [...counts].map(([code, { rows, first }]) => ({ code, rows, first, meaning: explanations[code] })),
      );
    },
  };
}

/** Sorts rejections before warnings, then by the number of rows, the largest first, then by code. */
export function sortIssueCodeCounts(counts: readonly IssueCodeCount[]): IssueCodeCount[] {
  const rank = ({ code }: IssueCodeCount) => (isRejection({ code }) ? 0 : 1);
  return counts.toSorted((a, b) => rank(a) - rank(b) || b.rows - a.rows || (a.code < b.code ? -1 : 1));
}

/**
 * Lists the first rejected rows in the order of the file, with one entry for each reason of a row.
 * @param limit the number of rows, 5 at most. Only 20 locations of each code are kept, and a row can use four of them
 *   (its four dates), so that a sixth row could lack some of its reasons.
 */
export function listFirstRejections(counts: readonly IssueCodeCount[], limit: number): ImportIssue[] {
  const rejected = counts
    .filter(isRejection)
    .flatMap(({ code, first }) => first.map((location): ImportIssue => ({ ...location, code })))
    .sort((a, b) => a.line - b.line);
  const lines = new Set([...new Set(rejected.map(({ line }) => line))].slice(0, limit));
  return rejected.filter(({ line }) => lines.has(line));
}

export function describeIssueCodeCount({ code, rows, first, meaning }: IssueCodeCount) {
  return { code, rejects: isRejection({ code }), rows, meaning: meaning ?? explanations[code], first };
}

export type ImportResult = {
  readonly file: string;
  readonly sheet?: string;
  /** SHA-256 of the file in hex. */
  readonly sha256: string;
  /** The sum of `inserted`, `updated`, `unchanged` and `rejected`, unless the import was stopped. */
  readonly rows: number;
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly rejected: number;
  readonly warnings: number;
  readonly events: number;
  readonly codes: readonly IssueCodeCount[];
  /** Unknown columns or JSON members, which were not imported; absent if there are none. */
  readonly unknownColumns?: readonly string[];
  /** Whether the last import rejected the same rows for the same reasons; absent if no row was rejected. */
  readonly sameRejections?: boolean;
  /** Present if the register's first import revokes nobody or everybody, which is probably a mistake. */
  readonly firstRevokes?: "nobody" | "everybody";
  readonly rejectedRows?: readonly ReturnType<typeof omitIssueIdentity>[];
  readonly dryRun?: true;
  readonly stopped?:
    | { readonly by: "strict" }
    | {
        readonly by: "brake";
        readonly losses: readonly LossOfKind[];
        readonly missing: readonly MissingPart[];
      };
  /** An unfinished import of another file, which stays unfinished. `row` is the last row that it applied. */
  readonly abandoned?: { readonly file: string; readonly row: number };
};

/** Yields the report as JSON text, in pieces. Registration numbers are the only values of the file in the report. */
export async function* formatReport(
  result: ImportResult,
  issues: ImportStaging["issues"],
): AsyncGenerator<string> {
  const { rejected: _rejected, warnings: _warnings, codes, ...head } = result;
  yield `${JSON.stringify(head, null, 2).slice(0, -2)},\n`;
  for (const kind of ["rejected", "warnings"] as const) {
    yield `  "${kind}": [`;
    let isFirst = true;
    for (const page of issues(kind)) {
      const lines = page.map((issue) => JSON.stringify(omitIssueIdentity(issue)));
      yield `${isFirst ? "" : ","}\n    ${lines.join(",\n    ")}`;
      isFirst = false;
    }
    yield isFirst ? "],\n" : "\n  ],\n";
  }
  const met = Object.keys(explanations).flatMap((known) =>
    codes.filter(({ code }) => code === known).map((one) => [known, describeIssueCodeCount(one).meaning]),
  );
  yield `  "codes": ${JSON.stringify(Object.fromEntries(met), null, 2).replaceAll("\n", "\n  ")}\n}\n`;
}

/** Removes an issue's identity, which may be a registration number that contains personal data. */
export function omitIssueIdentity({ line, regNo, field, code }: ImportIssue) {
  return { line, ...(regNo === undefined ? {} : { regNo }), field, code };
}
