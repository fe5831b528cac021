import { setTimeout as wait } from "node:timers/promises";
import type { Calendar, Clock } from "../clock.ts";
import { TvsError } from "../errors.ts";
import { isDueByCalendar, planCalendarStep } from "../sweep.ts";
import { planWrite, type TeacherStore } from "../teachers/store.ts";
import type { StoredTeacher } from "../teachers/teachers.ts";
import { type BatchSize, createBatchSize } from "./batch-size.ts";
import { duplicateIssue, findKnown, findTaken, ofTeacher } from "./check.ts";
import type { ImportFormat } from "./fields.ts";
import { changesNothing, effectOf, type RowEffect } from "./patch.ts";
import type { ImportIssue } from "./report.ts";
import type { ImportProgress, ImportRun, ImportStore, ImportWrite, PendingRow, Staging } from "./store.ts";

/** How often a chunk is planned anew, and then a row alone, because records have moved on meanwhile. */
const maxAttempts = 5;

type ApplyDependencies = {
  readonly teachers: TeacherStore;
  readonly imports: ImportStore;
  readonly staging: Staging;
  readonly calendar: Calendar;
  readonly clock: Clock;
  readonly actor: string;
  readonly announce: boolean;
  readonly liftRevocations: boolean;
  /** When the check of the file began, in milliseconds since the epoch. */
  readonly checkedAt: number;
  readonly format: ImportFormat;
  readonly maxChunkRows: number;
  /** Aborted when no further commit is to be begun. */
  readonly stop: AbortSignal | undefined;
  readonly onRow: (seq: number) => void;
};

type Context = ApplyDependencies & { readonly batchSize: BatchSize };
type ChunkPlan = {
  readonly writes: ImportWrite[];
  readonly refused: ImportIssue[];
  readonly unchanged: number;
};

/**
 * Applies the staged rows behind the run's progress, in short commits that each move the progress along:
 * after a kill the next run goes on where the last commit ended, no row is applied twice and none is lost.
 * @param lastSeq the last row of the file
 * @returns the run at its end, or where it was stopped
 * @throws TvsError REFUSED when another import has begun meanwhile
 */
export async function applyStaged(
  run: ImportRun,
  lastSeq: number,
  dependencies: ApplyDependencies,
): Promise<ImportRun> {
  const { imports, staging, maxChunkRows } = dependencies;
  const context: Context = { ...dependencies, batchSize: createBatchSize(maxChunkRows) };
  let written: Promise<ImportRun> = Promise.resolve(run);
  let contention = context.batchSize.contention();
  await imports.tune(contention);
  try {
    for (let seq = run.applied; dependencies.stop?.aborted !== true; ) {
      const rows = await staging.pending(seq, context.batchSize.rows());
      if (rows.length === 0) break;
      seq = rows.at(-1)?.seq ?? seq;
      // Planned while the chunk before is written: no two rows of a file are about the same teacher.
      const plan = await planRows(rows, { ...context, recheck: false });
      const before = await written;
      if (contention !== context.batchSize.contention()) {
        contention = context.batchSize.contention();
        await imports.tune(contention);
      }
      written = applyRows(before, { rows, plan }, context);
      // A failure reaches the next await; until then it must not end the process as an unhandled rejection.
      written.catch(() => {});
    }
    const reached = await written;
    return dependencies.stop?.aborted ? reached : await skipUnchanged(reached, lastSeq, context);
  } finally {
    await written.catch(() => {});
    await imports.tune(null);
  }
}

/** The rows behind the last change change nothing, but they are done too. */
async function skipUnchanged(run: ImportRun, lastSeq: number, { imports, staging }: Context) {
  if (run.applied >= lastSeq) return run;
  const unchanged = run.unchanged + (await staging.countUnchanged(run.applied));
  const next = { ...run, applied: lastSeq, unchanged };
  const { outcome } = await imports.commit(run, [], next);
  if (outcome !== "applied") throw supersededError(run.applied);
  return next;
}

/** Applies rows in one commit, planning them anew when records have moved on; at last one by one, or not at all. */
async function applyRows(
  run: ImportRun,
  { rows, plan: firstPlan }: { rows: readonly PendingRow[]; plan?: ChunkPlan },
  context: Context,
): Promise<ImportRun> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const plan =
      (attempt === 0 ? firstPlan : undefined) ?? (await planRows(rows, { ...context, recheck: attempt > 0 }));
    const next = await commit(run, { rows, plan }, context);
    if (next !== null) return next;
  }
  if (rows.length > 1) {
    let current = run;
    for (const row of rows) current = await applyRows(current, { rows: [row] }, context);
    return current;
  }
  const refused = rows.map(({ line, patch }) => changedMeanwhile(patch.regNo, line));
  const next = await commit(run, { rows, plan: { writes: [], refused, unchanged: 0 } }, context);
  if (next === null) throw supersededError(run.applied);
  return next;
}

/** @returns how far the run has come; null, having written nothing, when a record has moved on */
async function commit(
  run: ImportRun,
  { rows, plan }: { rows: readonly PendingRow[]; plan: ChunkPlan },
  { imports, staging, batchSize, onRow }: Context,
): Promise<ImportRun | null> {
  // Also where nothing is to be waited for: over a file all of it happens in place, and a signal would not be heard.
  await wait(Math.max(0, batchSize.notBefore() - performance.now()));
  const startedAt = performance.now();
  const next = progressAfter(run, rows, plan);
  const { outcome, othersWrote, serviceRuns, heldMs } = await imports.commit(run, plan.writes, next);
  const at = performance.now();
  batchSize.committed({ rows: rows.length, tookMs: heldMs ?? at - startedAt, at, othersWrote, serviceRuns });
  if (outcome === "superseded") throw supersededError(run.applied);
  if (outcome === "conflict") return null;
  await staging.addIssues(plan.refused);
  onRow(next.applied);
  return next;
}

function supersededError(row: number): TvsError {
  return new TvsError("REFUSED", `another import has started meanwhile; this one stopped after row ${row}`);
}

async function planRows(rows: readonly PendingRow[], context: Context & { recheck: boolean }) {
  const { teachers, calendar, clock, actor, announce, liftRevocations, format } = context;
  // One day for the whole import, the one by which its rows were checked.
  const checkedOn = calendar.dateAt(context.checkedAt);
  const known = await findCurrent(rows, context);
  const effects = rows.map(({ patch, line }) => {
    return {
      line,
      ...effectOf(known.get(patch.regNo) ?? null, patch, { liftRevocations, today: checkedOn }),
    };
  });
  const taken = context.recheck ? await findTaken(teachers, effects) : new Map<unknown, never>();
  const plan = { writes: [] as ImportWrite[], refused: [] as ImportIssue[], unchanged: 0 };
  for (const effect of effects) {
    const { line, before, content, changed } = effect;
    const duplicate = taken.get(effect);
    if (duplicate !== undefined)
      plan.refused.push(...duplicate.map((of) => duplicateIssue({ line, format, content }, of)));
    else if (takesBack(effect, context.checkedAt))
      plan.refused.push(changedMeanwhile(effect.patch.regNo, line));
    else if (changesNothing(effect)) plan.unchanged++;
    else {
      const change = { action: "import" as const, actor, calendar, at: clock.now(), announce };
      plan.writes.push({ ...planWrite(before, content, change), changed });
    }
  }
  return plan;
}

function changedMeanwhile(regNo: string, line: number): ImportIssue {
  return ofTeacher({ line, field: null, code: "CHANGED_MEANWHILE" }, regNo);
}

/**
 * Whether a row would take back a revocation or a deactivation that is newer than the check of the file: what the
 * operator did while the import was under way stands, because the file cannot have known of it.
 */
function takesBack({ set, before, content }: RowEffect, checkedAt: number): boolean {
  if (before === null || before.updatedAt < checkedAt) return false;
  // Also of a revocation that the record keeps: the warning that it does could not be given any more.
  const reinstates = before.licenseRevokedOn !== null && set.licenseRevokedOn === null;
  return reinstates || (!before.active && content.active);
}

/**
 * The records as they are now. What the calendar has changed in them and nobody announced yet is announced
 * first: it happened first, and a renewal must not hide that a licence had ended.
 */
async function findCurrent(
  rows: readonly PendingRow[],
  { teachers, calendar, clock, actor, announce, recheck }: Context & { recheck: boolean },
): Promise<Map<string, StoredTeacher>> {
  // Records that were not there are not looked for again: if one is there by now, the commit says so.
  const looked = recheck ? rows : rows.filter((row) => !row.isNew);
  const known = await findKnown(
    teachers,
    looked.map((row) => row.patch.regNo),
  );
  const today = calendar.dateAt(clock.now());
  for (let due = dueOf(known, today); announce && due.length > 0; due = dueOf(known, today)) {
    await teachers.apply(due.map((teacher) => planCalendarStep(teacher, { calendar, clock, actor })));
    for (const [regNo, teacher] of await findKnown(
      teachers,
      due.map((one) => one.regNo),
    ))
      known.set(regNo, teacher);
  }
  return known;
}

function dueOf(known: ReadonlyMap<string, StoredTeacher>, today: string): StoredTeacher[] {
  return [...known.values()].filter((teacher) => isDueByCalendar(teacher, today));
}

function progressAfter(run: ImportRun, rows: readonly PendingRow[], { writes, unchanged }: ChunkPlan) {
  const inserted = writes.filter((write) => write.replaces === null).length;
  const progress: ImportProgress = {
    applied: rows.at(-1)?.seq ?? run.applied,
    inserted: run.inserted + inserted,
    updated: run.updated + writes.length - inserted,
    unchanged: run.unchanged + unchanged + rows.reduce((sum, row) => sum + row.unchangedBefore, 0),
    events: run.events + writes.reduce((sum, write) => sum + write.events.length, 0),
  };
  return { ...run, ...progress };
}
