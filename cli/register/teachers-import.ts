import { createReadStream, statSync } from "node:fs";
import { constants } from "node:os";
import { basename } from "node:path";
import type { Config } from "../../src/config.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { describeMissingPart } from "../../src/domain/import/arrival.ts";
import type { ImportOptions, ImportProgress } from "../../src/domain/import/import.ts";
import { importIntoRegister } from "../../src/domain/import/import.ts";
import { describeLosses, maxLostPercent } from "../../src/domain/import/losses.ts";
import { refuseOpenQuestions } from "../../src/domain/import/mapping.ts";
import type { ReadOptions } from "../../src/domain/import/read.ts";
import type { ImportIssue, ImportResult } from "../../src/domain/import/report.ts";
import { describeIssueCodeCount, listFirstRejections } from "../../src/domain/import/report.ts";
import { csvHeaderLine, templateColumns } from "../../src/domain/import/rows.ts";
import { type ArgValues, configOf, operand, option, toggle } from "../command.ts";
import { logWriterOf } from "../evidence/open-evidence.ts";
import { makeImportDependencies, requireRegister, withRegister } from "../open.ts";
import { defineTvsCommand } from "../operator-command.ts";
import { getMainUrl } from "../program.ts";
import { prepareOptionalOutputFile } from "../safe/output-file.ts";
import {
  exitCodes,
  formatListTable,
  formatMembers,
  hint,
  printNote,
  printNoteTable,
  printResult,
  type TableColumns,
} from "../terminal/output.ts";
import { createProgressBar, type ProgressBar } from "../terminal/progress.ts";
import { actorArg } from "./operator-name.ts";
import { fileFormatArgs, readMappingFile, readRememberedMapping, rememberMapping } from "./teachers-map.ts";
import { makeSheetReader } from "./workbook-process.ts";

const readBytes = 256 * 1024;

const importArgs = {
  file: { ...operand(), required: false },
  template: toggle(),
  "dry-run": toggle(),
  baseline: toggle(),
  report: option("FILE"),
  force: toggle(),
  "allow-change": toggle(),
  "lift-revocations": toggle(),
  strict: toggle(),
  map: option("FILE"),
  ...fileFormatArgs,
  ...actorArg,
} as const;

export const importTeachersCommand = defineTvsCommand("teachers import", {
  args: importArgs,
  async run({ args }) {
    if (args.template === true) return printTemplate(args);
    const { file } = args;
    if (file === undefined)
      throw new TvsError("USAGE", "name the extract, or give --template for an empty one to fill in");
    const reading = readingOf(args);
    const config = configOf(args);
    const totalBytes = sizeOf(file);
    await requireRegister(config);
    // Checks the report's path first: if the report cannot be written, nothing is imported.
    const { report: path, force } = args;
    const report = prepareOptionalOutputFile({ flag: "--report", path, force, config, inputs: [file] });
    const stopping = stopAtSignals();
    const progress = createProgress(totalBytes);
    const result = await importExtract(file, reading, config, {
      dryRun: args["dry-run"] === true,
      allowChange: args["allow-change"] === true,
      liftRevocations: args["lift-revocations"] === true,
      baseline: args.baseline === true,
      strict: args.strict === true,
      listRejected: args.json === true,
      stop: stopping.signal,
      onProgress: progress.show,
      ...(report === undefined ? {} : { writeReport: (text) => report.write(text) }),
    }).finally(() => {
      stopping.end();
      progress.stop();
    });
    noteRemarks(args, result);
    const { codes: _codes, ...counts } = result;
    printResult(args, counts, () => importSummary(result));
    if (result.dryRun) hint(args, "the same command without --dry-run applies it");
    else if (result.stopped === undefined) hint(args, "tvs status shows the register as it is now");
    const isNew = result.rejected > 0 && result.sameRejections !== true;
    if (isNew || result.stopped !== undefined) process.exitCode = exitCodes.refused;
  },
});

/** Reads the options about the file. @throws TvsError INPUT_UNREADABLE if --map is invalid or has open questions */
function readingOf({ delimiter, encoding, sheet, map }: ArgValues<typeof importArgs>): ReadOptions {
  const mapping = map === undefined ? undefined : readMappingFile(map);
  if (mapping !== undefined) refuseOpenQuestions(mapping, basename(map as string));
  return { delimiter, encoding, sheet, mapping };
}

function importExtract(file: string, reading: ReadOptions, config: Config, options: ImportOptions) {
  return withRegister(config, async (operator) => {
    // Stops if the database is an old copy that lost rows: new teachers would get the ids of the lost teachers.
    await logWriterOf(operator).reconcile();
    const { settings } = operator;
    const input = {
      name: basename(file),
      bytes: createReadStream(file, { highWaterMark: readBytes }),
      reading: { ...reading, remembered: await readRememberedMapping(settings) },
      readSheet: makeSheetReader(getMainUrl()),
      onRemembered: () => printNote("read by the remembered mapping; tvs teachers map --show prints it"),
    };
    const result = await importIntoRegister(input, makeImportDependencies(operator), options);
    const isApplied = result.dryRun !== true && result.stopped === undefined;
    if (isApplied && reading.mapping !== undefined) await rememberMapping(settings, reading.mapping);
    return result;
  });
}

/** Handles signals such as Ctrl-C: the first stops the import after the current commit, the second ends the process. */
function stopAtSignals(): { signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) process.exit(128 + constants.signals[name]);
    controller.abort();
  };
  const names = ["SIGHUP", "SIGINT", "SIGTERM"] as const;
  for (const name of names) process.on(name, stop);
  return {
    signal: controller.signal,
    end() {
      for (const name of names) process.off(name, stop);
    },
  };
}

function sizeOf(file: string): number {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) throw new TvsError("INPUT_UNREADABLE", `${file}: there is no such file`);
  if (found.isDirectory()) throw new TvsError("INPUT_UNREADABLE", `${file} is a folder, not an extract`);
  return found.size;
}

function createProgress(totalBytes: number): { show(phase: ImportProgress): void; stop(): void } {
  let shown: { readonly phase: ImportProgress["phase"]; readonly bar: ProgressBar } | undefined;
  return {
    show({ phase, total, done }) {
      if (shown?.phase !== phase) {
        shown?.bar.stop();
        const words =
          phase === "check" ? { label: "checking", unit: "MB" } : { label: "applying", unit: "rows" };
        shown = { phase, bar: createProgressBar({ ...words, total: total ?? totalBytes }) };
      }
      shown.bar.show(done);
    },
    stop: () => shown?.bar.stop(),
  };
}

const shownRows = 5;

function noteRemarks(
  args: { json?: boolean | undefined; report?: string | undefined },
  { stopped, abandoned, rejected, warnings, sameRejections }: ImportResult,
): void {
  if (abandoned !== undefined) {
    const left = `an unfinished import of ${abandoned.file} was left at row ${abandoned.row}`;
    printNote(`${left}; import that file again if it is needed`);
  }
  if (sameRejections === true && stopped === undefined)
    printNote(`${rejected} ${rejected === 1 ? "row" : "rows"} rejected, the same as last time`);
  if (stopped?.by === "strict") printNote(whyStopped(stopped));
  if (stopped?.by === "brake")
    printNote(`${whyStopped(stopped)}. If that is intended, import again with --allow-change`);
  if (args.report !== undefined) return;
  if (rejected > 0) hint(args, "--report FILE lists the rejected rows, and why");
  else if (warnings > 0) hint(args, "--report FILE lists the rows with a warning, and why");
}

function whyStopped(stopped: NonNullable<ImportResult["stopped"]>): string {
  if (stopped.by === "strict") return "nothing was changed: --strict was given, and rows were rejected";
  const { losses } = stopped;
  const share = `${describeLosses(losses)} would be lost, more than ${maxLostPercent} %`;
  const reasons = [...stopped.missing.map(describeMissingPart), ...(losses.length === 0 ? [] : [share])];
  return `nothing was changed: ${reasons.join("; ")}`;
}

function importSummary(result: ImportResult): string {
  const { file, sheet, sha256, rows, inserted, updated, unchanged, rejected, warnings, events } = result;
  const { codes, stopped, dryRun, unknownColumns, sameRejections, firstRevokes } = result;
  const done = rows > 0 && rejected === rows ? "nothing changed, every row was rejected" : "done";
  const figures = formatMembers({
    file,
    ...(sheet === undefined ? {} : { sheet }),
    ...{ sha256, rows, inserted, updated, unchanged, rejected, warnings, events },
    ...(unknownColumns === undefined ? {} : { "not known": unknownColumns.join(", ") }),
    ...(sameRejections === true ? { "rejected rows": "the same as last time" } : {}),
    ...(firstRevokes === undefined ? {} : { revocations: revokes[firstRevokes] }),
    import: stopped !== undefined ? "stopped, nothing changed" : dryRun ? "dry run, nothing changed" : done,
  });
  const first = listFirstRejections(codes, shownRows);
  const parts = [figures];
  if (codes.length > 0) parts.push(formatListTable(codes.map(describeIssueCodeCount), codeColumns));
  if (first.length > 0) parts.push(`the first rejected rows:\n${formatListTable(first, issueColumns)}`);
  return parts.join("\n\n");
}

const revokes: Readonly<Record<NonNullable<ImportResult["firstRevokes"]>, string>> = {
  nobody:
    "nobody is revoked by this file; if somebody should be, look whether a column says so that is not read",
  everybody: "everybody is revoked by this file; look whether the dates or words mean that",
};

const codeColumns: TableColumns<ReturnType<typeof describeIssueCodeCount>> = {
  ROWS: "rows",
  WERE: ({ rejects }) => (rejects ? "rejected" : "warning"),
  CODE: "code",
  BECAUSE: "meaning",
};

const issueColumns: TableColumns<ImportIssue> = {
  LINE: "line",
  NUMBER: ({ regNo }) => regNo ?? "-",
  COLUMN: ({ field }) => field ?? "the row",
  CODE: "code",
};

/** Prints an empty extract on stdout, so that it can be redirected to a file, and explains its columns on stderr. */
function printTemplate(args: { file?: string | undefined; json?: boolean | undefined }): void {
  if (args.file !== undefined)
    throw new TvsError("USAGE", "--template prints an empty extract and reads no file");
  printResult(args, templateColumns, () => csvHeaderLine);
  if (args.json === true) return;
  const rows = templateColumns.map((one) => [one.column, one.required ? "yes" : "no", one.explanation]);
  printNoteTable(["COLUMN", "REQUIRED", "WHAT STANDS IN IT"], rows);
}
