import { createReadStream } from "node:fs";
import { stringify } from "csv-stringify/sync";
import { TvsError } from "../../src/domain/errors.ts";
import { readCsv, type TableRecord } from "../../src/domain/import/csv.ts";
import { UnreadableError } from "../../src/domain/import/fields.ts";
import {
  judgeRosterRow,
  percentageOf,
  type RosterDependencies,
  type RosterHeader,
  type RosterRow,
  readRosterHeader,
} from "../../src/domain/teachers/roster.ts";
import { purposes } from "../../src/partner/contract.ts";
import { flag, operand, option } from "../command.ts";
import { operatorCommand } from "../operator-command.ts";
import { prepareIfNamed } from "../safe/output-file.ts";
import { exitCodes, listing, parseChoice, print } from "../terminal/output.ts";

/** Rows that are looked up side by side; a libSQL server answers them in one round trip's time. */
const width = 64;
const maxRecordBytes = 64 * 1024;
/** Rows of a list at most: all results are in memory until they are printed. */
const maxRows = 1_000_000;

export const rosterCommand = operatorCommand({
  description:
    "Check which teachers on a school's list are eligible for a purpose. The list is a CSV with a reg_no, t_id or " +
    "nin column (the first with a value counts; a row whose numbers belong to different teachers is refused). Where " +
    "it has a name column, a name that differs from the registered one is marked: impostors use real numbers. " +
    "Nothing is attested, and no NIN is printed: a school that needs envelopes for its list becomes a partner (tvs " +
    "partners add) or asks one, who sends it to POST /v1/inter-agency/batch, 100 teachers at a time. " +
    "Exit 0: all eligible; 1: some are not; 2: not readable",
  example:
    "tvs roster staff.csv --purpose SCHOOL_EMPLOYMENT_VERIFICATION --out result.csv\n" +
    "  tvs roster - --purpose SCHOOL_EMPLOYMENT_VERIFICATION --json < staff.csv",
  args: {
    file: operand("The list, or - for standard input"),
    purpose: {
      ...option("P", "The purpose to check eligibility for", (text, flag) =>
        parseChoice(text, flag, purposes),
      ),
      required: true,
      values: { oneOf: purposes },
    },
    out: option("FILE", "Also write the rows as CSV, to a new file"),
    force: flag("Replace the file that --out names"),
  },
  prepare: ({ file, out: path, force }, config) =>
    prepareIfNamed({ flag: "--out", path, force, config, inputs: file === "-" ? [] : [file] }),
  async act({ teachers, blindIndex, settingsInForce, calendar, clock }, args, out) {
    const { file, purpose } = args;
    const today = calendar.dateAt(clock.now());
    const { policy } = settingsInForce;
    const { results, hasNames } = await judgeFile(file, { teachers, blindIndex, purpose, policy, today });
    if (results.length === 0)
      throw new TvsError("INPUT_UNREADABLE", `${nameOf(file)} has no rows below its header`);
    await out?.write(rowsText(results, hasNames));
    const eligible = results.filter((row) => row.eligible).length;
    const percentage = percentageOf(eligible, results.length);
    print(args, { file, purpose, rows: results.length, eligible, percentage, results }, () => {
      const differing = results.filter((row) => row.nameMatches === false).length;
      const names = differing === 0 ? "" : `; ${differing} listed under another name than the registered one`;
      const summary = `${eligible} of ${results.length} eligible for ${purpose} (${percentage} %)${names}`;
      return out === undefined ? `${rosterTable(results, hasNames)}\n${summary}` : summary;
    });
    if (eligible < results.length) process.exitCode = exitCodes.refused;
  },
});

/**
 * Reads and judges row by row, so that a list of any length needs the memory of its results alone.
 * @throws TvsError INPUT_UNREADABLE
 */
async function judgeFile(file: string, dependencies: RosterDependencies) {
  const results: RosterRow[] = [];
  let header: RosterHeader | undefined;
  let judging: Promise<RosterRow>[] = [];
  try {
    for await (const { line, cells } of readRecords(file)) {
      if (header === undefined) {
        header = readRosterHeader(cells);
        continue;
      }
      judging.push(judgeRosterRow(cells, { header, line }, dependencies));
      if (judging.length < width) continue;
      results.push(...(await Promise.all(judging)));
      judging = [];
      if (results.length >= maxRows)
        throw new TvsError("INPUT_UNREADABLE", `${nameOf(file)} has more than a million rows; split it`);
    }
  } catch (error) {
    await Promise.allSettled(judging);
    throw explainUnreadable(file, error);
  }
  header ??= readRosterHeader([]);
  results.push(...(await Promise.all(judging)));
  return { results, hasNames: header.places.has("name") };
}

/** The records of a list without its empty lines. */
async function* readRecords(file: string): AsyncGenerator<TableRecord> {
  const bytes: AsyncIterable<Uint8Array> = file === "-" ? process.stdin : createReadStream(file);
  for await (const records of readCsv(bytes, { maxRecordBytes, rules: "lenient" }))
    for (const record of records) if (record.cells.length > 1 || record.cells[0] !== "") yield record;
}

function explainUnreadable(file: string, error: unknown): unknown {
  if (error instanceof UnreadableError)
    return new TvsError("INPUT_UNREADABLE", `${nameOf(file)}, line ${error.line}: ${error.message}`);
  const isOfFile = !(error instanceof TvsError) && typeof (error as { code?: unknown }).code === "string";
  return isOfFile ? new TvsError("INPUT_UNREADABLE", `${nameOf(file)} cannot be read`) : error;
}

function nameOf(file: string): string {
  return file === "-" ? "standard input" : file;
}

function rowsText(rows: readonly RosterRow[], hasNames: boolean): string {
  const columns = { line: "line", regNo: "reg_no", tId: "t_id", name: "name", found: "found" };
  const verdict = { status: "status", eligible: "eligible", reasons: "reasons", error: "error" };
  return stringify(
    rows.map((row) => ({ ...row, reasons: row.reasons.join(" ") })),
    {
      header: true,
      columns: { ...columns, ...verdict, ...(hasNames ? { nameMatches: "name_matches" } : {}) },
      cast: { boolean: String },
      // A name that begins like a formula must not become one in the spreadsheet that opens this.
      escape_formulas: true,
    },
  );
}

function rosterTable(rows: readonly RosterRow[], hasNames: boolean): string {
  const listed = ({ nameMatches }: RosterRow) =>
    nameMatches === null ? null : nameMatches ? "matches" : "DIFFERS";
  return listing(rows, {
    LINE: "line",
    "REG NO": "regNo",
    "T ID": "tId",
    NAME: "name",
    ...(hasNames ? { "LISTED NAME": listed } : {}),
    STATUS: "status",
    ELIGIBLE: ({ eligible }) => (eligible ? "yes" : "no"),
    WHY: ({ error, reasons }) => error ?? reasons.join(", "),
  });
}
