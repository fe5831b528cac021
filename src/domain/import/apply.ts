import { setTimeout as wait } from "node:timers/promises";
import type { Calendar, CalendarDate, Clock } from "../clock.ts";
import { TvsError } from "../errors.ts";
import { isDueByCalendar, planCalendarStep } from "../sweep.ts";
import { planWrite, type TeacherStore } from "../teachers/store.ts";
import type { StoredTeacher } from "../teachers/teachers.ts";
import { duplicateIssue, findKnown, findTaken, ofTeacher } from "./check.ts";
import type { ImportFormat } from "./fields.ts";
import { addLosses, noHoldings, sumHoldings } from "./losses.ts";
import { changesNothing, effectOf, type RowEffect } from "./patch.ts";
import type { ImportIssue } from "./report.ts";
import type { ImportRun, ImportStore, ImportWrite, PendingRow, Staging } from "./store.ts";

/**
 * How long a chunk may hold the write lock, in milliseconds. A large chunk is cheaper by the row, because the random
 * pages of the blind indexes are written once for many rows. A service that wants to write waits for it.
 */
const lockMs = { alone: 2_000, besideService: 3 };
/** Beside a service that writes, the lock stays free for so many times as long as the chunk held it. */
const restFactor = 2;
/** Rows of the first chunk: how long a row takes is not known yet. */
const firstRows = 20;
const minRows = 10;
/** How often a chunk, and then a row alone, is planned before it is refused because its record changes. */
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
  /** The day by which the rows were checked. */
  readonly today: CalendarDate;
  readonly format: ImportFormat;
  readonly maxChunkRows: number;
  /** Aborted when no further commit is to be begun. */
  readonly stop: AbortSignal | undefined;
  readonly onRow: (seq: number) => void;
};

type Committed = { readonly run: ImportRun; readonly heldMs: number; readonly othersWrote: boolean };

/**
 * Applies the staged rows in chunks of one commit each. A commit holds rows, their events and the progress.
 * @returns the run at its end, or where it was stopped
 * @throws TvsError REFUSED when another import has begun
 */
export async function applyStaged(run: ImportRun, context: ApplyDependencies): Promise<ImportRun> {
  const { imports, staging, maxChunkRows, stop, onRow } = context;
  let reached = run;
  let chunkRows = Math.min(firstRows, maxChunkRows);
  await imports.tune(true);
  try {
    while (stop?.aborted !== true) {
      const rows = staging.pending(reached.applied, chunkRows);
      if (rows.length === 0) break;
      const { run: next, heldMs, othersWrote } = await applyRows(reached, rows, context);
      reached = next;
      onRow(reached.applied);
      const isBeside = await imports.isBesideService();
      const target = isBeside ? lockMs.besideService : lockMs.alone;
      const fitting = Math.min(rows.length * 2, (rows.length * target) / Math.max(heldMs, 0.1));
      chunkRows = Math.floor(Math.min(maxChunkRows, Math.max(minRows, fitting)));
      // Also without a rest: everything else happens in place, and a signal would not be heard.
      await wait(isBeside && othersWrote ? heldMs * restFactor : 0);
    }
    return reached;
  } finally {
    await imports.tune(false);
  }
}

/** Applies rows in one commit. If records changed, plans the rows again; at last one by one, or not at all. */
async function applyRows(
  run: ImportRun,
  rows: readonly PendingRow[],
  context: ApplyDependencies,
): Promise<Committed> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const plan = await planRows(rows, { ...context, recheck: attempt > 0 });
    const done = await commit(run, { rows, plan }, context);
    if (done !== null) return done;
  }
  if (rows.length > 1) {
    let done: Committed = { run, heldMs: 0, othersWrote: true };
    for (const row of rows) done = await applyRows(done.run, [row], context);
    return done;
  }
  const refused = rows.map(({ line, patch }) => changedMeanwhile(patch.regNo, line));
  const done = await commit(run, { rows, plan: { ...emptyPlan(), refused } }, context);
  if (done === null) throw supersededError(run.applied);
  return done;
}

type ChunkPlan = ReturnType<typeof emptyPlan>;

function emptyPlan() {
  return {
    writes: [] as ImportWrite[],
    refused: [] as ImportIssue[],
    unchanged: 0,
    lost: { ...noHoldings },
  };
}

/** @returns how far the run has come; null, having written nothing, when a record has changed */
async function commit(
  run: ImportRun,
  { rows, plan }: { rows: readonly PendingRow[]; plan: ChunkPlan },
  { imports, staging }: ApplyDependencies,
): Promise<Committed | null> {
  const next = progressAfter(run, rows, plan);
  const done = await imports.commit(run, plan.writes, next);
  if (done.outcome === "superseded") throw supersededError(run.applied);
  if (done.outcome === "conflict") return null;
  staging.addIssues(plan.refused);
  return { run: next, heldMs: done.heldMs, othersWrote: done.othersWrote };
}

export function supersededError(row: number): TvsError {
  return new TvsError("REFUSED", `another import has started meanwhile; this one stopped after row ${row}`);
}

async function planRows(
  rows: readonly PendingRow[],
  context: ApplyDependencies & { readonly recheck: boolean },
): Promise<ChunkPlan> {
  const { teachers, calendar, clock, actor, announce, format, today } = context;
  const known = await findCurrent(rows, context);
  const effects = rows.map(({ patch, line }) => ({
    line,
    ...effectOf(known.get(patch.regNo) ?? null, patch, context),
  }));
  const taken = context.recheck ? await findTaken(teachers, effects) : new Map<unknown, never>();
  const plan = emptyPlan();
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
      addLosses(plan.lost, effect, today);
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
  { teachers, calendar, clock, actor, announce, recheck }: ApplyDependencies & { readonly recheck: boolean },
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

function progressAfter(
  run: ImportRun,
  rows: readonly PendingRow[],
  { writes, unchanged, lost }: ChunkPlan,
): ImportRun {
  const inserted = writes.filter((write) => write.replaces === null).length;
  return {
    ...run,
    applied: rows.at(-1)?.seq ?? run.applied,
    inserted: run.inserted + inserted,
    updated: run.updated + writes.length - inserted,
    unchanged: run.unchanged + unchanged,
    events: run.events + writes.reduce((sum, write) => sum + write.events.length, 0),
    losses:
      run.losses === "allowed" ? "allowed" : { ...run.losses, lost: sumHoldings([run.losses.lost, lost]) },
  };
}
