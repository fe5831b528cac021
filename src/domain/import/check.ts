import { setTimeout as wait } from "node:timers/promises";
import type { Staging } from "../../store/staging.ts";
import type { TeacherStore } from "../../store/teachers.ts";
import type { CalendarDate } from "../clock.ts";
import { statusesBefore, statusesOn, transitions } from "../events.ts";
import type { StoredTeacher, UniqueKey } from "../teachers/teachers.ts";
import type { UnknownName } from "./arrival.ts";
import { type ArrivedField, fieldLabel, type ImportFormat } from "./fields.ts";
import type { ImportDependencies } from "./import.ts";
import { countRowLosses, noHoldings } from "./losses.ts";
import { changesNothing, checkContent, computeEffect, type RowEffect } from "./patch.ts";
import type { ExtractPiece } from "./read.ts";
import { type Explanations, type ImportIssue, isRejection, type RejectionCode } from "./report.ts";
import { type CheckedRow, regNoForMessages } from "./rows.ts";

/** Rows that are checked together: one query reads the records of all of them. */
const chunkRows = 500;

export type ImportContext = ImportDependencies & {
  readonly staging: Staging;
  readonly addIssues: (issues: readonly ImportIssue[]) => void;
  readonly announce: boolean;
  readonly liftRevocations: boolean;
  /** When the check of the file began, in milliseconds since the epoch. */
  readonly checkedAt: number;
  /** The date on which the licences of the rows are evaluated. */
  readonly today: CalendarDate;
};

/** An accepted row, as the staging database keeps it until the whole file is checked. */
export type StagedRow = RowEffect & {
  /** The row's number among all rows of the file, rejected ones included, from 1. */
  readonly seq: number;
  readonly line: number;
};

/** The kind of an identifier that another row or teacher already has. */
export type TakenIdentifier = "regNo" | "tId" | "nin";

/** The checked file, and what it would change in the register. */
export type CheckedFile = Awaited<ReturnType<typeof checkFile>>;

function createTally() {
  return {
    planned: { inserted: 0, updated: 0, unchanged: 0, events: 0 },
    ...{ rejected: 0, warnings: 0 },
    /** Valid licences, verified certificates and revocations that the file would remove. */
    lost: { ...noHoldings },
    /** Teachers in accepted rows whose licence would be revoked after the import. */
    revoked: 0,
  };
}

/**
 * Compares every row with earlier rows and with the register, and writes accepted rows to the staging database. Does
 * not change the register.
 * @param onBytes is called with the number of bytes of each piece
 * @throws TvsError INPUT_UNREADABLE if the file cannot be read to its end
 */
export async function checkFile(
  pieces: AsyncIterable<ExtractPiece>,
  context: ImportContext,
  onBytes: (count: number) => void,
) {
  const tally = createTally();
  let format: ImportFormat = "csv";
  let rows = 0;
  let explanations: Explanations = {};
  const fields = new Set<ArrivedField>();
  const unknown: UnknownName[] = [];
  const remarks: ImportIssue[] = [];
  const unchecked: CheckedRow[] = [];
  let sha256 = "";
  let sheet: string | null = null;
  const checkNext = async () => {
    const startedAt = performance.now();
    const firstSeq = rows - unchecked.length + 1;
    const chunk = { rows: unchecked.splice(0, chunkRows), firstSeq, remarks: remarks.splice(0) };
    await checkChunk(chunk, { ...context, tally, format });
    // Pauses as long as the check took: a service beside the import then has half of the processor time.
    if (await context.imports.isBesideService()) await wait(performance.now() - startedAt);
  };
  for await (const piece of pieces) {
    onBytes(piece.bytes);
    ({ format, sheet, explanations } = piece);
    rows += piece.rows.length;
    for (const field of piece.fields) fields.add(field);
    unknown.push(...piece.unknown);
    for (const { label } of piece.unknown) remarks.push({ line: 1, field: label, code: "UNKNOWN_COLUMN" });
    for (const line of piece.totals) remarks.push({ line, field: null, code: "TOTALS_LINE" });
    sha256 = piece.sha256 ?? sha256;
    unchecked.push(...piece.rows);
    while (unchecked.length >= chunkRows) await checkNext();
  }
  await checkNext();
  const holdings = await context.teachers.countHoldings(context.today);
  return { ...tally, format, rows, explanations, fields, unknown, sha256, sheet, holdings };
}

type Chunk = {
  readonly rows: readonly CheckedRow[];
  readonly firstSeq: number;
  readonly remarks: readonly ImportIssue[];
};
type ComparedRow = StagedRow & { readonly issues: readonly ImportIssue[] };
type CheckContext = ImportContext & {
  readonly tally: ReturnType<typeof createTally>;
  readonly format: ImportFormat;
};

async function checkChunk(chunk: Chunk, context: CheckContext): Promise<void> {
  const { staging, addIssues, tally, format } = context;
  const issues: ImportIssue[] = [...chunk.remarks];
  const compared = await compareWithRegister(chunk, issues, context);
  const duplicates = staging.add(compared);
  for (const row of compared) {
    const duplicate = duplicates.get(row.seq);
    if (duplicate !== undefined) issues.push(duplicateIssue({ ...row, format }, duplicate));
    else {
      issues.push(...row.issues);
      count(row, context);
    }
  }
  const rejections = issues.filter(isRejection);
  tally.rejected += new Set(rejections.map((issue) => issue.line)).size;
  tally.warnings += issues.length - rejections.length;
  addIssues(issues.sort((a, b) => a.line - b.line));
}

/** Compares rows with the register, and adds the rejected ones to `issues`. @returns the accepted rows */
async function compareWithRegister({ rows, firstSeq }: Chunk, issues: ImportIssue[], context: CheckContext) {
  const { teachers, today, format } = context;
  // An empty register needs no comparison. If a teacher is added after this read, the import's commit finds duplicates.
  const isEmpty = await teachers.isEmpty();
  const regNos = rows.flatMap(({ patch }) => (patch === null || isEmpty ? [] : [patch.regNo]));
  const known = await findKnownTeachers(teachers, regNos);
  const compared: ComparedRow[] = [];
  for (const [index, { line, patch, issues: found }] of rows.entries()) {
    // Drops the warnings of a rejected row: they describe what its import would do, and it is not imported.
    if (patch === null) issues.push(...found.filter(isRejection));
    else {
      const effect = computeEffect(known.get(patch.regNo) ?? null, patch, context);
      const all = [...found, ...checkContent({ line, format }, effect, today)].map((issue) =>
        isRejection(issue) ? addRegNoToIssue(issue, patch.regNo) : issue,
      );
      compared.push({ ...effect, seq: firstSeq + index, line, issues: all });
    }
  }
  const taken = isEmpty ? new Map<ComparedRow, never>() : await findTakenIdentifiers(teachers, compared);
  return compared.filter((row) => {
    const duplicate = (taken.get(row) ?? []).map((of) => duplicateIssue({ ...row, format }, of));
    const reasons = [...row.issues.filter(isRejection), ...duplicate];
    issues.push(...reasons);
    return reasons.length === 0;
  });
}

export async function findKnownTeachers(
  teachers: Pick<TeacherStore, "findMany">,
  regNos: readonly string[],
): Promise<Map<string, StoredTeacher>> {
  if (regNos.length === 0) return new Map();
  return new Map((await teachers.findMany(regNos)).map((teacher) => [teacher.regNo, teacher]));
}

/** Finds the rows with a new teacher id or NIN that another teacher of the register already has. */
export async function findTakenIdentifiers<T extends RowEffect>(
  teachers: Pick<TeacherStore, "findOwners">,
  rows: readonly T[],
): Promise<Map<T, ("tId" | "nin")[]>> {
  const asked = rows.flatMap((row) => newKeys(row).map((key) => ({ row, key })));
  const owners = await teachers.findOwners(asked.map(({ key }) => key));
  const taken = new Map<T, ("tId" | "nin")[]>();
  for (const [index, { row, key }] of asked.entries()) {
    const owner = owners[index] ?? null;
    if (owner !== null && owner.regNo !== row.content.regNo)
      taken.set(row, [...(taken.get(row) ?? []), key.by]);
  }
  return taken;
}

function newKeys({ content, changed }: RowEffect): (UniqueKey & { readonly by: "tId" | "nin" })[] {
  const { tId, ninIndex } = content;
  const isNew = (field: "tId" | "ninIndex") => changed === null || changed.includes(field);
  return [
    ...(tId !== null && isNew("tId") ? [{ by: "tId" as const, value: tId }] : []),
    ...(ninIndex !== null && isNew("ninIndex") ? [{ by: "nin" as const, value: ninIndex }] : []),
  ];
}

const duplicateCodes: Readonly<Record<TakenIdentifier, RejectionCode>> = {
  regNo: "DUPLICATE_REG_NO",
  tId: "DUPLICATE_T_ID",
  nin: "DUPLICATE_NIN",
};

export function duplicateIssue(
  { line, format, content }: Pick<StagedRow, "line" | "content"> & { readonly format: ImportFormat },
  of: TakenIdentifier,
): ImportIssue {
  return addRegNoToIssue({ line, field: fieldLabel(of, format), code: duplicateCodes[of] }, content.regNo);
}

/** Adds the registration number of the issue's row. Messages omit a number that may be personal data. */
export function addRegNoToIssue(issue: ImportIssue, regNo: string): ImportIssue {
  return { ...issue, regNo: regNoForMessages(regNo), identity: regNo };
}

function count(row: RowEffect, { today, announce, tally }: CheckContext): void {
  const { before, content } = row;
  const { planned, lost } = tally;
  if (content.licenseRevokedOn !== null) tally.revoked++;
  if (changesNothing(row)) {
    planned.unchanged++;
    return;
  }
  countRowLosses(lost, row, today);
  if (before === null) planned.inserted++;
  else planned.updated++;
  const after = statusesOn(content, today);
  if (announce) planned.events += transitions(statusesBefore(before, after), after).length;
}
