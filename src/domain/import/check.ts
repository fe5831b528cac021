import { setTimeout as wait } from "node:timers/promises";
import type { ImportStore } from "../../store/imports.ts";
import type { TeacherStore } from "../../store/teachers.ts";
import type { CalendarDate } from "../clock.ts";
import { statusesBefore, statusesOn, transitions } from "../events.ts";
import type { Holdings } from "../teachers/store.ts";
import type { StoredTeacher, UniqueKey } from "../teachers/teachers.ts";
import type { Arrival, UnknownName } from "./arrival.ts";
import { type ArrivedField, fieldLabel, type ImportFormat } from "./fields.ts";
import { addLosses, noHoldings } from "./losses.ts";
import { changesNothing, checkContent, effectOf, type RowEffect } from "./patch.ts";
import type { FilePiece } from "./read.ts";
import { type Explanations, type ImportIssue, isRejection, type RejectionCode } from "./report.ts";
import { type CheckedRow, shownNumber } from "./rows.ts";
import type { Duplicate, ImportCounts, StagedRow, Staging } from "./store.ts";

/** Rows that are compared with the register in one read. */
const chunkRows = 500;

type CheckDependencies = {
  readonly teachers: TeacherStore;
  readonly staging: Staging;
  readonly imports: Pick<ImportStore, "isBesideService">;
  readonly today: CalendarDate;
  readonly announce: boolean;
  readonly liftRevocations: boolean;
  readonly onBytes: (count: number) => void;
};

/** What the whole file would do to the register as it is now. */
export type CheckedFile = Arrival & {
  readonly sha256: string;
  readonly planned: ImportCounts;
  readonly rejected: number;
  readonly warnings: number;
  /** What the register holds now, and how much of it would be gone. */
  readonly holdings: Holdings;
  readonly lost: Holdings;
  /** Of the teachers whose rows stand, how many are revoked afterwards. */
  readonly revoked: number;
  readonly explanations: Explanations;
};

type Tally = {
  rejected: number;
  warnings: number;
  readonly planned: { -readonly [K in keyof ImportCounts]: number };
  readonly lost: { -readonly [K in keyof Holdings]: number };
  revoked: number;
};

/**
 * Compares every row of an extract with the rows before it and with the register, and puts those that stand into
 * the staging area. Nothing is changed.
 * @throws TvsError INPUT_UNREADABLE when the file cannot be read to its end
 */
export async function checkFile(
  pieces: AsyncIterable<FilePiece>,
  dependencies: CheckDependencies,
): Promise<CheckedFile> {
  const { teachers, imports, today, onBytes } = dependencies;
  const tally: Tally = {
    planned: { inserted: 0, updated: 0, unchanged: 0, events: 0 },
    rejected: 0,
    warnings: 0,
    lost: { ...noHoldings },
    revoked: 0,
  };
  let format: ImportFormat = "csv";
  let rows = 0;
  let explanations: Explanations = {};
  const fields = new Set<ArrivedField>();
  const unknown: UnknownName[] = [];
  const remarks: ImportIssue[] = [];
  const unchecked: CheckedRow[] = [];
  let sha256 = "";
  const checkNext = async () => {
    const startedAt = performance.now();
    const firstSeq = rows - unchecked.length + 1;
    const chunk = { rows: unchecked.splice(0, chunkRows), firstSeq, remarks: remarks.splice(0) };
    await checkChunk(chunk, { ...dependencies, tally, format });
    // A service on the same processors gets as much time.
    if (await imports.isBesideService()) await wait(performance.now() - startedAt);
  };
  for await (const piece of pieces) {
    onBytes(piece.bytes);
    format = piece.format;
    rows += piece.rows.length;
    explanations = piece.explanations;
    for (const field of piece.fields) fields.add(field);
    unknown.push(...piece.unknown);
    for (const { label } of piece.unknown) remarks.push({ line: 1, field: label, code: "UNKNOWN_COLUMN" });
    for (const line of piece.totals) remarks.push({ line, field: null, code: "TOTALS_LINE" });
    sha256 = piece.sha256 ?? sha256;
    unchecked.push(...piece.rows);
    while (unchecked.length >= chunkRows) await checkNext();
  }
  await checkNext();
  return {
    ...tally,
    format,
    rows,
    explanations,
    fields,
    unknown,
    sha256,
    holdings: await teachers.countHoldings(today),
  };
}

type Chunk = {
  readonly rows: readonly CheckedRow[];
  /** The place of the first row in the file. */
  readonly firstSeq: number;
  readonly remarks: readonly ImportIssue[];
};
type ComparedRow = StagedRow & { readonly issues: readonly ImportIssue[] };
type CheckContext = CheckDependencies & { readonly tally: Tally; readonly format: ImportFormat };

async function checkChunk(chunk: Chunk, context: CheckContext): Promise<void> {
  const { staging, tally, format } = context;
  const issues: ImportIssue[] = [...chunk.remarks];
  const compared = await compareWithRegister(chunk, issues, context);
  const duplicates = new Map(staging.add(compared).map(({ seq, of }) => [seq, of]));
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
  staging.addIssues(issues.sort((a, b) => a.line - b.line));
}

/** The rows that stand so far; for the others the reasons are added to `issues`. */
async function compareWithRegister({ rows, firstSeq }: Chunk, issues: ImportIssue[], context: CheckContext) {
  const { teachers, today, format } = context;
  // Whoever is added to an empty register from here on is found by the commit, which then fails.
  const isEmpty = await teachers.isEmpty();
  const regNos = rows.flatMap(({ patch }) => (patch === null || isEmpty ? [] : [patch.regNo]));
  const known = await findKnown(teachers, regNos);
  const compared: ComparedRow[] = [];
  for (const [index, { line, patch, issues: found }] of rows.entries()) {
    // Of a row that is refused only the reasons are told: its warnings are about what did not happen.
    if (patch === null) issues.push(...found.filter(isRejection));
    else {
      const effect = effectOf(known.get(patch.regNo) ?? null, patch, context);
      const all = [...found, ...checkContent({ line, format }, effect, today)].map((issue) =>
        isRejection(issue) ? ofTeacher(issue, patch.regNo) : issue,
      );
      compared.push({ ...effect, seq: firstSeq + index, line, issues: all });
    }
  }
  const taken = isEmpty ? new Map<ComparedRow, never>() : await findTaken(teachers, compared);
  return compared.filter((row) => {
    const duplicate = (taken.get(row) ?? []).map((of) => duplicateIssue({ ...row, format }, of));
    const reasons = [...row.issues.filter(isRejection), ...duplicate];
    issues.push(...reasons);
    return reasons.length === 0;
  });
}

export async function findKnown(
  teachers: Pick<TeacherStore, "findMany">,
  regNos: readonly string[],
): Promise<Map<string, StoredTeacher>> {
  if (regNos.length === 0) return new Map();
  return new Map((await teachers.findMany(regNos)).map((teacher) => [teacher.regNo, teacher]));
}

/** The rows whose teacher id or NIN another teacher of the register has. */
export async function findTaken<T extends RowEffect>(
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

const duplicateCodes: Readonly<Record<Duplicate["of"], RejectionCode>> = {
  regNo: "DUPLICATE_REG_NO",
  tId: "DUPLICATE_T_ID",
  nin: "DUPLICATE_NIN",
};

export function duplicateIssue(
  { line, format, content }: Pick<StagedRow, "line" | "content"> & { readonly format: ImportFormat },
  of: Duplicate["of"],
): ImportIssue {
  return ofTeacher({ line, field: fieldLabel(of, format), code: duplicateCodes[of] }, content.regNo);
}

/** What is said of the row of a teacher, with the number. */
export function ofTeacher(issue: ImportIssue, regNo: string): ImportIssue {
  const shown = shownNumber(regNo);
  return { ...issue, ...(shown === undefined ? {} : { regNo: shown }), identity: regNo };
}

function count(row: RowEffect, { today, announce, tally }: CheckContext): void {
  const { before, content } = row;
  const { planned, lost } = tally;
  if (content.licenseRevokedOn !== null) tally.revoked++;
  if (changesNothing(row)) {
    planned.unchanged++;
    return;
  }
  addLosses(lost, row, today);
  if (before === null) planned.inserted++;
  else planned.updated++;
  const after = statusesOn(content, today);
  if (announce) planned.events += transitions(statusesBefore(before, after), after).length;
}
