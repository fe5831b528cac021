import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { BlindIndex } from "./blind-index.ts";
import type { CalendarDate } from "./clock.ts";
import { statusesBefore, statusesOn, transitions } from "./events.ts";
import { type ImportIssue, isRejection, type RejectionCode } from "./import-codes.ts";
import { applyPatch, changedFields, checkContent } from "./import-content.ts";
import { fieldLabel, type ImportFormat, type RawRow } from "./import-fields.ts";
import { type ImportInput, readRows } from "./import-file.ts";
import { checkRow, type TeacherPatch } from "./import-rows.ts";
import type { Duplicate, ImportCounts, Staging } from "./import-store.ts";
import type { RegisterStore, StoredTeacher, TeacherContent } from "./register.ts";
import { licenseStatusOn } from "./teachers.ts";

/** Rows that are compared with the register in one read. */
const chunkRows = 500;

export type CheckDependencies = {
  readonly register: RegisterStore;
  readonly staging: Staging;
  readonly blindIndex: BlindIndex;
  readonly today: CalendarDate;
  readonly announce: boolean;
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
  /** Licences that are valid now, and how many of them would not be any more. */
  readonly validNow: number;
  readonly lost: number;
};

type Tally = {
  -readonly [K in keyof Omit<CheckedFile, "sha256" | "planned" | "validNow">]: CheckedFile[K];
} & {
  planned: { -readonly [K in keyof ImportCounts]: number };
};

/**
 * Checks every row of an extract, by itself, against the rows before it and against the register, and lays
 * those that stand into the staging area. Nothing is changed.
 * @throws TvsError INPUT_UNREADABLE when the file cannot be read to its end
 */
export async function checkFile(input: ImportInput, dependencies: CheckDependencies): Promise<CheckedFile> {
  const { register, today, onBytes } = dependencies;
  const digest = createHash("sha256");
  const tally: Tally = {
    format: "csv",
    rows: 0,
    planned: { inserted: 0, updated: 0, unchanged: 0, events: 0 },
    rejected: 0,
    warnings: 0,
    lost: 0,
  };
  const unknown: ImportIssue[] = [];
  const rows = readRows(input, {
    onBytes(chunk) {
      digest.update(chunk);
      onBytes(chunk.length);
    },
    onUnknown: (label) => unknown.push({ line: 1, field: label, code: "UNKNOWN_COLUMN" }),
  });
  let waiting: RawRow[] = [];
  for await (const some of rows) {
    waiting.push(...some);
    for (; waiting.length >= chunkRows; waiting = waiting.slice(chunkRows)) {
      await checkChunk(waiting.slice(0, chunkRows), unknown.splice(0), { ...dependencies, tally });
    }
  }
  await checkChunk(waiting, unknown.splice(0), { ...dependencies, tally });
  return { ...tally, sha256: digest.digest("hex"), validNow: await register.countValid(today) };
}

/** A row with what it would make of the record that it names. */
type Candidate = {
  readonly row: RawRow;
  readonly seq: number;
  readonly patch: TeacherPatch;
  readonly before: StoredTeacher | null;
  readonly content: TeacherContent;
  readonly issues: readonly ImportIssue[];
};

async function checkChunk(
  rows: readonly RawRow[],
  remarks: readonly ImportIssue[],
  dependencies: CheckDependencies & { tally: Tally },
): Promise<void> {
  const { staging, tally } = dependencies;
  const issues: ImportIssue[] = [...remarks];
  const candidates = await compareWithRegister(rows, issues, dependencies);
  const claimed = candidates.map((candidate) => ({ candidate, changes: changes(candidate) }));
  const duplicates = await staging.add(
    claimed.map(({ candidate: { seq, row, before, content, patch }, changes }) => ({
      seq,
      line: row.line,
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
    if (duplicate !== undefined) issues.push(duplicateIssue(candidate.row, duplicate.of));
    else {
      issues.push(...candidate.issues);
      count(candidate, changes, dependencies);
    }
  }
  tally.rejected += new Set(issues.filter(isRejection).map((issue) => issue.line)).size;
  tally.warnings += issues.filter((issue) => !isRejection(issue)).length;
  await staging.addIssues(issues.sort((a, b) => a.line - b.line));
}

function changes({ before, content }: Candidate): boolean {
  return before === null || changedFields(before, content).length > 0;
}

/** The rows that stand so far; for the others the reasons are added to `issues`. */
async function compareWithRegister(
  rows: readonly RawRow[],
  issues: ImportIssue[],
  { register, blindIndex, today, tally }: CheckDependencies & { tally: Tally },
): Promise<Candidate[]> {
  const read: { row: RawRow; seq: number; patch: TeacherPatch; issues: readonly ImportIssue[] }[] = [];
  for (const row of rows) {
    tally.rows++;
    tally.format = row.format;
    const { patch, issues: found } = checkRow(row, blindIndex);
    // Of a row that is refused only the reasons are told: its warnings are about what did not happen.
    if (patch === null) issues.push(...found.filter(isRejection));
    else read.push({ row, seq: tally.rows, patch, issues: found });
  }
  const known = await findKnown(
    register,
    read.map(({ patch }) => patch.regNo),
  );
  const candidates = read.map((one) => {
    const before = known.get(one.patch.regNo) ?? null;
    const content = applyPatch(before, one.patch);
    return {
      ...one,
      before,
      content,
      issues: [...one.issues, ...checkContent(one.row, { before, content, today })],
    };
  });
  const taken = await findTaken(register, candidates);
  return candidates.filter((candidate) => {
    const reasons = candidate.issues.filter(isRejection);
    const duplicate = taken.get(candidate);
    if (duplicate !== undefined) reasons.push(...duplicate.map((of) => duplicateIssue(candidate.row, of)));
    issues.push(...reasons);
    return reasons.length === 0;
  });
}

export async function findKnown(
  register: RegisterStore,
  regNos: readonly string[],
): Promise<Map<string, StoredTeacher>> {
  if (regNos.length === 0) return new Map();
  return new Map((await register.findMany("regNo", regNos)).map((teacher) => [teacher.regNo, teacher]));
}

type Claim = { readonly before: StoredTeacher | null; readonly content: TeacherContent };

/** Those that ask for a teacher id or NIN which another teacher of the register has. */
export async function findTaken<T extends Claim>(
  register: RegisterStore,
  claims: readonly T[],
): Promise<Map<T, ("tId" | "nin")[]>> {
  const taken = new Map<T, ("tId" | "nin")[]>();
  const note = (claim: T, of: "tId" | "nin") => taken.set(claim, [...(taken.get(claim) ?? []), of]);
  const newTIds = claims.filter(({ before, content }) => content.tId !== null && content.tId !== before?.tId);
  if (newTIds.length > 0) {
    const owners = await register.owners(
      "tId",
      newTIds.map(({ content }) => content.tId as number),
    );
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
    const owners = await register.ownersOfNin(newNins.map(({ content }) => content.ninIndex as Uint8Array));
    const byNin = new Map(owners.map(({ value, regNo }) => [hexOf(value), regNo]));
    for (const claim of newNins) {
      const owner = byNin.get(hexOf(claim.content.ninIndex));
      if (owner !== undefined && owner !== claim.content.regNo) note(claim, "nin");
    }
  }
  return taken;
}

function hexOf(bytes: Uint8Array | null): string {
  return bytes === null ? "" : Buffer.from(bytes).toString("hex");
}

const duplicateCodes: Readonly<Record<Duplicate["of"], RejectionCode>> = {
  regNo: "DUPLICATE_REG_NO",
  tId: "DUPLICATE_T_ID",
  nin: "DUPLICATE_NIN",
};

export function duplicateIssue(row: Pick<RawRow, "line" | "format">, of: Duplicate["of"]): ImportIssue {
  return { line: row.line, field: fieldLabel(of, row.format), code: duplicateCodes[of] };
}

function count(
  { before, content }: Candidate,
  changed: boolean,
  { today, announce, tally }: CheckDependencies & { tally: Tally },
): void {
  const { planned } = tally;
  const after = statusesOn(content, today);
  if (before !== null && licenseStatusOn(before, today) === "VALID" && after.license !== "VALID")
    tally.lost++;
  if (!changed) {
    planned.unchanged++;
    return;
  }
  if (before === null) planned.inserted++;
  else planned.updated++;
  if (announce) planned.events += transitions(statusesBefore(before, after), after).length;
}
