import type { TeacherWrite } from "../teachers/store.ts";
import type { TeacherContent } from "../teachers/teachers.ts";
import type { AppliedImport } from "./arrival.ts";
import type { ArrivedField } from "./fields.ts";
import type { Losses, RecordedLosses } from "./losses.ts";
import type { RowEffect } from "./patch.ts";
import type { CodeCount, ImportIssue, IssuePages } from "./report.ts";

/** A checked row on its way into the staging area. */
export type StagedRow = RowEffect & {
  /** The row's place in the file, from 1, rejected rows included. */
  readonly seq: number;
  readonly line: number;
};

/** A row that changes something, as it waits there. */
export type PendingRow = Pick<StagedRow, "seq" | "line" | "patch"> & {
  /** True when the register had no such record when the row was checked. */
  readonly isNew: boolean;
};

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

/** The imports that were run, for whoever shows them. */
export type ImportHistory = {
  latest(limit: number): Promise<ImportRecord[]>;
  /** One import with the codes of its rows, kept when it was finished; null when there is none with this id. */
  find(id: number): Promise<ImportDetails | null>;
  /**
   * The last import of which any row stood; null before the first. What was refused, given up or rejected whole is
   * none, nor are the made-up teachers of a sandbox.
   */
  lastApplied(): Promise<AppliedImport | null>;
  /**
   * What the imports that began since a time have taken away together, since losses were last allowed. An import that
   * was killed counts with the rows that it had applied.
   */
  losses(since: number): Promise<Losses>;
};

/** A write with the fields that it changes, null for a new teacher: what stays is not written again. */
export type ImportWrite = TeacherWrite & { readonly changed: readonly (keyof TeacherContent)[] | null };

/** What became of a commit. */
export type CommitOutcome =
  | {
      readonly outcome: "applied";
      /** How long the commit kept everybody else from writing, in milliseconds. */
      readonly heldMs: number;
      /** Whether another connection has written since the last commit. */
      readonly othersWrote: boolean;
    }
  /** A record has changed, or another one holds an identifier; nothing was written. */
  | { readonly outcome: "conflict" }
  /** Another import has begun; nothing was written. */
  | { readonly outcome: "superseded" };

type ImportEnd = {
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

export type ImportStore = Pick<ImportHistory, "lastApplied" | "losses"> & {
  openStaging(): Promise<Staging>;
  /** Begins an import, and gives up an unfinished one. */
  begin(started: {
    readonly file: string;
    readonly sha256: string;
    /** Whether it brings the made-up teachers of a sandbox. */
    readonly isSample: boolean;
    readonly unchanged: number;
    readonly losses: RecordedLosses;
    readonly at: number;
  }): Promise<{ readonly run: ImportRun; readonly abandoned: ImportRecord | null }>;
  /** Writes a chunk and moves the progress to `next`, in one commit, all of it or nothing. */
  commit(run: ImportRun, writes: readonly ImportWrite[], next: ImportProgress): Promise<CommitOutcome>;
  /** @returns false when another import has begun */
  finish(run: ImportRun, end: ImportEnd): Promise<boolean>;
  /** Whether a service answers from the same file, on this machine. */
  isBesideService(): Promise<boolean>;
  /** Prepares the connection for a bulk of writes, or ends that. */
  tune(isBulk: boolean): Promise<void>;
};
