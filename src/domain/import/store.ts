import type { TeacherStore } from "../../store/teachers.ts";
import type { TeacherWrite } from "../teachers/store.ts";
import type { TeacherContent } from "../teachers/teachers.ts";
import type { ArrivedField } from "./fields.ts";
import type { RecordedLosses } from "./losses.ts";
import type { RowEffect } from "./patch.ts";
import type { CodeCount, ImportIssue, IssuePages } from "./report.ts";

/** A checked row on its way into the staging area. */
export type StagedRow = RowEffect & {
  /** The row's place in the file, from 1, rejected rows included. */
  readonly seq: number;
  readonly line: number;
};

/** A row that changes something, as it waits there. */
export type PendingRow = Pick<StagedRow, "seq" | "line" | "patch">;

/** Which identifier of a row an earlier row of the file has already. */
export type Duplicate = { readonly seq: number; readonly of: "regNo" | "tId" | "nin" };

/** Where checked rows wait until all of them are checked, outside of memory. Gone when it is closed. */
export type Staging = {
  /** Takes rows in; those whose registration number, teacher id or NIN is taken stay out. */
  add(rows: readonly StagedRow[]): Duplicate[];
  addIssues(issues: readonly ImportIssue[]): void;
  /** Rows that change something, in the order of the file. */
  pending(afterSeq: number, limit: number): PendingRow[];
  readonly issues: IssuePages;
  close(): void;
};

export type ImportCounts = {
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly events: number;
};

/** How far an import has come: everything up to the row `applied` is in the register. */
export type ImportProgress = ImportCounts & {
  readonly applied: number;
  /** What the rows so far have taken away. */
  readonly losses: RecordedLosses;
};

/** An import as it is recorded. Times are milliseconds since the epoch. */
export type ImportRecord = ImportCounts & {
  readonly id: number;
  readonly file: string;
  readonly sha256: string;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  /** When another import began before this one was finished. */
  readonly abandonedAt: number | null;
  readonly applied: number;
  readonly rejected: number;
  readonly warnings: number;
};

export type ImportRun = ImportProgress & Pick<ImportRecord, "id">;

/** An import and how its rows were judged: {@link firstRejected} and {@link describeCode} show it. */
export type ImportDetails = ImportRecord & {
  /** In the order in which they are shown; nothing for an import that was not finished. */
  readonly codes: readonly CodeCount[];
};

/** A write with the fields that it changes, null for a new teacher: what stays is not written again. */
export type ImportWrite = TeacherWrite & { readonly changed: readonly (keyof TeacherContent)[] | null };

/** The register as the transaction of a chunk has it. */
export type ImportedTeachers = Pick<TeacherStore, "findMany" | "findOwners" | "apply">;

/** What a chunk writes, and how far the import has come then. */
export type PlannedChunk = { readonly writes: readonly ImportWrite[]; readonly next: ImportProgress };

/** How an import begins. */
export type ImportStart = Pick<ImportRecord, "file" | "sha256" | "unchanged"> & {
  /** Whether it brings the made-up teachers of a sandbox. */
  readonly isSample: boolean;
  readonly losses: RecordedLosses;
  readonly at: number;
};

/** How an import ended. */
export type ImportEnd = {
  readonly rows: number;
  readonly rejected: number;
  readonly warnings: number;
  readonly codes: readonly CodeCount[];
  /** What the next import must bring too. */
  readonly fields: readonly ArrivedField[];
  /** The digests of its rejections, for the next import; null where they were too many. */
  readonly rejections: readonly string[] | null;
  readonly at: number;
};
