import { setTimeout as wait } from "node:timers/promises";
import type { ImportStaging } from "../../store/staging.ts";
import type { TeacherStore } from "../../store/teachers.ts";
import type { CalendarDate } from "../clock.ts";
import { diffStatuses, statusesBefore, statusesOn } from "../events.ts";
import type { StoredTeacher, UniqueKey } from "../teachers/teachers.ts";
import { type ImportFormat, labelOfField } from "./fields.ts";
import type { ImportDependencies } from "./import.ts";
import { addRowLosses, zeroCounts } from "./losses.ts";
import type { RowEffect, TeacherPatch } from "./patch.ts";
import { changesNothing, computeRowEffect, findContentIssues } from "./patch.ts";
import type { Extract } from "./read.ts";
import { type ImportIssue, isRejection, type RejectionCode } from "./report.ts";
import { type CheckedRow, redactRegNo } from "./rows.ts";

/** Number of rows that are checked together. One query reads the stored records of all these rows. */
const chunkRows = 500;

/** Input of the check of a file: the stores, the staging database and the import's options. */
export type FileCheckInput = ImportDependencies & {
  readonly staging: ImportStaging;
  readonly addIssues: (issues: readonly ImportIssue[]) => void;
  readonly announce: boolean;
  readonly liftRevocations: boolean;
  /** When the check of the file began, in milliseconds since the epoch. */
  readonly checkedAt: number;
  /** The current date, for which the statuses of licences are computed. */
  readonly today: CalendarDate;
};

/** An accepted row. The staging database keeps the row until the import has applied it. */
export type StagedRow = RowEffect & {
  /** The row's number in the file, from 1. Rejected rows have numbers too. */
  readonly seq: number;
  readonly line: number;
};

/** A field whose value may belong to only one teacher. */
export type IdentifierKind = "regNo" | "tId" | "nin";

/** Counts of a checked file: its rows and issues, and what an import would change in the register. */
export type FileCheckCounts = Awaited<ReturnType<typeof checkFile>>;

function createTally() {
  return {
    planned: { inserted: 0, updated: 0, unchanged: 0, events: 0 },
    ...{ rows: 0, rejected: 0, warnings: 0 },
    /** The numbers of valid licences, verified certificates and revocations that the import would remove. */
    lost: { ...zeroCounts },
    /** The number of accepted rows whose teachers have a revoked licence after the import. */
    revoked: 0,
  };
}

/**
 * Compares every row with earlier rows and with the register, and writes accepted rows to the staging database. Does
 * not change the register.
 * @param onRows is called for each group of rows that was read
 * @throws TvsError INPUT_UNREADABLE if the file cannot be read to its end
 */
export async function checkFile(extract: Extract, context: FileCheckInput, onRows: () => void) {
  const { teachers, imports, today } = context;
  const { unknown, totals } = extract.names;
  const tally = createTally();
  let noted = 0;
  const unchecked: CheckedRow[] = [];
  const checkNext = async () => {
    const startedAt = performance.now();
    const firstSeq = tally.rows - unchecked.length + 1;
    const remarks: ImportIssue[] = [
      ...unknown
        .slice(noted)
        .map(({ label }) => ({ line: 1, field: label, code: "UNKNOWN_COLUMN" }) as const),
      ...totals.map((line) => ({ line, field: null, code: "TOTALS_LINE" }) as const),
    ];
    noted = unknown.length;
    const chunk = { rows: unchecked.splice(0, chunkRows), firstSeq, remarks };
    await checkChunk(chunk, { ...context, tally, format: extract.format });
    // Beside a service, pauses as long as the check took, so that the service gets half of the processor time.
    if (await imports.isBesideService()) await wait(performance.now() - startedAt);
  };
  for await (const rows of extract.rows) {
    onRows();
    tally.rows += rows.length;
    unchecked.push(...rows);
    while (unchecked.length >= chunkRows) await checkNext();
  }
  await checkNext();
  return { ...tally, holdings: await teachers.countHoldings(today) };
}

type Chunk = {
  readonly rows: readonly CheckedRow[];
  readonly firstSeq: number;
  readonly remarks: readonly ImportIssue[];
};
type CheckContext = FileCheckInput & {
  readonly tally: ReturnType<typeof createTally>;
  readonly format: ImportFormat;
};

async function checkChunk({ rows, firstSeq, remarks }: Chunk, context: CheckContext): Promise<void> {
  const { staging, addIssues, tally, format, today } = context;
  const issues: ImportIssue[] = [...remarks];
  const readable = rows.flatMap(({ line, patch, issues: found }, index) => {
    if (patch !== null) return [{ seq: firstSeq + index, line, patch, found }];
    // Drops the warnings of a rejected row, because a warning describes what importing the row does.
    issues.push(...found.filter(isRejection));
    return [];
  });
  const known = await findKnownTeachers(context.teachers, readable);
  const accepted: (StagedRow & { readonly warnings: readonly ImportIssue[] })[] = [];
  for (const row of await compareRowsWithRegister(readable, known, context)) {
    const all = [...row.found, ...findContentIssues({ line: row.line, format }, row, today)];
    const rejections = [
      ...all.filter(isRejection).map((issue) => addRegNoToIssue(issue, row.patch.regNo)),
      ...row.taken.map((of) => createDuplicateIssue({ ...row, format }, of)),
    ];
    if (rejections.length === 0) accepted.push({ ...row, warnings: all });
    issues.push(...rejections);
  }
  const duplicates = staging.add(accepted);
  for (const row of accepted) {
    const duplicate = duplicates.get(row.seq);
    if (duplicate !== undefined) issues.push(createDuplicateIssue({ ...row, format }, duplicate));
    else {
      issues.push(...row.warnings);
      countEffect(row, context);
    }
  }
  const rejections = issues.filter(isRejection);
  tally.rejected += new Set(rejections.map((issue) => issue.line)).size;
  tally.warnings += issues.length - rejections.length;
  addIssues(issues.sort((a, b) => a.line - b.line));
}

type RowWithPatch = { readonly patch: TeacherPatch };

export async function findKnownTeachers(
  teachers: Pick<TeacherStore, "findMany">,
  rows: readonly RowWithPatch[],
): Promise<Map<string, StoredTeacher>> {
  const found = await teachers.findMany(rows.map(({ patch }) => patch.regNo));
  return new Map(found.map((teacher) => [teacher.regNo, teacher]));
}

/**
 * Computes the effect of importing each row.
 * @returns the rows with their effects; `taken` lists the kinds of new identifiers that another teacher already has
 */
export async function compareRowsWithRegister<T extends RowWithPatch>(
  rows: readonly T[],
  known: ReadonlyMap<string, StoredTeacher>,
  context: Parameters<typeof computeRowEffect>[2] & { readonly teachers: Pick<TeacherStore, "findOwners"> },
) {
  const effects = rows.map((row) => {
    const effect = computeRowEffect(known.get(row.patch.regNo) ?? null, row.patch, context);
    return { row, effect, keys: newKeys(effect) };
  });
  const owners = (await context.teachers.findOwners(effects.flatMap(({ keys }) => keys))).values();
  return effects.map(({ row, effect, keys }) => {
    const taken = keys.filter(() => (owners.next().value ?? effect.content).regNo !== effect.content.regNo);
    return { ...row, ...effect, taken: taken.map(({ by }) => by) };
  });
}

function newKeys({ content, changed }: RowEffect): (UniqueKey & { readonly by: "tId" | "nin" })[] {
  const { tId, ninIndex } = content;
  const isNew = (field: "tId" | "ninIndex") => changed === null || changed.includes(field);
  return [
    ...(tId !== null && isNew("tId") ? [{ by: "tId" as const, value: tId }] : []),
    ...(ninIndex !== null && isNew("ninIndex") ? [{ by: "nin" as const, value: ninIndex }] : []),
  ];
}

const duplicateCodes: Readonly<Record<IdentifierKind, RejectionCode>> = {
  regNo: "DUPLICATE_REG_NO",
  tId: "DUPLICATE_T_ID",
  nin: "DUPLICATE_NIN",
};

export function createDuplicateIssue(
  { line, format, content }: Pick<StagedRow, "line" | "content"> & { readonly format: ImportFormat },
  of: IdentifierKind,
): ImportIssue {
  return addRegNoToIssue({ line, field: labelOfField(of, format), code: duplicateCodes[of] }, content.regNo);
}

/** Adds a row's registration number to an issue: without personal data as `regNo`, for messages, and whole as `identity`. */
export function addRegNoToIssue(issue: ImportIssue, regNo: string): ImportIssue {
  return { ...issue, regNo: redactRegNo(regNo), identity: regNo };
}

function countEffect(row: RowEffect, { today, announce, tally }: CheckContext): void {
  const { before, content } = row;
  const { planned, lost } = tally;
  if (content.licenseRevokedOn !== null) tally.revoked++;
  if (changesNothing(row)) {
    planned.unchanged++;
    return;
  }
  addRowLosses(lost, row, today);
  if (before === null) planned.inserted++;
  else planned.updated++;
  const after = statusesOn(content, today);
  if (announce) planned.events += diffStatuses(statusesBefore(before, after), after).length;
}
