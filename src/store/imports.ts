import { serviceActor } from "../domain/changes.ts";
import { type LossTotals, type RecordedLosses, sumLosses } from "../domain/import/losses.ts";
import { type IssueCodeCount, sortIssueCodeCounts } from "../domain/import/report.ts";
import type { TeacherWrite } from "../domain/teachers/store.ts";
import { createChangeRecorder } from "./changes.ts";
import type { Driver, Row, SqlStatement, Transaction } from "./driver/driver.ts";
import { bind, makeInserts } from "./driver/driver.ts";
import { integer, integerOrNull, type RecordOf, rowReader, text, textOrNull } from "./driver/rows.ts";
import { openImportStaging } from "./staging.ts";
import { applyWrites, storeCheckedWrites } from "./teacher-writes.ts";
import { createImportTeacherReader } from "./teachers.ts";

/** The page cache during an import, in KiB. It is large, because an import writes to all parts of the indexes. */
const bulkCacheKib = 64_000;
const usualCacheKib = 4_096;
/** The number of WAL pages at which a commit runs a checkpoint. An import runs checkpoints between its commits. */
const usualCheckpointPages = 1_000;
/** The least time between two checks for a running service, in milliseconds. A check opens a file. */
const pollIntervalMs = 500;

/** An import as stored. Times are milliseconds since the epoch. */
export type StoredImport = RecordOf<typeof importReaders>;
/** The progress of an import. The first `applied` rows are in the register; `losses` counts what these rows removed. */
export type ImportRun = Pick<
  StoredImport,
  "id" | "applied" | "inserted" | "updated" | "unchanged" | "events"
> & { readonly losses: RecordedLosses };
export type AppliedImport = NonNullable<Awaited<ReturnType<typeof readLastApplied>>>;
export type ImportTeacherAccess = ReturnType<typeof teachersIn>;
export type ImportHistory = ReturnType<typeof createImportHistory>;
export type ImportDetails = NonNullable<Awaited<ReturnType<ImportHistory["find"]>>>;

export function createImportHistory(driver: Driver) {
  return {
    async latest(limit: number) {
      const rows = await driver.query("SELECT * FROM imports ORDER BY id DESC LIMIT ?", [limit]);
      return rows.map(importRecord);
    },
    /** Finds an import, with the number of rows by rejection or warning code. A running import has no codes yet. */
    async find(id: number) {
      const [row] = await driver.query("SELECT * FROM imports WHERE id = ?", [id]);
      if (row === undefined) return null;
      const codes = await driver.query("SELECT * FROM import_codes WHERE import_id = ?", [id]);
      return { ...importRecord(row), codes: sortIssueCodeCounts(codes.map(codeCount)) };
    },
    /** Finds the last import that applied a row. Imports of made-up teachers do not count. */
    lastApplied: () => readLastApplied(driver),
    /** Adds up the losses of all imports since a time and after the last `--allow-change`, unfinished imports included. */
    async losses(since: number): Promise<LossTotals> {
      const sql = "SELECT losses FROM imports WHERE started_at >= ? ORDER BY id DESC";
      const rows = await driver.query(sql, [since]);
      return sumLosses(rows.map((row) => JSON.parse(text(row, "losses")) as RecordedLosses));
    },
  };
}

const lastAppliedImport = `SELECT * FROM imports WHERE finished_at IS NOT NULL
  AND inserted + updated + unchanged > 0 AND is_sample = 0 ORDER BY id DESC LIMIT 1`;

async function readLastApplied(driver: Driver) {
  const [row] = await driver.query(lastAppliedImport);
  if (row === undefined) return null;
  const rejections = textOrNull(row, "rejections");
  return {
    rows: integer(row, "applied"),
    fields: new Set(JSON.parse(text(row, "fields")) as string[]) as ReadonlySet<string>,
    finishedAt: integer(row, "finished_at"),
    /** Digests of the rejected rows; null if there were too many to store. */
    rejections: rejections === null ? null : (new Set(JSON.parse(rejections)) as ReadonlySet<string>),
  };
}

function codeCount(row: Row): IssueCodeCount {
  const places = JSON.parse(text(row, "first_rows")) as [line: number, field: string | null][];
  return {
    code: text(row, "code") as IssueCodeCount["code"],
    rows: integer(row, "row_count"),
    first: places.map(([line, field]) => ({ line, field })),
  };
}

function insertCodes(id: number, codes: readonly IssueCodeCount[]): SqlStatement[] {
  const rows = codes.map(({ code, rows, first }) => {
    const places = JSON.stringify(first.map(({ line, field }) => [line, field]));
    return [id, code, rows, places];
  });
  return makeInserts("import_codes", ["import_id", "code", "row_count", "first_rows"], rows);
}

const selectUnderWay = "SELECT 1 FROM imports WHERE id = ? AND abandoned_at IS NULL";
const advance = `UPDATE imports SET inserted = ?, updated = ?, unchanged = ?, events = ?, losses = ?, applied = ?
  WHERE id = ?`;
const giveUp = `UPDATE imports SET abandoned_at = ? WHERE finished_at IS NULL AND abandoned_at IS NULL RETURNING *`;
const insertImport = `INSERT INTO imports (file, sha256, is_sample, started_at, losses, unchanged, applied, inserted, updated,
  rejected, warnings, events) VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0) RETURNING id`;
const finishImport = `UPDATE imports SET finished_at = ?, applied = ?, rejected = ?, warnings = ?, fields = ?, rejections = ?
  WHERE id = ?`;

export type ImportStore = ReturnType<typeof createImportStore>;

/**
 * Creates the store of imports: their history, and the commits of their chunks.
 * @param stagingFolder a folder on this machine, because the database may be on a server
 * @param acting the recorded author of changes
 */
export function createImportStore(driver: Driver, stagingFolder: string, acting = serviceActor) {
  const recorded = createChangeRecorder(acting);
  const isFile = driver.kind === "embedded";
  let looked = { at: Number.NEGATIVE_INFINITY, runs: false };

  return {
    ...createImportHistory(driver),
    openStaging: () => openImportStaging(stagingFolder),
    /**
     * Plans a chunk of rows, and writes the chunk and the import's progress in one transaction.
     * @param plan awaits only methods of its parameter, and may be called twice
     * @returns the plan, and the ms that other writers were blocked; null, without a change, after another import began
     */
    async commit<P extends { readonly writes: readonly TeacherWrite[]; readonly next: ImportRun }>(
      { id }: Pick<ImportRun, "id">,
      plan: (teachers: ImportTeacherAccess) => Promise<P>,
    ) {
      let begunAt = 0;
      const planned = await driver.write(async (tx) => {
        begunAt = performance.now();
        const [underWay] = await tx.query(selectUnderWay, [id]);
        if (underWay === undefined) return null;
        const planned = await plan(teachersIn(tx));
        await storeCheckedWrites(tx, planned.writes);
        const { inserted, updated, unchanged, events, losses, applied } = planned.next;
        const progress = [inserted, updated, unchanged, events, JSON.stringify(losses), applied];
        await tx.query(advance, [...progress, id]);
        return planned;
      });
      if (planned === null) return null;
      const heldMs = performance.now() - begunAt;
      // A checkpoint here blocks no writer. Without it, an API call of the service would have to copy the long WAL.
      if (isFile) await driver.query("PRAGMA wal_checkpoint(PASSIVE)");
      return { planned, heldMs };
    },
    /** Begins an import and abandons an unfinished one. @param start has `isSample` for a sandbox's made-up teachers */
    begin(
      start: Pick<StoredImport, "file" | "sha256" | "unchanged"> & {
        readonly isSample: boolean;
        readonly losses: RecordedLosses;
        readonly at: number;
      },
    ) {
      const { file, sha256, isSample, unchanged, losses, at } = start;
      return driver.write(async (tx) => {
        const [[left] = [], [begun = {}] = []] = await tx.batch([
          bind(giveUp, [at]),
          bind(insertImport, [file, sha256, isSample, at, JSON.stringify(losses), unchanged]),
        ]);
        const id = integer(begun, "id");
        await tx.batch([recorded({ action: "import", kind: "import", id: String(id), detail: sha256 })]);
        const run: ImportRun = { id, applied: 0, inserted: 0, updated: 0, unchanged, events: 0, losses };
        return { run, abandoned: left === undefined ? null : importRecord(left) };
      });
    },
    /** Finishes an import, unless another import has begun. @returns whether the import was finished */
    finish(
      { id }: Pick<ImportRun, "id">,
      end: Pick<StoredImport, "rejected" | "warnings"> & {
        readonly rows: number;
        readonly codes: readonly IssueCodeCount[];
        readonly fields: readonly string[];
        readonly rejections: readonly string[] | null;
        readonly at: number;
      },
    ) {
      const { rows, rejected, warnings, codes, fields, rejections, at } = end;
      const digests = rejections === null ? null : JSON.stringify(rejections);
      const args = [at, rows, rejected, warnings, JSON.stringify(fields), digests, id];
      return driver.write(async (tx) => {
        const [underWay] = await tx.query(selectUnderWay, [id]);
        if (underWay === undefined) return false;
        await tx.batch([bind(finishImport, args), ...insertCodes(id, codes)]);
        return true;
      });
    },
    /** Returns true if a service used the same database file at the last check, {@link pollIntervalMs} ago at most. */
    async isBesideService() {
      const at = performance.now();
      if (isFile && at - looked.at > pollIntervalMs) looked = { at, runs: await driver.serviceRunning() };
      return looked.runs;
    },
    tune: (isBulk: boolean) => tune(driver, isBulk),
  };
}

async function tune(driver: Driver, isBulk: boolean): Promise<void> {
  if (driver.kind !== "embedded") return;
  const pages = isBulk ? 0 : usualCheckpointPages;
  const kib = isBulk ? bulkCacheKib : usualCacheKib;
  await driver.batch([bind(`PRAGMA wal_autocheckpoint = ${pages}`), bind(`PRAGMA cache_size = -${kib}`)]);
}

function teachersIn(tx: Transaction) {
  const { findMany, findOwners } = createImportTeacherReader(tx);
  return { findMany, findOwners, apply: (writes: readonly TeacherWrite[]) => applyWrites(tx, writes) };
}

const importReaders = {
  ...{ id: integer, file: text, sha256: text, startedAt: integer, finishedAt: integerOrNull },
  /** The time at which the next import began although this import had not finished. Null if no such import began. */
  abandonedAt: integerOrNull,
  ...{ applied: integer, inserted: integer, updated: integer, unchanged: integer },
  ...{ rejected: integer, warnings: integer, events: integer },
};
const importRecord = rowReader<StoredImport>(importReaders);
