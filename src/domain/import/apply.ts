import { setTimeout as wait } from "node:timers/promises";
import type { ImportRun, ImportTeacherAccess } from "../../store/imports.ts";
import { isTvsError, TvsError } from "../errors.ts";
import { isAnnouncementDue, planLicenseAnnouncement } from "../sweep.ts";
import { planTeacherWrite, type TeacherWrite } from "../teachers/store.ts";
import type { StoredTeacher } from "../teachers/teachers.ts";
import {
  addRegNoToIssue,
  compareRowsWithRegister,
  createDuplicateIssue,
  type FileCheckInput,
  findKnownTeachers,
  type StagedRow,
} from "./check.ts";
import type { ImportFormat } from "./fields.ts";
import { addRowLosses, sumProtectedCounts, zeroCounts } from "./losses.ts";
import { changesNothing, type RowEffect } from "./patch.ts";
import type { ImportIssue } from "./report.ts";

/** Milliseconds that one commit may hold the write lock: few beside a service, whose writes wait for the lock. */
const lockMs = { alone: 2_000, besideService: 3 };
/** Rows of the first chunk. A later chunk has as many rows as the last commit could have written within `lockMs`. */
const firstChunkRows = 20;
const minChunkRows = 10;

type ApplyContext = FileCheckInput & {
  readonly format: ImportFormat;
  /** The number of rows in the file, rejected rows included. */
  readonly rows: number;
  readonly maxChunkRows: number;
  readonly stop: AbortSignal | undefined;
  readonly onRow: (seq: number) => void;
};

type PendingRow = Pick<StagedRow, "seq" | "line" | "patch">;

/**
 * Writes the staged rows to the register in chunks. Each commit contains a chunk's rows, their events and the progress.
 * @returns the run with the counts after the last row
 * @throws TvsError REFUSED if another import has begun or `stop` is aborted, STORE_* with the number of applied rows
 */
export async function applyStagedRows(begun: ImportRun, context: ApplyContext): Promise<ImportRun> {
  const { imports, staging, maxChunkRows, stop, onRow, addIssues } = context;
  let run = begun;
  let chunkRows = Math.min(firstChunkRows, maxChunkRows);
  const stopped = () =>
    `stopped after ${run.applied} of ${context.rows} rows; the same command applies the rest`;
  await imports.tune(true);
  try {
    for (;;) {
      if (stop?.aborted) throw new TvsError("REFUSED", stopped());
      const rows = staging.pending(run.applied, chunkRows);
      if (rows.length === 0) return run;
      const done = await imports.commit(run, (teachers) => planChunk(run, rows, { ...context, teachers }));
      if (done === null) throw createSupersededError(run.applied);
      const { planned, heldMs } = done;
      addIssues(planned.refused);
      run = planned.next;
      onRow(run.applied);
      const isBeside = await imports.isBesideService();
      const target = isBeside ? lockMs.besideService : lockMs.alone;
      const fitting = Math.min(rows.length * 2, (rows.length * target) / Math.max(heldMs, 0.1));
      chunkRows = Math.floor(Math.min(maxChunkRows, Math.max(minChunkRows, fitting)));
      // Beside a service, pauses as long as the commit took, so that the service can write half of the time. The wait
      // of 0 ms without a service lets the event loop deliver a signal such as Ctrl-C.
      await wait(isBeside ? heldMs : 0);
    }
  } catch (error) {
    if (!isTvsError(error) || !error.code.startsWith("STORE_")) throw error;
    throw new TvsError(error.code, `${error.message}; ${stopped()}`, { cause: error });
  } finally {
    await imports.tune(false);
  }
}

export function createSupersededError(row: number): TvsError {
  return new TvsError("REFUSED", `another import has started; this one stopped after row ${row}`);
}

type PlanContext = Omit<ApplyContext, "teachers"> & { readonly teachers: ImportTeacherAccess };

/** Plans a chunk's writes from the records that its transaction reads: records may have changed since the check. */
async function planChunk(run: ImportRun, rows: readonly PendingRow[], context: PlanContext) {
  const { calendar, clock, actor, announce, format, today } = context;
  const effects = await compareRowsWithRegister(rows, await findCurrent(rows, context), context);
  const writes: TeacherWrite[] = [];
  const refused: ImportIssue[] = [];
  const lost = { ...zeroCounts };
  let { inserted, updated, unchanged, events } = run;
  for (const effect of effects) {
    const { line, before, content, changed, taken } = effect;
    if (taken.length > 0)
      refused.push(...taken.map((of) => createDuplicateIssue({ line, format, content }, of)));
    else if (undoesNewerChange(effect, context.checkedAt))
      refused.push(addRegNoToIssue({ line, field: null, code: "CHANGED_MEANWHILE" }, effect.patch.regNo));
    else if (changesNothing(effect)) unchanged++;
    else {
      const change = { action: "import" as const, actor, calendar, at: clock.now(), announce };
      const write = { ...planTeacherWrite(before, content, change), changed };
      writes.push(write);
      addRowLosses(lost, effect, today);
      events += write.events.length;
      if (before === null) inserted++;
      else updated++;
    }
  }
  const { losses } = run;
  const next: ImportRun = {
    ...{ ...run, inserted, updated, unchanged, events },
    applied: rows.at(-1)?.seq ?? run.applied,
    losses: losses === "allowed" ? losses : { ...losses, lost: sumProtectedCounts([losses.lost, lost]) },
  };
  return { writes, refused, next };
}

/** Whether a row would undo a revocation or deactivation that was made after the check of the file began. */
function undoesNewerChange({ set, before, content }: RowEffect, checkedAt: number): boolean {
  if (before === null || before.updatedAt < checkedAt) return false;
  // Checks `set`: `content` keeps an operator's revocation, but only the check of the file can warn of REVOCATION_KEPT.
  const reinstates = before.licenseRevokedOn !== null && set.licenseRevokedOn === null;
  return reinstates || (!before.active && content.active);
}

/** Reads the rows' current records. With `announce`, first announces licences that began or expired by their dates. */
async function findCurrent(
  rows: readonly PendingRow[],
  { teachers, calendar, clock, actor, announce }: PlanContext,
): Promise<Map<string, StoredTeacher>> {
  const known = await findKnownTeachers(teachers, rows);
  const today = calendar.dateAt(clock.now());
  const findDue = () => [...known.values()].filter((teacher) => isAnnouncementDue(teacher, today));
  for (let due = findDue(); announce && due.length > 0; due = findDue()) {
    await teachers.apply(due.map((teacher) => planLicenseAnnouncement(teacher, { calendar, clock, actor })));
    for (const teacher of await teachers.findMany(due.map(({ regNo }) => regNo)))
      known.set(teacher.regNo, teacher);
  }
  return known;
}
