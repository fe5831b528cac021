import type { CalendarDate } from "../clock.ts";
import { statusesBefore, statusesOn, transitions } from "../events.ts";
import type { Holdings, TeacherStore } from "../teachers/store.ts";
import type { StoredTeacher } from "../teachers/teachers.ts";
import type { Arrival } from "./arrival.ts";
import { fieldLabel, type ImportFormat } from "./fields.ts";
import {
  applyPatch,
  changedFields,
  checkContent,
  hexOf,
  losesRevocation,
  type RowEffect,
  type TeacherPatch,
} from "./patch.ts";
import { addArrived, type FilePiece, nothingArrived } from "./read.ts";
import { type ImportIssue, isRejection, type RejectionCode } from "./report.ts";
import type { CheckedRow } from "./rows.ts";
import type { Duplicate, ImportCounts, Staging } from "./store.ts";

/** Rows that are compared with the register in one read. */
const chunkRows = 500;

type CheckDependencies = {
  readonly teachers: TeacherStore;
  readonly staging: Staging;
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
};

type Tally = {
  -readonly [K in "format" | "rows" | "rejected" | "warnings"]: CheckedFile[K];
} & {
  planned: { -readonly [K in keyof ImportCounts]: number };
  lost: { -readonly [K in keyof Holdings]: number };
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
  const { teachers, today, onBytes } = dependencies;
  const tally: Tally = {
    format: "csv",
    rows: 0,
    planned: { inserted: 0, updated: 0, unchanged: 0, events: 0 },
    rejected: 0,
    warnings: 0,
    lost: { validLicenses: 0, verifiedCertificates: 0, revocations: 0 },
  };
  const arriving = nothingArrived();
  const remarks: ImportIssue[] = [];
  let sha256 = "";
  let unchecked: CheckedRow[] = [];
  for await (const piece of pieces) {
    onBytes(piece.bytes);
    addArrived(arriving, piece);
    tally.format = piece.format;
    for (const { label } of piece.unknown) remarks.push({ line: 1, field: label, code: "UNKNOWN_COLUMN" });
    sha256 = piece.sha256 ?? sha256;
    unchecked = unchecked.length === 0 ? [...piece.rows] : [...unchecked, ...piece.rows];
    for (; unchecked.length >= chunkRows; unchecked = unchecked.slice(chunkRows)) {
      await checkChunk(unchecked.slice(0, chunkRows), remarks.splice(0), { ...dependencies, tally });
    }
  }
  await checkChunk(unchecked, remarks.splice(0), { ...dependencies, tally });
  return { ...tally, ...arriving, sha256, holdings: await teachers.countHoldings(today) };
}

type ComparedRow = RowEffect & {
  readonly seq: number;
  readonly line: number;
  readonly issues: readonly ImportIssue[];
};

async function checkChunk(
  rows: readonly CheckedRow[],
  remarks: readonly ImportIssue[],
  dependencies: CheckDependencies & { tally: Tally },
): Promise<void> {
  const { staging, tally } = dependencies;
  const issues: ImportIssue[] = [...remarks];
  const compared = await compareWithRegister(rows, issues, dependencies);
  const staged = compared.map((row) => ({ row, changes: changes(row) }));
  const duplicates = await staging.add(
    staged.map(({ row: { seq, line, before, content, patch }, changes }) => ({
      seq,
      line,
      regNo: content.regNo,
      tId: content.tId,
      ninIndex: content.ninIndex,
      isNew: before === null,
      patch: changes ? patch : null,
    })),
  );
  const refused = new Map(duplicates.map((duplicate) => [duplicate.seq, duplicate]));
  for (const { row, changes } of staged) {
    const duplicate = refused.get(row.seq);
    if (duplicate !== undefined)
      issues.push(duplicateIssue({ line: row.line, format: tally.format }, duplicate.of));
    else {
      issues.push(...row.issues);
      count(row, changes, dependencies);
    }
  }
  const rejections = issues.filter(isRejection);
  tally.rejected += new Set(rejections.map((issue) => issue.line)).size;
  tally.warnings += issues.length - rejections.length;
  await staging.addIssues(issues.sort((a, b) => a.line - b.line));
}

function changes({ before, content }: ComparedRow): boolean {
  return before === null || changedFields(before, content).length > 0;
}

/** The rows that stand so far; for the others the reasons are added to `issues`. */
async function compareWithRegister(
  rows: readonly CheckedRow[],
  issues: ImportIssue[],
  { teachers, today, liftRevocations, tally }: CheckDependencies & { tally: Tally },
): Promise<ComparedRow[]> {
  const { format } = tally;
  const read: { seq: number; line: number; patch: TeacherPatch; issues: readonly ImportIssue[] }[] = [];
  for (const { line, patch, issues: found } of rows) {
    tally.rows++;
    // Of a row that is refused only the reasons are told: its warnings are about what did not happen.
    if (patch === null) issues.push(...found.filter(isRejection));
    else read.push({ seq: tally.rows, line, patch, issues: found });
  }
  // Whoever is added to an empty register from here on is found by the commit, which then fails.
  const isEmpty = await teachers.isEmpty();
  const known = isEmpty
    ? new Map<string, StoredTeacher>()
    : await findKnown(
        teachers,
        read.map(({ patch }) => patch.regNo),
      );
  const compared = read.map((one): ComparedRow => {
    const before = known.get(one.patch.regNo) ?? null;
    const content = applyPatch(before, one.patch, { liftRevocations });
    const found = checkContent({ line: one.line, format }, { patch: one.patch, before, content, today });
    return { ...one, before, content, issues: found.length === 0 ? one.issues : [...one.issues, ...found] };
  });
  const taken = isEmpty ? new Map<ComparedRow, ("tId" | "nin")[]>() : await findTaken(teachers, compared);
  return compared.filter((row) => {
    const duplicate = taken.get(row);
    if (row.issues.length === 0 && duplicate === undefined) return true;
    const reasons = row.issues.filter(isRejection);
    for (const of of duplicate ?? []) reasons.push(duplicateIssue({ line: row.line, format }, of));
    issues.push(...reasons);
    return reasons.length === 0;
  });
}

export async function findKnown(
  teachers: TeacherStore,
  regNos: readonly string[],
): Promise<Map<string, StoredTeacher>> {
  if (regNos.length === 0) return new Map();
  return new Map((await teachers.findMany(regNos)).map((teacher) => [teacher.regNo, teacher]));
}

/** The rows whose teacher id or NIN another teacher of the register has. */
export async function findTaken<T extends Pick<RowEffect, "before" | "content">>(
  teachers: TeacherStore,
  rows: readonly T[],
): Promise<Map<T, ("tId" | "nin")[]>> {
  const taken = new Map<T, ("tId" | "nin")[]>();
  const note = (row: T, of: "tId" | "nin") => taken.set(row, [...(taken.get(row) ?? []), of]);
  const newTIds = rows.filter(({ before, content }) => content.tId !== null && content.tId !== before?.tId);
  if (newTIds.length > 0) {
    const owners = await teachers.ownersOfTIds(newTIds.map(({ content }) => content.tId as number));
    const byTId = new Map(owners.map(({ value, regNo }) => [value, regNo]));
    for (const row of newTIds) {
      const owner = byTId.get(row.content.tId as number);
      if (owner !== undefined && owner !== row.content.regNo) note(row, "tId");
    }
  }
  const newNins = rows.filter(
    ({ before, content }) =>
      content.ninIndex !== null && hexOf(content.ninIndex) !== hexOf(before?.ninIndex ?? null),
  );
  if (newNins.length > 0) {
    const owners = await teachers.ownersOfNins(newNins.map(({ content }) => content.ninIndex as Uint8Array));
    const byNin = new Map(owners.map(({ value, regNo }) => [hexOf(value), regNo]));
    for (const row of newNins) {
      const owner = byNin.get(hexOf(row.content.ninIndex));
      if (owner !== undefined && owner !== row.content.regNo) note(row, "nin");
    }
  }
  return taken;
}

const duplicateCodes: Readonly<Record<Duplicate["of"], RejectionCode>> = {
  regNo: "DUPLICATE_REG_NO",
  tId: "DUPLICATE_T_ID",
  nin: "DUPLICATE_NIN",
};

export function duplicateIssue(
  row: { readonly line: number; readonly format: ImportFormat },
  of: Duplicate["of"],
): ImportIssue {
  return { line: row.line, field: fieldLabel(of, row.format), code: duplicateCodes[of] };
}

function count(
  { before, content }: ComparedRow,
  changed: boolean,
  { today, announce, tally }: CheckDependencies & { tally: Tally },
): void {
  const { planned, lost } = tally;
  const after = statusesOn(content, today);
  if (before !== null) {
    const { license, certificate } = statusesOn(before, today);
    if (license === "VALID" && after.license !== "VALID") lost.validLicenses++;
    if (certificate === "VERIFIED" && after.certificate !== "VERIFIED") lost.verifiedCertificates++;
    if (losesRevocation({ before, content })) lost.revocations++;
  }
  if (!changed) {
    planned.unchanged++;
    return;
  }
  if (before === null) planned.inserted++;
  else planned.updated++;
  if (announce) planned.events += transitions(statusesBefore(before, after), after).length;
}
