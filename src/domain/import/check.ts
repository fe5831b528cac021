import type { CalendarDate } from "../clock.ts";
import { statusesBefore, statusesOn, transitions } from "../events.ts";
import type { Holdings, TeacherStore } from "../teacher-store.ts";
import type { StoredTeacher } from "../teachers.ts";
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
import type { FilePiece, ReadRow } from "./read.ts";
import { type ImportIssue, isRejection, type RejectionCode } from "./report.ts";
import type { Duplicate, ImportCounts, Staging } from "./store.ts";

/** Rows that are compared with the register in one read. */
const chunkRows = 500;

export type CheckDependencies = {
  readonly teachers: TeacherStore;
  readonly staging: Staging;
  readonly today: CalendarDate;
  readonly announce: boolean;
  readonly liftRevocations: boolean;
  readonly onBytes: (count: number) => void;
};

/** What the whole file would do to the register as it is now. */
export type CheckedFile = {
  readonly sha256: string;
  readonly format: ImportFormat;
  readonly rows: number;
  readonly planned: ImportCounts;
  readonly rejected: number;
  readonly warnings: number;
  /** What the register holds now, and how much of it would be gone. */
  readonly holdings: Holdings;
  readonly lost: Holdings;
};

type Tally = {
  -readonly [K in keyof Omit<CheckedFile, "sha256" | "planned" | "lost" | "holdings">]: CheckedFile[K];
} & {
  planned: { -readonly [K in keyof ImportCounts]: number };
  lost: { -readonly [K in keyof Holdings]: number };
};

/**
 * Compares every row of an extract with the rows before it and with the register, and lays those that stand into
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
  const unknown: ImportIssue[] = [];
  let sha256 = "";
  let waiting: ReadRow[] = [];
  for await (const piece of pieces) {
    onBytes(piece.bytes);
    tally.format = piece.format;
    for (const label of piece.unknown) unknown.push({ line: 1, field: label, code: "UNKNOWN_COLUMN" });
    sha256 = piece.sha256 ?? sha256;
    waiting = waiting.length === 0 ? [...piece.rows] : [...waiting, ...piece.rows];
    for (; waiting.length >= chunkRows; waiting = waiting.slice(chunkRows)) {
      await checkChunk(waiting.slice(0, chunkRows), unknown.splice(0), { ...dependencies, tally });
    }
  }
  await checkChunk(waiting, unknown.splice(0), { ...dependencies, tally });
  return { ...tally, sha256, holdings: await teachers.countHoldings(today) };
}

type Candidate = RowEffect & {
  readonly seq: number;
  readonly line: number;
  readonly issues: readonly ImportIssue[];
};

async function checkChunk(
  rows: readonly ReadRow[],
  remarks: readonly ImportIssue[],
  dependencies: CheckDependencies & { tally: Tally },
): Promise<void> {
  const { staging, tally } = dependencies;
  const issues: ImportIssue[] = [...remarks];
  const candidates = await compareWithRegister(rows, issues, dependencies);
  const claimed = candidates.map((candidate) => ({ candidate, changes: changes(candidate) }));
  const duplicates = await staging.add(
    claimed.map(({ candidate: { seq, line, before, content, patch }, changes }) => ({
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
  for (const { candidate, changes } of claimed) {
    const duplicate = refused.get(candidate.seq);
    if (duplicate !== undefined)
      issues.push(duplicateIssue({ line: candidate.line, format: tally.format }, duplicate.of));
    else {
      issues.push(...candidate.issues);
      count(candidate, changes, dependencies);
    }
  }
  const rejections = issues.filter(isRejection);
  tally.rejected += new Set(rejections.map((issue) => issue.line)).size;
  tally.warnings += issues.length - rejections.length;
  await staging.addIssues(issues.sort((a, b) => a.line - b.line));
}

function changes({ before, content }: Candidate): boolean {
  return before === null || changedFields(before, content).length > 0;
}

/** The rows that stand so far; for the others the reasons are added to `issues`. */
async function compareWithRegister(
  rows: readonly ReadRow[],
  issues: ImportIssue[],
  { teachers, today, liftRevocations, tally }: CheckDependencies & { tally: Tally },
): Promise<Candidate[]> {
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
  const candidates = read.map((one): Candidate => {
    const before = known.get(one.patch.regNo) ?? null;
    const content = applyPatch(before, one.patch, { liftRevocations });
    const found = checkContent({ line: one.line, format }, { patch: one.patch, before, content, today });
    return { ...one, before, content, issues: found.length === 0 ? one.issues : [...one.issues, ...found] };
  });
  const taken = isEmpty ? new Map<Candidate, ("tId" | "nin")[]>() : await findTaken(teachers, candidates);
  return candidates.filter((candidate) => {
    const duplicate = taken.get(candidate);
    if (candidate.issues.length === 0 && duplicate === undefined) return true;
    const reasons = candidate.issues.filter(isRejection);
    for (const of of duplicate ?? []) reasons.push(duplicateIssue({ line: candidate.line, format }, of));
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

type Claim = Pick<RowEffect, "before" | "content">;

/** Those that ask for a teacher id or NIN which another teacher of the register has. */
export async function findTaken<T extends Claim>(
  teachers: TeacherStore,
  claims: readonly T[],
): Promise<Map<T, ("tId" | "nin")[]>> {
  const taken = new Map<T, ("tId" | "nin")[]>();
  const note = (claim: T, of: "tId" | "nin") => taken.set(claim, [...(taken.get(claim) ?? []), of]);
  const newTIds = claims.filter(({ before, content }) => content.tId !== null && content.tId !== before?.tId);
  if (newTIds.length > 0) {
    const owners = await teachers.ownersOfTIds(newTIds.map(({ content }) => content.tId as number));
    const byTId = new Map(owners.map(({ value, regNo }) => [value, regNo]));
    for (const claim of newTIds) {
      const owner = byTId.get(claim.content.tId as number);
      if (owner !== undefined && owner !== claim.content.regNo) note(claim, "tId");
    }
  }
  const newNins = claims.filter(
    ({ before, content }) =>
      content.ninIndex !== null && hexOf(content.ninIndex) !== hexOf(before?.ninIndex ?? null),
  );
  if (newNins.length > 0) {
    const owners = await teachers.ownersOfNins(newNins.map(({ content }) => content.ninIndex as Uint8Array));
    const byNin = new Map(owners.map(({ value, regNo }) => [hexOf(value), regNo]));
    for (const claim of newNins) {
      const owner = byNin.get(hexOf(claim.content.ninIndex));
      if (owner !== undefined && owner !== claim.content.regNo) note(claim, "nin");
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
  { before, content }: Candidate,
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
