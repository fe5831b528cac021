import type { TeacherWrite } from "../teachers/store.ts";
import type { TeacherContent } from "../teachers/teachers.ts";
import type { AppliedImport } from "./arrival.ts";
import type { Contention } from "./batch-size.ts";
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
  /** How many rows that change nothing lie between this one and the one before that changes something. */
  readonly unchangedBefore: number;
};

/** Which identifier of a row an earlier row of the file has already. */
export type Duplicate = { readonly seq: number; readonly of: "regNo" | "tId" | "nin" };

/** Where checked rows wait until all of them are checked, outside of memory. Gone when it is closed. */
export type Staging = {
  /** Takes rows in; those whose registration number, teacher id or NIN is taken stay out. */
  add(rows: readonly StagedRow[]): Promise<Duplicate[]>;
  addIssues(issues: readonly ImportIssue[]): Promise<void>;
  /** Rows that change something, in the order of the file. */
  pending(afterSeq: number, limit: number): Promise<PendingRow[]>;
  /** How many rows that change nothing lie behind the one. */
  countUnchanged(afterSeq: number): Promise<number>;
  readonly issues: IssuePages;
  close(): Promise<void>;
};

export type ImportCounts = {
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly events: number;
};

/** How far an import has come: everything up to the row `applied` is in the register. */
export type ImportProgress = ImportCounts & { readonly applied: number };

/** An import as it is recorded. Times are milliseconds since the epoch. */
export type ImportRecord = ImportProgress & {
  readonly id: number;
  readonly file: string;
  readonly sha256: string;
  /** The options that change what is written; a run goes on only under the same ones. */
  readonly options: string;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  /** When another import took its place before it was finished. */
  readonly abandonedAt: number | null;
  readonly rejected: number;
  readonly warnings: number;
};

/** What a run knows of its record: where it is, and under which conditions it goes on. */
export type ImportRun = ImportProgress & Pick<ImportRecord, "id" | "file" | "sha256" | "options">;

/** An import and how its rows were judged: {@link firstRejected} and {@link describeCode} show it. */
export type ImportDetails = ImportRecord & {
  /** In the order in which they are shown; nothing for an import of a release that did not keep them. */
  readonly codes: readonly CodeCount[];
};

/** The imports that were run, for whoever shows them. */
export type ImportHistory = {
  /** Newest first. */
  latest(limit: number): Promise<ImportRecord[]>;
  /** One import with the codes of its rows, kept when it was finished; null when there is none with this id. */
  find(id: number): Promise<ImportDetails | null>;
  /**
   * The last import of which any row stood; null before the first. What was refused, given up or rejected whole is
   * none, nor are the made-up teachers of a sandbox.
   */
  lastApplied(): Promise<AppliedImport | null>;
  /**
   * What the imports that began since a time have taken away together, since losses were last allowed. The one that is
   * under way, or was killed and goes on, is not among them.
   */
  losses(since: number): Promise<Losses>;
};

/** A write with the fields that it changes, null for a new teacher: what stays is not written again. */
export type ImportWrite = TeacherWrite & { readonly changed: readonly (keyof TeacherContent)[] | null };

/**
 * What became of a commit. `conflict`: a record has moved on, or another one holds an identifier; nothing
 * was written. `superseded`: another import has begun, or does the same work.
 */
export type CommitOutcome = {
  readonly outcome: "applied" | "conflict" | "superseded";
  /** True when another connection has written since the last commit. */
  readonly othersWrote: boolean;
  /** True when a `tvs serve` uses the database. */
  readonly serviceRuns: boolean;
  /** How long the commit kept everybody else from writing, in milliseconds; null where that is not known. */
  readonly heldMs: number | null;
};

/** How an import ended. */
type ImportEnd = {
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
  /** The import that was begun last, if it was neither finished nor given up. */
  unfinished(): Promise<ImportRun | null>;
  /** Begins an import and gives up an unfinished one. */
  begin(run: {
    file: string;
    sha256: string;
    options: string;
    losses: RecordedLosses;
    at: number;
  }): Promise<ImportRun>;
  /** Records that the operator allowed what a run that goes on takes away. */
  allow(run: ImportRun): Promise<void>;
  /** Writes a chunk and moves the progress from `run` to `next`, in one commit, all of it or nothing. */
  commit(run: ImportRun, writes: readonly ImportWrite[], next: ImportProgress): Promise<CommitOutcome>;
  finish(run: ImportRun, end: ImportEnd): Promise<void>;
  /** Whether a service answers from the same file, on this machine then: who reads much leaves it time in between. */
  isBesideService(): Promise<boolean>;
  /** Prepares the database for a bulk of writes under such contention; null ends that. */
  tune(contention: Contention | null): Promise<void>;
};
