import type { ImportStore } from "../../store/imports.ts";
import type { TeacherStore } from "../../store/teachers.ts";
import type { BlindIndex } from "../blind-index.ts";
import type { Calendar, Clock } from "../clock.ts";
import { TvsError } from "../errors.ts";
import { applyStaged, supersededError } from "./apply.ts";
import { missingFrom } from "./arrival.ts";
import { type CheckedFile, checkFile, type ImportContext } from "./check.ts";
import { lossesBeyond, lossWindowMs, noHoldings } from "./losses.ts";
import type { FilePiece } from "./read.ts";
import {
  createCodeTally,
  type ImportIssue,
  type ImportResult,
  isRejection,
  reportText,
  shownIssue,
} from "./report.ts";

/** Rows in one commit, at most: above this, memory grows faster than a row gets cheaper. */
const defaultMaxChunkRows = 8_000;

export type ImportDependencies = {
  readonly teachers: TeacherStore;
  readonly imports: ImportStore;
  readonly blindIndex: BlindIndex;
  readonly calendar: Calendar;
  readonly clock: Clock;
  readonly actor: string;
};

/** How far the import has come: bytes checked, then rows applied. */
export type ImportPhase = {
  readonly phase: "check" | "apply";
  readonly done: number;
  readonly total: number | null;
};

export type ImportOptions = {
  /** Checks and counts, and changes nothing. */
  readonly dryRun?: boolean;
  /** Causes no events: partners know the statuses of the file already. */
  readonly baseline?: boolean;
  /** Releases the brake, on what would be lost and on what does not arrive. */
  readonly allowChange?: boolean;
  /** Lets the extract decide about revocations that the operator made by a command. */
  readonly liftRevocations?: boolean;
  /** Marks made-up teachers of a sandbox: no later import is compared with them. */
  readonly isSample?: boolean;
  /** Applies nothing when any row is rejected. */
  readonly strict?: boolean;
  readonly listRejected?: boolean;
  readonly maxChunkRows?: number;
  /** Aborted, it stops the import after the commit under way. */
  readonly stop?: AbortSignal;
  readonly onProgress?: (progress: ImportPhase) => void;
  /** Gets the text of the report, which exists only while the import is open. */
  readonly writeReport?: (text: AsyncIterable<string>) => Promise<void>;
};

/**
 * Imports an extract into the register: checks all of it, then applies the rows that were not rejected.
 *
 * A row that the file leaves out changes nothing. The same file applied again changes nothing, and after a kill it
 * applies the rows that are left.
 * @param input `name` is what messages call the extract
 * @throws TvsError INPUT_UNREADABLE when the file cannot be read, REFUSED when another import interferes or the import
 *   was stopped, STORE_* with how far it came
 */
export async function importRegister(
  input: { readonly name: string; readonly pieces: AsyncIterable<FilePiece> },
  dependencies: ImportDependencies,
  options: ImportOptions = {},
): Promise<ImportResult> {
  const staging = await dependencies.imports.openStaging();
  try {
    const outcome = await runImport(input, { ...dependencies, staging }, options);
    const { checked, tally, inserted, updated, unchanged, rejected, events, ...marks } = outcome;
    const { sheet, sha256, rows, warnings, unknown } = checked;
    const result = {
      ...{ file: input.name, ...(sheet === null ? {} : { sheet }), sha256, rows },
      ...{ inserted, updated, unchanged, rejected, warnings, events },
      codes: tally.counts(checked.explanations),
      ...marks,
      ...(unknown.length === 0 ? {} : { unknownColumns: unknown.map(({ label }) => label) }),
      ...(options.listRejected === true && rejected > 0
        ? { rejectedRows: [...staging.issues("rejected")].flat().map(shownIssue) }
        : {}),
    };
    await options.writeReport?.(reportText(result, staging.issues));
    return result;
  } finally {
    staging.close();
  }
}

async function runImport(
  { name, pieces }: Parameters<typeof importRegister>[0],
  dependencies: ImportDependencies & Pick<ImportContext, "staging">,
  options: ImportOptions,
) {
  const { calendar, clock, imports, blindIndex, staging } = dependencies;
  const { dryRun, baseline, liftRevocations = false, onProgress, stop } = options;
  const checkedAt = clock.now();
  const tally = { ...createCodeTally(), ...createRejectionTally(blindIndex) };
  const context: ImportContext = {
    ...dependencies,
    ...{ checkedAt, today: calendar.dateAt(checkedAt), announce: baseline !== true, liftRevocations },
    addIssues(issues) {
      tally.add(issues);
      tally.addRejections(issues);
      staging.addIssues(issues);
    },
  };
  let bytes = 0;
  const checked = await checkFile(pieces, context, (count) => {
    if (stop?.aborted) throw new TvsError("REFUSED", "stopped before anything was changed");
    bytes += count;
    onProgress?.({ phase: "check", done: bytes, total: null });
  });
  const last = await imports.lastApplied();
  const stopped = await stopOf(checked, last, { ...options, imports, checkedAt });
  const isApplied = stopped === undefined && !dryRun;
  const nothing = { inserted: 0, updated: 0, unchanged: 0, events: 0 };
  const counts = isApplied
    ? await applyChecked(name, { checked, tally, context }, options)
    : { ...(stopped === undefined ? checked.planned : nothing), rejected: checked.rejected };
  return {
    ...{ ...counts, checked, tally },
    ...(counts.rejected === 0 ? {} : { sameRejections: tally.areKnown(last?.rejections) }),
    ...(last === null ? firstRevokes(checked) : {}),
    ...(dryRun ? { dryRun } : {}),
    ...(stopped === undefined ? {} : { stopped }),
  };
}

/** Says of a register's first extract that it revokes nobody, or everybody: a column of revocations may not be read. */
function firstRevokes({ planned, revoked }: CheckedFile): Pick<ImportResult, "firstRevokes"> {
  const accepted = planned.inserted + planned.updated + planned.unchanged;
  if (accepted === 0) return {};
  if (revoked === 0) return { firstRevokes: "nobody" };
  return revoked === accepted ? { firstRevokes: "everybody" } : {};
}

async function stopOf(
  checked: CheckedFile,
  last: Awaited<ReturnType<ImportStore["lastApplied"]>>,
  { strict, allowChange, imports, checkedAt }: ImportOptions & { imports: ImportStore; checkedAt: number },
): Promise<ImportResult["stopped"]> {
  const { rejected, lost, holdings } = checked;
  if (strict && rejected > 0) return { by: "strict" };
  if (allowChange) return undefined;
  const missing = missingFrom(checked, last);
  const losses = lossesBeyond({ lost, of: holdings }, await imports.losses(checkedAt - lossWindowMs));
  return losses.length + missing.length > 0 ? { by: "brake", losses, missing } : undefined;
}

async function applyChecked(
  file: string,
  { checked, tally, context }: { checked: CheckedFile; tally: Tally; context: ImportContext },
  { isSample = false, allowChange, stop, onProgress, maxChunkRows = defaultMaxChunkRows }: ImportOptions,
) {
  const { imports, clock } = context;
  const { sha256, rows, format, warnings, planned, holdings, fields, explanations } = checked;
  const { run: begun, abandoned } = await imports.begin({
    ...{ file, sha256, isSample, unchanged: planned.unchanged, at: clock.now() },
    losses: allowChange ? "allowed" : { lost: noHoldings, of: holdings },
  });
  const onRow = (done: number) => onProgress?.({ phase: "apply", done, total: rows });
  const run = await applyStaged(begun, { ...context, format, rows, maxChunkRows, stop, onRow });
  const { inserted, updated, unchanged, events } = run;
  // This includes rows that were refused only when they were applied.
  const rejected = rows - inserted - updated - unchanged;
  const end = { rows, rejected, warnings, fields: [...fields], rejections: tally.kept(), at: clock.now() };
  if (!(await imports.finish(run, { ...end, codes: tally.counts(explanations) })))
    throw supersededError(run.applied);
  // After a kill the same file brings the rest.
  const isLeft = abandoned !== null && abandoned.sha256 !== sha256;
  return {
    ...{ inserted, updated, unchanged, events, rejected },
    ...(isLeft ? { abandoned: { file: abandoned.file, row: abandoned.applied } } : {}),
  };
}

/** Digests that are kept of an import: of more rejected rows all are new. */
const maxKept = 20_000;
/** Letters of a digest: 64 bits. */
const digestLetters = 16;

type Tally = ReturnType<typeof createCodeTally> & ReturnType<typeof createRejectionTally>;

/** Collects the rejections of an import while its rows are checked and applied. */
function createRejectionTally(blindIndex: Pick<BlindIndex, "row">) {
  const digests = new Set<string>();
  return {
    addRejections(issues: readonly ImportIssue[]): void {
      for (const issue of issues) {
        if (!isRejection(issue) || digests.size > maxKept) continue;
        const row = `${issue.identity ?? issue.regNo ?? `line ${issue.line}`}\0${issue.code}`;
        digests.add(blindIndex.row(row).toHex().slice(0, digestLetters));
      }
    },
    /** What is kept with the import; null where there were too many. */
    kept: (): string[] | null => (digests.size > maxKept ? null : [...digests].sort()),
    /** Whether every rejection was one of the last import's too. */
    areKnown: (last: ReadonlySet<string> | null | undefined): boolean =>
      last != null && digests.size <= maxKept && [...digests].every((digest) => last.has(digest)),
  };
}
