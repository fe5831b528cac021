import type { ImportStore } from "../../store/imports.ts";
import type { TeacherStore } from "../../store/teachers.ts";
import type { BlindIndex } from "../blind-index.ts";
import type { Calendar, CalendarDate, Clock } from "../clock.ts";
import { isTvsError, TvsError } from "../errors.ts";
import { applyStaged, supersededError } from "./apply.ts";
import { type AppliedImport, missingFrom } from "./arrival.ts";
import { type CheckedFile, checkFile } from "./check.ts";
import { type Losses, lossesBeyond, lossWindowMs, noHoldings } from "./losses.ts";
import type { FilePiece } from "./read.ts";
import {
  type CodeTally,
  createCodeTally,
  type ImportIssue,
  type ImportResult,
  isRejection,
  reportText,
  shownIssue,
} from "./report.ts";
import type { Staging } from "./store.ts";

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

/** An extract as it is read. `name` is what messages call it. */
type Extract = { readonly name: string; readonly pieces: AsyncIterable<FilePiece> };

/** How far the import has come: bytes checked, then rows applied. */
export type ImportPhase = {
  readonly phase: "check" | "apply";
  readonly done: number;
  readonly total: number | null;
};

export type ImportOptions = {
  /** Checks and counts, and changes nothing. */
  readonly dryRun?: boolean;
  /** Tells partners nothing: the statuses of the file are taken to be known to them. */
  readonly baseline?: boolean;
  /** Releases the brake, on what would be lost and on what does not arrive. */
  readonly allowChange?: boolean;
  /** Lets the extract decide about revocations that the operator made by a command. */
  readonly liftRevocations?: boolean;
  /** Made-up teachers of a sandbox, which are nobody's extract: no later import is compared with them. */
  readonly isSample?: boolean;
  /** Applies nothing when any row is rejected. */
  readonly strict?: boolean;
  readonly listRejected?: boolean;
  readonly maxChunkRows?: number;
  /** Aborted, it stops the import where it is: the commit under way is finished, and none is begun. */
  readonly stop?: AbortSignal;
  readonly onProgress?: (progress: ImportPhase) => void;
  /** Is given the text of the report, which exists only while the import is open. */
  readonly writeReport?: (text: AsyncIterable<string>) => Promise<void>;
};

/**
 * Imports an extract into the register: checks all of it, then applies the rows that were not rejected.
 *
 * A row that is left out of the file changes nothing. Applied again, the same file changes nothing. After a kill the
 * same file applies the rows that are left.
 * @throws TvsError INPUT_UNREADABLE when the file cannot be read, REFUSED when another import interferes or it was
 *   stopped, STORE_* with how far it came
 */
export async function importRegister(
  input: Extract,
  dependencies: ImportDependencies,
  options: ImportOptions = {},
): Promise<ImportResult> {
  const opened = await dependencies.imports.openStaging();
  const codes = createCodeTally();
  const rejections = createRejectionTally(dependencies.blindIndex);
  const staging: Staging = {
    ...opened,
    addIssues(issues) {
      codes.add(issues);
      rejections.add(issues);
      opened.addIssues(issues);
    },
  };
  try {
    const made = await runImport(input, { ...dependencies, staging, codes, rejections }, options);
    const rejectedRows =
      options.listRejected === true && made.rejected > 0 ? await listRejected(staging) : undefined;
    const result = { ...made, ...(rejectedRows === undefined ? {} : { rejectedRows }) };
    await options.writeReport?.(reportText(result, staging.issues));
    return result;
  } finally {
    opened.close();
  }
}

async function listRejected(staging: Staging) {
  const rows: ReturnType<typeof shownIssue>[] = [];
  for (let after = 0; ; ) {
    const page = await staging.issues("rejected", { after, limit: 1000 });
    rows.push(...page.map(shownIssue));
    if (page.length === 0) return rows;
    after = page.at(-1)?.id ?? after;
  }
}

type Dependencies = ImportDependencies & {
  readonly staging: Staging;
  readonly codes: CodeTally;
  readonly rejections: ReturnType<typeof createRejectionTally>;
};

async function runImport(
  input: Extract,
  dependencies: Dependencies,
  options: ImportOptions,
): Promise<ImportResult> {
  const { calendar, clock } = dependencies;
  let bytes = 0;
  const checkedAt = clock.now();
  const today = calendar.dateAt(checkedAt);
  const checked = await checkFile(input.pieces, {
    ...dependencies,
    today,
    announce: options.baseline !== true,
    liftRevocations: options.liftRevocations === true,
    onBytes(count) {
      if (options.stop?.aborted) throw new TvsError("REFUSED", "stopped before anything was changed");
      bytes += count;
      options.onProgress?.({ phase: "check", done: bytes, total: null });
    },
  });
  const { sha256, rows, rejected, warnings, planned } = checked;
  const { imports, codes, rejections } = dependencies;
  const last = await imports.lastApplied();
  const marks = {
    ...(checked.unknown.length === 0 ? {} : { unknownColumns: checked.unknown.map(({ label }) => label) }),
    ...(rejected === 0 ? {} : { sameRejections: rejections.areKnown(last?.rejections) }),
    ...(last === null ? firstRevokes(checked) : {}),
  };
  const base = {
    ...{ file: input.name, sha256, rows, rejected, warnings },
    ...{ codes: codes.counts(checked.explanations), ...marks },
  };
  const earlier = await imports.losses(checkedAt - lossWindowMs);
  const stopped = stopOf(checked, { last, earlier }, options);
  if (stopped !== undefined) {
    const nothing = { inserted: 0, updated: 0, unchanged: 0, events: 0 };
    return { ...base, ...nothing, ...(options.dryRun ? { dryRun: true } : {}), stopped };
  }
  if (options.dryRun) return { ...base, ...planned, dryRun: true };
  const result = await applyChecked(input.name, { ...dependencies, checked, checkedAt, today }, options);
  // Rows that were refused only when they were applied are among the rejected by now.
  const same = result.rejected === 0 ? {} : { sameRejections: rejections.areKnown(last?.rejections) };
  return { ...result, ...marks, ...same };
}

/** Whether the first extract revokes nobody, or everybody: then its revocations may stand in a column that is not read. */
function firstRevokes({ planned, revoked }: CheckedFile): Pick<ImportResult, "firstRevokes"> {
  const standing = planned.inserted + planned.updated + planned.unchanged;
  if (standing === 0) return {};
  if (revoked === 0) return { firstRevokes: "nobody" };
  return revoked === standing ? { firstRevokes: "everybody" } : {};
}

function stopOf(
  checked: CheckedFile,
  { last, earlier }: { last: AppliedImport | null; earlier: Losses },
  options: ImportOptions,
): ImportResult["stopped"] {
  const { rejected, lost, holdings } = checked;
  if (options.strict && rejected > 0) return { by: "strict" };
  if (options.allowChange) return undefined;
  const missing = missingFrom(checked, last);
  const losses = lossesBeyond({ lost, of: holdings }, earlier);
  return losses.length + missing.length > 0 ? { by: "brake", losses, missing } : undefined;
}

async function applyChecked(
  file: string,
  {
    checked,
    ...dependencies
  }: Dependencies & { checked: CheckedFile; checkedAt: number; today: CalendarDate },
  options: ImportOptions,
): Promise<ImportResult> {
  const { imports, clock, codes, rejections } = dependencies;
  const { baseline = false, liftRevocations = false, isSample = false, allowChange, stop } = options;
  const { sha256, rows, format, warnings, planned, holdings } = checked;
  const { run: begun, abandoned } = await imports.begin({
    ...{ file, sha256, isSample, unchanged: planned.unchanged, at: clock.now() },
    losses: allowChange ? "allowed" : { lost: noHoldings, of: holdings },
  });
  let applied = 0;
  const run = await applyStaged(begun, {
    ...dependencies,
    announce: !baseline,
    liftRevocations,
    format,
    maxChunkRows: options.maxChunkRows ?? defaultMaxChunkRows,
    stop,
    onRow(seq) {
      applied = seq;
      options.onProgress?.({ phase: "apply", done: seq, total: rows });
    },
  }).catch((error) => {
    throw withProgress(error, stoppedAfter(applied, rows));
  });
  if (stop?.aborted) throw new TvsError("REFUSED", stoppedAfter(applied, rows));
  const { inserted, updated, unchanged, events } = run;
  // Rows that were refused only when they were applied are among them.
  const rejected = rows - inserted - updated - unchanged;
  const result = { file, sha256, rows, inserted, updated, unchanged, rejected, warnings, events };
  const end = {
    ...{ rows, rejected, warnings, at: clock.now() },
    codes: codes.counts(checked.explanations),
    fields: [...checked.fields],
    rejections: rejections.kept(),
  };
  if (!(await imports.finish(run, end))) throw supersededError(applied);
  // After a kill the same file brings the rest.
  const isLeft = abandoned !== null && abandoned.sha256 !== sha256;
  return {
    ...{ ...result, codes: end.codes },
    ...(isLeft ? { abandoned: { file: abandoned.file, row: abandoned.applied } } : {}),
  };
}

function stoppedAfter(applied: number, rows: number): string {
  return `stopped after ${applied} of ${rows} rows; the same command applies the rest`;
}

/** A failure of the database, with how far the import came; others say it themselves. */
function withProgress(error: unknown, progress: string): unknown {
  if (!isTvsError(error) || !error.code.startsWith("STORE_")) return error;
  return new TvsError(error.code, `${error.message}; ${progress}`, { cause: error });
}

/** Digests that are kept of an import: of more rejected rows all are new. */
const maxKept = 20_000;
/** Letters of a digest: 64 bits. */
const digestLetters = 16;

/** The rejections of an import, collected while its rows are checked and applied. */
function createRejectionTally(blindIndex: Pick<BlindIndex, "row">) {
  const digests = new Set<string>();
  return {
    add(issues: readonly ImportIssue[]): void {
      for (const issue of issues) {
        if (!isRejection(issue) || digests.size > maxKept) continue;
        const what = `${issue.identity ?? issue.regNo ?? `line ${issue.line}`}\0${issue.code}`;
        digests.add(blindIndex.row(what).toHex().slice(0, digestLetters));
      }
    },
    /** What is kept with the import; null where there were too many. */
    kept: (): string[] | null => (digests.size > maxKept ? null : [...digests].sort()),
    /** Whether every rejection was one of the last import's too. */
    areKnown: (last: ReadonlySet<string> | null | undefined): boolean =>
      last != null && digests.size <= maxKept && [...digests].every((digest) => last.has(digest)),
  };
}
