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
import { addRowLosses, noHoldings, sumHoldings } from "./losses.ts";
import { changesNothing, type RowEffect } from "./patch.ts";
import type { ImportIssue } from "./report.ts";

/** Milliseconds for which a chunk's commit may hold the write lock. Few beside a service, whose writes must wait. */
const lockMs = { alone: 2_000, besideService: 3 };
/** Rows of the first chunk. Later chunks have as many rows as fit into `lockMs`, by the time of the last chunk. */
const firstRows = 20;
const minRows = 10;

type ApplyContext = FileCheckInput & {
  readonly format: ImportFormat;
  /** Rows of the file. */
  readonly rows: number;
  readonly maxChunkRows: number;
  readonly stop: AbortSignal | undefined;
  readonly onRow: (seq: number) => void;
};

type PendingRow = Pick<StagedRow, "seq" | "line" | "patch">;

/**
 * Writes the staged rows to the register in chunks. Each commit contains a chunk's rows, their events and the progress.
 * @returns the run after the last row
 * @throws TvsError REFUSED if another import has begun or `stop` is aborted, STORE_* with the number of applied rows
 */
export async function applyStagedRows(begun: ImportRun, context: ApplyContext): Promise<ImportRun> {
  const { imports, staging, maxChunkRows, stop, onRow, addIssues } = context;
  let run = begun;
  let chunkRows = Math.min(firstRows, maxChunkRows);
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
      chunkRows = Math.floor(Math.min(maxChunkRows, Math.max(minRows, fitting)));
      // Pauses as long as the commit took, so that a service beside the import can write half of the time. Waits even
      // for 0 ms, because a signal such as Ctrl-C is delivered only in a turn of the event loop.
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

/** Plans the writes of a chunk, from the records as its transaction reads them. */
async function planChunk(run: ImportRun, rows: readonly PendingRow[], context: PlanContext) {
  const { calendar, clock, actor, announce, format, today } = context;
  const effects = await compareRowsWithRegister(rows, await findCurrent(rows, context), context);
  const writes: TeacherWrite[] = [];
  const refused: ImportIssue[] = [];
  const lost = { ...noHoldings };
  let { inserted, updated, unchanged, events } = run;
  for (const effect of effects) {
    const { line, before, content, changed, taken } = effect;
    if (taken.length > 0)
      refused.push(...taken.map((of) => createDuplicateIssue({ line, format, content }, of)));
    else if (takesBack(effect, context.checkedAt))
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
    losses: losses === "allowed" ? losses : { ...losses, lost: sumHoldings([losses.lost, lost]) },
  };
  return { writes, refused, next };
}

/** Whether a row would undo a revocation or deactivation that was made after the check of the file began. */
function takesBack({ set, before, content }: RowEffect, checkedAt: number): boolean {
  if (before === null || before.updatedAt < checkedAt) return false;
  // Looks at `set`: even if the operator's revocation would stay, its warning REVOCATION_KEPT can no longer be given.
  const reinstates = before.licenseRevokedOn !== null && set.licenseRevokedOn === null;
  return reinstates || (!before.active && content.active);
}

/** Reads the current records of rows. Licences that began or expired by their dates are announced to partners first. */
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
