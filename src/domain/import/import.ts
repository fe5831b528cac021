import type { ImportStore } from "../../store/imports.ts";
import type { TeacherStore } from "../../store/teachers.ts";
import type { BlindIndex } from "../blind-index.ts";
import type { Clock, TimeZoneCalendar } from "../clock.ts";
import { TvsError } from "../errors.ts";
import { applyStagedRows, createSupersededError } from "./apply.ts";
import { listMissingParts, type MissingPart } from "./arrival.ts";
import { checkFile, type FileCheckCounts, type FileCheckInput } from "./check.ts";
import { findExcessiveLosses, importLossWindowMs, zeroCounts } from "./losses.ts";
import { type Extract, type ImportInput, readExtract } from "./read.ts";
import type { ImportIssue, ImportResult } from "./report.ts";
import { createIssueCodeTally, formatReport, isRejection, omitIssueIdentity } from "./report.ts";

/** Maximum rows in one commit. Larger commits need more memory and save little time. */
const defaultMaxChunkRows = 8_000;

export type ImportDependencies = {
  readonly teachers: TeacherStore;
  readonly imports: ImportStore;
  readonly blindIndex: BlindIndex;
  readonly calendar: TimeZoneCalendar;
  readonly clock: Clock;
  readonly actor: string;
};

/** Progress of an import. In phase "check", `done` counts bytes and `total` is null; in "apply", both count rows. */
export type ImportProgress = {
  readonly phase: "check" | "apply";
  readonly done: number;
  readonly total: number | null;
};

export type ImportOptions = {
  /** Checks the file and counts the changes without making them. */
  readonly dryRun?: boolean;
  /** Creates no events, so that filling a register notifies no partner. */
  readonly baseline?: boolean;
  /** Imports even if the brake would stop the import because of losses, missing columns or missing rows. */
  readonly allowChange?: boolean;
  /** Lets the extract lift revocations that the operator made with `tvs teachers revoke`. */
  readonly liftRevocations?: boolean;
  /** Marks an import of a sandbox's sample teachers. Later imports are not compared with this import. */
  readonly isSample?: boolean;
  /** Changes nothing if any row is rejected. */
  readonly strict?: boolean;
  readonly listRejected?: boolean;
  readonly maxChunkRows?: number;
  /** Stops the import after the current commit. */
  readonly stop?: AbortSignal;
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Receives the report's text in pieces. `text` can be read only until the returned promise is settled. */
  readonly writeReport?: (text: AsyncIterable<string>) => Promise<void>;
};

/**
 * Imports an extract: checks the whole file, then applies the rows that were not rejected.
 *
 * Teachers without a row stay unchanged. Importing a file again changes nothing. After a killed import, importing the
 * same file again applies the remaining rows.
 * @throws TvsError INPUT_UNREADABLE, REFUSED if another import begins or `stop` is aborted, STORE_* with the progress
 */
export async function importIntoRegister(
  input: ImportInput,
  dependencies: ImportDependencies,
  options: ImportOptions = {},
): Promise<ImportResult> {
  const staging = await dependencies.imports.openStaging();
  const extract = readExtract(input, dependencies.blindIndex);
  try {
    const result = await runImport(extract, { ...dependencies, staging }, options);
    await options.writeReport?.(formatReport(result, staging.issues));
    return result;
  } finally {
    staging.close();
  }
}

async function runImport(
  extract: Extract,
  dependencies: ImportDependencies & Pick<FileCheckInput, "staging">,
  options: ImportOptions,
): Promise<ImportResult> {
  const { calendar, clock, imports, blindIndex, staging } = dependencies;
  const { dryRun, baseline, liftRevocations = false, listRejected, onProgress, stop } = options;
  const checkedAt = clock.now();
  const tally = createTally(blindIndex);
  const context: FileCheckInput = {
    ...dependencies,
    ...{ checkedAt, today: calendar.dateAt(checkedAt), announce: baseline !== true, liftRevocations },
    addIssues(issues) {
      tally.add(issues);
      staging.addIssues(issues);
    },
  };
  const checked = await checkFile(extract, context, () => {
    if (stop?.aborted) throw new TvsError("REFUSED", "stopped before anything was changed");
    onProgress?.({ phase: "check", done: extract.bytes, total: null });
  });
  const last = await imports.lastApplied();
  const { format, names, sheet, sha256 } = extract;
  const arrival = { format, rows: checked.rows, fields: new Set(names.fields), unknown: names.unknown };
  const stopped = await stopReasonOf({ checked, missing: listMissingParts(arrival, last) }, context, options);
  const isApplied = stopped === undefined && !dryRun;
  const nothing = { inserted: 0, updated: 0, unchanged: 0, events: 0 };
  const { inserted, updated, unchanged, rejected, events, ...abandoned } = isApplied
    ? await applyChecked(extract, { checked, tally, context }, options)
    : { ...(stopped === undefined ? checked.planned : nothing), rejected: checked.rejected };
  return {
    ...{ file: extract.name, ...(sheet === null ? {} : { sheet }), sha256, rows: checked.rows },
    ...{ inserted, updated, unchanged, rejected, warnings: checked.warnings, events },
    codes: tally.counts(extract.explanations),
    ...abandoned,
    ...(rejected === 0 ? {} : { sameRejections: tally.areKnown(last?.rejections) }),
    ...(last === null ? checkFirstRevocations(checked) : {}),
    ...(dryRun ? { dryRun } : {}),
    ...(stopped === undefined ? {} : { stopped }),
    ...(names.unknown.length === 0 ? {} : { unknownColumns: names.unknown.map(({ label }) => label) }),
    ...(listRejected === true && rejected > 0
      ? { rejectedRows: [...staging.issues("rejected")].flat().map(omitIssueIdentity) }
      : {}),
  };
}

/** Reports whether a first extract revokes nobody or everybody, which is probably a mistake. */
function checkFirstRevocations({ planned, revoked }: FileCheckCounts): Pick<ImportResult, "firstRevokes"> {
  const accepted = planned.inserted + planned.updated + planned.unchanged;
  if (accepted === 0) return {};
  if (revoked === 0) return { firstRevokes: "nobody" };
  return revoked === accepted ? { firstRevokes: "everybody" } : {};
}

async function stopReasonOf(
  { checked, missing }: { checked: FileCheckCounts; missing: readonly MissingPart[] },
  { imports, checkedAt }: FileCheckInput,
  { strict, allowChange }: ImportOptions,
): Promise<ImportResult["stopped"]> {
  const { rejected, lost, holdings } = checked;
  if (strict && rejected > 0) return { by: "strict" };
  if (allowChange) return undefined;
  const earlier = await imports.losses(checkedAt - importLossWindowMs);
  const losses = findExcessiveLosses({ lost, of: holdings }, earlier);
  return losses.length + missing.length > 0 ? { by: "brake", losses, missing } : undefined;
}

async function applyChecked(
  { name: file, sha256, format, names, explanations }: Extract,
  { checked, tally, context }: { checked: FileCheckCounts; tally: Tally; context: FileCheckInput },
  { isSample = false, allowChange, stop, onProgress, maxChunkRows = defaultMaxChunkRows }: ImportOptions,
) {
  const { imports, clock } = context;
  const { rows, warnings, planned, holdings } = checked;
  const { run: begun, abandoned } = await imports.begin({
    ...{ file, sha256, isSample, unchanged: planned.unchanged, at: clock.now() },
    losses: allowChange ? "allowed" : { lost: zeroCounts, of: holdings },
  });
  const onRow = (done: number) => onProgress?.({ phase: "apply", done, total: rows });
  const run = await applyStagedRows(begun, { ...context, format, rows, maxChunkRows, stop, onRow });
  const { inserted, updated, unchanged, events } = run;
  // Includes rows that the check accepted and `applyStagedRows` rejected.
  const rejected = rows - inserted - updated - unchanged;
  const end = { rows, rejected, warnings, fields: names.fields, rejections: tally.kept(), at: clock.now() };
  if (!(await imports.finish(run, { ...end, codes: tally.counts(explanations) })))
    throw createSupersededError(run.applied);
  // Reports only an unfinished import of another file. An unfinished import of the same file is complete now.
  const isLeftIncomplete = abandoned !== null && abandoned.sha256 !== sha256;
  return {
    ...{ inserted, updated, unchanged, events, rejected },
    ...(isLeftIncomplete ? { abandoned: { file: abandoned.file, row: abandoned.applied } } : {}),
  };
}

/** Maximum number of digests of rejected rows that an import stores. If there are more, no digest is stored. */
const maxKept = 20_000;
/** Number of hexadecimal digits of a stored digest, which has 64 bits. */
const digestLetters = 16;

type Tally = ReturnType<typeof createTally>;

/** Counts the codes of an import's issues, and collects digests of its rejections. */
function createTally(blindIndex: Pick<BlindIndex, "row">) {
  const codes = createIssueCodeTally();
  const digests = new Set<string>();
  return {
    counts: codes.counts,
    add(issues: readonly ImportIssue[]): void {
      codes.add(issues);
      for (const issue of issues) {
        if (!isRejection(issue) || digests.size > maxKept) continue;
        const row = `${issue.identity ?? issue.regNo ?? `line ${issue.line}`}\0${issue.code}`;
        digests.add(blindIndex.row(row).toHex().slice(0, digestLetters));
      }
    },
    /** The digests to store with the import; null if there are more than `maxKept`. */
    kept: (): string[] | null => (digests.size > maxKept ? null : [...digests].sort()),
    /** Whether the last import had all rejections of this import too. */
    areKnown: (last: ReadonlySet<string> | null | undefined): boolean =>
      last != null && digests.size <= maxKept && [...digests].every((digest) => last.has(digest)),
  };
}
