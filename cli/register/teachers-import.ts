import { createReadStream, statSync } from "node:fs";
import { constants } from "node:os";
import { basename } from "node:path";
import words from "../../data/commands.json" with { type: "json" };
import type { Config } from "../../src/config.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { describeMissing } from "../../src/domain/import/arrival.ts";
import { type ImportPhase, importRegister } from "../../src/domain/import/import.ts";
import { describeLosses, maxLostPercent } from "../../src/domain/import/losses.ts";
import { refuseOpen } from "../../src/domain/import/mapping.ts";
import { type FilePiece, readPieces } from "../../src/domain/import/read.ts";
import {
  describeCode,
  firstRejected,
  type ImportIssue,
  type ImportResult,
} from "../../src/domain/import/report.ts";
import { emptyExtract, templateColumns } from "../../src/domain/import/rows.ts";
import { type ArgsOf, command, configOf, flag, operand, option } from "../command.ts";
import { requireWholeLog } from "../evidence/open-evidence.ts";
import { importDependencies, openOperator, requireRegister } from "../open.ts";
import { workerEntry } from "../program.ts";
import { type OutputFile, prepareIfNamed } from "../safe/output-file.ts";
import {
  type Columns,
  exitCodes,
  hint,
  listing,
  note,
  print,
  record,
  table,
  terminalWidth,
} from "../terminal/output.ts";
import { type Bar, createBar } from "../terminal/progress.ts";
import { byArg } from "./operator-name.ts";
import { readingArgs, readMappingFile, rememberedMapping, rememberMapping } from "./teachers-map.ts";
import { sheetReaderIn } from "./workbook-process.ts";

const readBytes = 256 * 1024;

const importArgs = {
  file: { ...operand("The extract"), required: false },
  template: flag("Print an empty extract, and on stderr what stands in each column; nothing is imported"),
  "dry-run": flag("Check everything, count what would happen, change nothing"),
  baseline: flag("Emit no events: partners know these statuses already"),
  report: option("FILE", "Write the rejected rows and the warnings, as JSON, to a new file"),
  force: flag("Replace the file that --report names"),
  "allow-change": flag(
    `Continue even if more than ${maxLostPercent} % of the valid licences, of the verified certificates or of the ` +
      "revocations would be lost, or if columns or rows no longer arrive: a misspelled name, a column that the last " +
      "import had, a first load without licences, no rows or fewer than half of the last import's",
  ),
  "lift-revocations": flag(
    "Let the extract lift or change revocations that were made by tvs teachers revoke; otherwise they are kept",
  ),
  strict: flag("Apply nothing when any row is rejected"),
  map: option("FILE", "Read the extract by this mapping, and later ones like it, too"),
  ...readingArgs,
  ...byArg,
} as const;

export const importCommand = command({
  ...words["teachers import"],
  args: importArgs,
  async run({ args }) {
    if (args.template === true) return printTemplate(args);
    const { file } = args;
    if (file === undefined)
      throw new TvsError("USAGE", "name the extract, or give --template for an empty one to fill in");
    const how = howToImport(args);
    const config = configOf(args);
    sizeOf(file);
    await requireRegister(config);
    // A report that cannot be written is noticed before anything is read or changed.
    const { report: path, force } = args;
    const report = prepareIfNamed({ flag: "--report", path, force, config, inputs: [file] });
    const stopping = stopAtSignals();
    const importing = { ...how, config, report, stop: stopping.signal, listRejected: args.json === true };
    const result = await importExtract(file, importing).finally(stopping.end);
    tellRemarks(args, result);
    const { codes: _codes, ...counts } = result;
    print(args, counts, () => importSummary(result));
    if (result.dryRun) hint(args, "the same command without --dry-run applies it");
    else if (result.stopped === undefined) hint(args, "tvs status shows the register as it is now");
    const isNew = result.rejected > 0 && result.sameRejections !== true;
    if (isNew || result.stopped !== undefined) process.exitCode = exitCodes.refused;
  },
});

/** @throws TvsError INPUT_UNREADABLE for a mapping that cannot be used, and USAGE while it has open questions */
function howToImport(args: ArgsOf<typeof importArgs>) {
  const { delimiter, encoding, sheet, map } = args;
  const mapping = map === undefined ? undefined : readMappingFile(map);
  if (mapping !== undefined) refuseOpen(mapping, basename(map as string));
  return {
    reading: { delimiter, encoding, sheet, mapping },
    dryRun: args["dry-run"] === true,
    allowChange: args["allow-change"] === true,
    liftRevocations: args["lift-revocations"] === true,
    baseline: args.baseline === true,
    strict: args.strict === true,
  };
}

type Importing = ReturnType<typeof howToImport> & {
  readonly config: Config;
  readonly report: OutputFile | undefined;
  readonly listRejected: boolean;
  readonly stop: AbortSignal;
};

async function importExtract(file: string, how: Importing): Promise<ImportResult> {
  const { config, reading, report, stop, dryRun, ...options } = how;
  const progress = createProgress(sizeOf(file));
  const operator = await openOperator(config);
  try {
    await requireWholeLog(operator);
    const name = basename(file);
    const input = {
      name,
      bytes: createReadStream(file, { highWaterMark: readBytes }),
      reading: { ...reading, remembered: await rememberedMapping(operator.settings) },
      readSheet: sheetReaderIn(workerEntry()),
    };
    let sheet: string | null = null;
    const pieces = tellingMapping(readPieces(input, operator.blindIndex), (name) => {
      sheet = name;
    });
    const result = await importRegister({ name, pieces }, importDependencies(operator), {
      ...{ ...options, dryRun, stop, onProgress: progress.show },
      ...(report === undefined ? {} : { writeReport: (text) => report.write(text) }),
    });
    const isApplied = result.dryRun !== true && result.stopped === undefined;
    if (isApplied && reading.mapping !== undefined) await rememberMapping(operator.settings, reading.mapping);
    return sheet === null ? result : { ...result, sheet };
  } finally {
    progress.stop();
    await operator.driver.close();
  }
}

async function* tellingMapping(
  pieces: AsyncIterable<FilePiece>,
  tellSheet: (name: string | null) => void,
): AsyncGenerator<FilePiece> {
  let isTold = false;
  for await (const piece of pieces) {
    tellSheet(piece.sheet);
    if (!isTold && piece.mappedBy === "remembered")
      note("read by the remembered mapping; tvs teachers map --show prints it");
    isTold = true;
    yield piece;
  }
}

/** A signal that is aborted at the first one from outside, so that the commit under way is finished; a second kills. */
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

/** Two bars, one after the other, on a terminal only. */
function createProgress(totalBytes: number): { show(phase: ImportPhase): void; stop(): void } {
  let shown: { readonly phase: ImportPhase["phase"]; readonly bar: Bar } | undefined;
  return {
    show({ phase, total, done }) {
      if (shown?.phase !== phase) {
        shown?.bar.stop();
        const words =
          phase === "check" ? { label: "checking", unit: "MB" } : { label: "applying", unit: "rows" };
        // A run that goes on has not applied the rows before.
        const from = phase === "apply" ? done : 0;
        shown = { phase, bar: createBar({ ...words, total: total ?? totalBytes, from }) };
      }
      shown.bar.show(done);
    },
    stop: () => shown?.bar.stop(),
  };
}

/** What an import says to people: beside --json, the report and the console. */

const shownRows = 5;

/** Says on stderr what is to be known beside the figures, and at a terminal what shows more. */
function tellRemarks(
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

function whyStopped(stopped: NonNullable<ImportResult["stopped"]>): string {
  if (stopped.by === "strict") return "nothing was changed: --strict was given, and rows were rejected";
  const { losses } = stopped;
  const share = `${describeLosses(losses)} would be lost, more than ${maxLostPercent} %`;
  const reasons = [...stopped.missing.map(describeMissing), ...(losses.length === 0 ? [] : [share])];
  return `nothing was changed: ${reasons.join("; ")}`;
}

/** The figures of an import, the codes of its rows, and where the first rejected ones stand. */
function importSummary(result: ImportResult): string {
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
function printTemplate(args: { file?: string | undefined; json?: boolean | undefined }): void {
  if (args.file !== undefined)
    throw new TvsError("USAGE", "--template prints an empty extract and reads no file");
  print(args, templateColumns, () => emptyExtract);
  if (args.json === true) return;
  const rows = templateColumns.map((one) => [one.column, one.required ? "yes" : "no", one.explanation]);
  const terminal = { isTTY: process.stderr.isTTY === true, columns: terminalWidth() };
  note(table(["COLUMN", "REQUIRED", "WHAT STANDS IN IT"], rows, terminal));
}
