import { TvsError } from "../../src/domain/errors.ts";
import { describeMissing } from "../../src/domain/import/arrival.ts";
import { emptyExtract, templateColumns } from "../../src/domain/import/columns.ts";
import { describeLosses, maxLostPercent } from "../../src/domain/import/losses.ts";
import {
  describeCode,
  firstRejected,
  type ImportIssue,
  type ImportResult,
} from "../../src/domain/import/report.ts";
import {
  type Columns,
  hint,
  listing,
  note,
  print,
  record,
  table,
  terminalWidth,
} from "../terminal/output.ts";

/** What an import says to people: beside --json, the report and the console. */

const shownRows = 5;

/** Says on stderr what is to be known beside the figures, and at a terminal what shows more. */
export function tellRemarks(
  args: { json?: boolean | undefined; report?: string | undefined },
  { stopped, abandoned, rejected, warnings, sameRejections }: ImportResult,
): void {
  if (abandoned !== undefined) {
    note(
      `an unfinished import of ${abandoned.file} was left at row ${abandoned.row}; import that file again if it is needed`,
    );
  }
  if (sameRejections === true && stopped === undefined)
    note(`${rejected} ${rejected === 1 ? "row" : "rows"} rejected, the same as last time`);
  if (stopped?.by === "strict") note(whyStopped(stopped));
  if (stopped?.by === "brake")
    note(`${whyStopped(stopped)}. If that is intended, import again with --allow-change`);
  if (args.report !== undefined) return;
  if (rejected > 0) hint(args, "--report FILE lists the rejected rows, and why");
  // Among them may be a revocation that an empty cell takes back, or one that was kept.
  else if (warnings > 0) hint(args, "--report FILE lists the rows with a warning, and why");
}

/** Why an import stopped before it changed anything. */
function whyStopped(stopped: NonNullable<ImportResult["stopped"]>): string {
  if (stopped.by === "strict") return "nothing was changed: --strict was given, and rows were rejected";
  const { losses } = stopped;
  const share = `${describeLosses(losses)} would be lost, more than ${maxLostPercent} %`;
  const reasons = [...stopped.missing.map(describeMissing), ...(losses.length === 0 ? [] : [share])];
  return `nothing was changed: ${reasons.join("; ")}`;
}

/** The figures of an import, the codes of its rows, and where the first rejected ones stand. */
export function importSummary(result: ImportResult): string {
  const { file, sheet, sha256, rows, inserted, updated, unchanged, rejected, warnings, events, codes } =
    result;
  const counts = { rows, inserted, updated, unchanged, rejected, warnings, events };
  const done = rows > 0 && rejected === rows ? "nothing changed, every row was rejected" : "done";
  const mode =
    result.stopped !== undefined
      ? "stopped, nothing changed"
      : result.dryRun
        ? "dry run, nothing changed"
        : done;
  const unknown = result.unknownColumns?.join(", ");
  const figures = record({
    file,
    ...(sheet === undefined ? {} : { sheet }),
    ...{ sha256, ...counts },
    ...(unknown === undefined ? {} : { "not known": unknown }),
    ...(result.sameRejections === true ? { "rejected rows": "the same as last time" } : {}),
    ...(result.firstRevokes === undefined ? {} : { revocations: revokes[result.firstRevokes] }),
    import: mode,
  });
  const first = firstRejected(codes, shownRows);
  const parts = [
    ...(codes.length === 0 ? [] : [listing(codes.map(describeCode), codeColumns)]),
    ...(first.length === 0 ? [] : [`the first rejected rows:\n${listing(first, issueColumns)}`]),
  ];
  return [figures, ...parts].join("\n\n");
}

const revokes: Readonly<Record<NonNullable<ImportResult["firstRevokes"]>, string>> = {
  nobody:
    "nobody is revoked by this file; if somebody should be, look whether a column says so that is not read",
  everybody: "everybody is revoked by this file; look whether the dates or words mean that",
};

const codeColumns: Columns<ReturnType<typeof describeCode>> = {
  ROWS: "rows",
  WERE: ({ rejects }) => (rejects ? "rejected" : "warning"),
  CODE: "code",
  BECAUSE: "meaning",
};

const issueColumns: Columns<ImportIssue> = {
  LINE: "line",
  NUMBER: ({ regNo }) => regNo ?? "-",
  COLUMN: ({ field }) => field ?? "the row",
  CODE: "code",
};

/** Prints an extract without teachers. What the columns mean goes to stderr, so that `> extract.csv` is one. */
export function printTemplate(args: { file?: string | undefined; json?: boolean | undefined }): void {
  if (args.file !== undefined)
    throw new TvsError("USAGE", "--template prints an empty extract and reads no file");
  print(args, templateColumns, () => emptyExtract);
  if (args.json === true) return;
  const rows = templateColumns.map((one) => [one.column, one.required ? "yes" : "no", one.explanation]);
  const terminal = { isTTY: process.stderr.isTTY === true, columns: terminalWidth() };
  note(table(["COLUMN", "REQUIRED", "WHAT STANDS IN IT"], rows, terminal));
}
