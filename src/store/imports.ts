import { service } from "../domain/changes.ts";
import { isTvsError } from "../domain/errors.ts";
import type { AppliedImport } from "../domain/import/arrival.ts";
import type { Contention } from "../domain/import/batch-size.ts";
import { type Losses, type RecordedLosses, sumLosses } from "../domain/import/losses.ts";
import { type CodeCount, inOrder } from "../domain/import/report.ts";
import type {
  CommitOutcome,
  ImportHistory,
  ImportProgress,
  ImportRecord,
  ImportRun,
  ImportStore,
  ImportWrite,
} from "../domain/import/store.ts";
import { createRecorder } from "./changes.ts";
import { type Driver, type Row, type Statement, statement } from "./driver/driver.ts";
import { integer, integerOrNull, text, textOrNull } from "./driver/rows.ts";
import { chunkStatements } from "./import-statements.ts";
import { openStaging } from "./staging.ts";
import { nextTeacherId } from "./status-lists.ts";

/**
 * Pages of 4 KiB that may wait in the write-ahead log: the more, the fewer are written twice. Beside somebody who
 * writes, nobody's commit is to be held up by emptying the log (0): it is done between commits, see below.
 */
const checkpointPages: Readonly<Record<Contention, number>> = { none: 64_000, low: 4_000, high: 0 };
/** A new row alters some five pages; a service empties the log itself at a thousand. */
const rowsBetweenCheckpoints = 100;
const normal = { checkpointPages: 1_000, cacheKib: 2_000 };
const bulkCacheKib = 64_000;
/** Looking for a service opens a file; this often is enough. */
const lookMs = 500;

/** The imports that were run, for whoever shows them. */
export function createImportHistory(driver: Driver): ImportHistory {
  return {
    async latest(limit) {
      const rows = await driver.query("SELECT * FROM imports ORDER BY id DESC LIMIT ?", [limit]);
      return rows.map(importRecord);
    },
    async find(id) {
      const [row] = await driver.query("SELECT * FROM imports WHERE id = ?", [id]);
      if (row === undefined) return null;
      const codes = await driver.query("SELECT * FROM import_codes WHERE import_id = ?", [id]);
      return { ...importRecord(row), codes: inOrder(codes.map(codeCount)) };
    },
    lastApplied: () => readLastApplied(driver),
    losses: (since) => readLosses(driver, since),
  };
}

async function readLosses(driver: Driver, since: number): Promise<Losses> {
  const rows = await driver.query(
    `SELECT losses FROM imports WHERE started_at >= ? AND losses IS NOT NULL
      AND (finished_at IS NOT NULL OR abandoned_at IS NOT NULL) ORDER BY id DESC`,
    [since],
  );
  return sumLosses(rows.map((row) => JSON.parse(text(row, "losses")) as RecordedLosses));
}

const lastAppliedImport = `SELECT applied, fields, finished_at, rejections FROM imports WHERE finished_at IS NOT NULL
  AND inserted + updated + unchanged > 0 AND options NOT LIKE '%"sample"%' ORDER BY id DESC LIMIT 1`;

async function readLastApplied(driver: Driver): Promise<AppliedImport | null> {
  const [row] = await driver.query(lastAppliedImport);
  if (row === undefined) return null;
  const fields = textOrNull(row, "fields");
  return {
    rows: integer(row, "applied"),
    fields: fields === null ? null : new Set(JSON.parse(fields) as string[]),
    finishedAt: integer(row, "finished_at"),
    rejections: digestsOf(textOrNull(row, "rejections")),
  };
}

function digestsOf(text: string | null): ReadonlySet<string> | null {
  return text === null ? null : new Set(JSON.parse(text) as string[]);
}

function codeCount(row: Row): CodeCount {
  const places = JSON.parse(text(row, "first_rows")) as [line: number, field: string | null][];
  return {
    code: text(row, "code") as CodeCount["code"],
    rows: integer(row, "row_count"),
    first: places.map(([line, field]) => ({ line, field })),
  };
}

const keepCodes = `INSERT OR REPLACE INTO import_codes (import_id, code, row_count, first_rows)
  SELECT ?1, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?2)
  WHERE EXISTS (SELECT 1 FROM imports WHERE id = ?1 AND abandoned_at IS NULL)`;

function keptCodes(id: number, codes: readonly CodeCount[]): Statement {
  const rows = codes.map(({ code, rows, first }) => [
    code,
    rows,
    JSON.stringify(first.map(({ line, field }) => [line, field])),
  ]);
  return statement(keepCodes, [id, JSON.stringify(rows)]);
}

const readDataVersion = statement("PRAGMA data_version");
const unfinishedRun = `SELECT * FROM imports WHERE finished_at IS NULL AND abandoned_at IS NULL
  ORDER BY id DESC LIMIT 1`;

/**
 * Moves the progress from where this run left it; from anywhere else `applied` would become NULL, which
 * violates a constraint and undoes the whole commit.
 */
const advance = `UPDATE imports SET inserted = ?, updated = ?, unchanged = ?, events = ?,
  applied = CASE WHEN applied = ? AND finished_at IS NULL AND abandoned_at IS NULL THEN ? END WHERE id = ?`;

/**
 * Imports: their progress, and chunks of changes that are committed together with it.
 * @param stagingFolder a folder of this machine; the database itself may be elsewhere
 * @param acting in whose name rows are imported
 */
export function createImportStore(driver: Driver, stagingFolder: string, acting = service): ImportStore {
  const recorded = createRecorder(acting);
  const others = createOtherUsers(driver);
  const log = createLogKeeper(driver);
  let newId: number | undefined;

  async function isSuperseded(run: ImportRun): Promise<boolean> {
    const [row] = await driver.query("SELECT * FROM imports WHERE id = ?", [run.id]);
    if (row === undefined) return true;
    const { applied, abandonedAt, finishedAt } = importRecord(row);
    return abandonedAt !== null || finishedAt !== null || applied !== run.applied;
  }

  async function commit(
    run: ImportRun,
    writes: readonly ImportWrite[],
    next: ImportProgress,
  ): Promise<CommitOutcome> {
    const { inserted, updated, unchanged, events, applied } = next;
    const progress = [inserted, updated, unchanged, events, run.applied, applied, run.id];
    newId ??= await firstFreeId(driver);
    try {
      const rows = await driver.batch([
        ...others.look,
        ...chunkStatements(writes, newId),
        statement(advance, progress),
      ]);
      newId += writes.filter((write) => write.replaces === null).length;
      const othersWrote = others.haveWritten(rows[0]?.[0]);
      const heldMs = driver.heldMs();
      await log.copy(writes.length);
      return { outcome: "applied", othersWrote, serviceRuns: await others.serviceRuns(), heldMs };
    } catch (error) {
      newId = undefined;
      if (!isTvsError(error, "STORE_CONSTRAINT")) throw error;
      return {
        outcome: (await isSuperseded(run)) ? "superseded" : "conflict",
        othersWrote: true,
        serviceRuns: true,
        heldMs: null,
      };
    }
  }

  return {
    openStaging: () => openStaging(stagingFolder),
    commit,
    async unfinished() {
      const [row] = await driver.query(unfinishedRun);
      return row === undefined ? null : importRecord(row);
    },
    async begin({ file, sha256, options, losses, at }) {
      const giveUp = "UPDATE imports SET abandoned_at = ? WHERE finished_at IS NULL AND abandoned_at IS NULL";
      const insert = `INSERT INTO imports (file, sha256, options, started_at, losses, applied, inserted, updated,
          unchanged, rejected, warnings, events) VALUES (?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0) RETURNING *`;
      const rows = await driver.batch([
        statement(giveUp, [at]),
        statement(insert, [file, sha256, options, at, JSON.stringify(losses)]),
        recorded({ action: "import", kind: "import", id: null, detail: sha256 }),
      ]);
      const row = rows[1]?.[0];
      if (row === undefined) throw new TypeError("the import was not recorded");
      return importRecord(row);
    },
    async allow(run) {
      await driver.query("UPDATE imports SET losses = ? WHERE id = ?", [JSON.stringify("allowed"), run.id]);
    },
    async finish(run, { rejected, warnings, codes, fields, rejections, at }) {
      const sql = `UPDATE imports SET finished_at = ?, rejected = ?, warnings = ?, fields = ?, rejections = ?
        WHERE id = ? AND abandoned_at IS NULL`;
      const digests = rejections === null ? null : JSON.stringify(rejections);
      const args = [at, rejected, warnings, JSON.stringify(fields), digests, run.id];
      await driver.batch([statement(sql, args), keptCodes(run.id, codes)]);
    },
    lastApplied: () => readLastApplied(driver),
    losses: (since) => readLosses(driver, since),
    isBesideService: async () => driver.kind === "embedded" && others.serviceRuns(),
    async tune(contention) {
      if (driver.kind !== "embedded") return;
      if (contention !== null) return others.begin(await log.tune(contention));
      await log.restore();
      if (!(await others.serviceRuns())) await log.empty();
    },
  };
}

/** Who else uses the database while an import runs. A libSQL server does not tell. */
function createOtherUsers(driver: Driver) {
  const embedded = driver.kind === "embedded";
  /** Only another connection's commit moves this number. */
  let dataVersion: number | null = null;
  let looked = { at: Number.NEGATIVE_INFINITY, serviceRuns: true };
  return {
    /** The statement to be put before a chunk, whose row {@link haveWritten} takes. */
    look: embedded ? [readDataVersion] : [],
    /** Whether somebody else has committed since the last chunk, or since the beginning. */
    haveWritten(row: Row | undefined): boolean {
      if (!embedded || row === undefined) return false;
      const version = integer(row, "data_version");
      const moved = dataVersion !== null && dataVersion !== version;
      dataVersion = version;
      return moved;
    },
    /** Who writes between this and the first commit is noticed by it. */
    begin(row: Row | undefined): void {
      dataVersion ??= integerOrNull(row ?? {}, "data_version");
    },
    async serviceRuns(): Promise<boolean> {
      const at = performance.now();
      if (at - looked.at > lookMs) looked = { at, serviceRuns: await driver.serviceRunning() };
      return looked.serviceRuns;
    },
  };
}

/** The write-ahead log of the database file while an import runs: how long it may grow, and who empties it. */
function createLogKeeper(driver: Driver) {
  let rowsInLog = 0;
  let isCopied = false;
  return {
    /** @returns the row of {@link readDataVersion} */
    async tune(contention: Contention): Promise<Row | undefined> {
      isCopied = contention === "high";
      const rows = await driver.batch([
        ...tuning(checkpointPages[contention], bulkCacheKib),
        readDataVersion,
      ]);
      return rows[2]?.[0];
    },
    /**
     * Copies what the log holds into the database on the calling thread's connection, which keeps nobody from writing:
     * a service that finds the log long would do it in the midst of its callers.
     */
    async copy(rows: number): Promise<void> {
      rowsInLog += rows;
      if (!isCopied || rowsInLog < rowsBetweenCheckpoints) return;
      rowsInLog = 0;
      await driver.query("PRAGMA wal_checkpoint(PASSIVE)");
    },
    /** Leaves the settings as they were. */
    async restore(): Promise<void> {
      isCopied = false;
      await driver.batch(tuning(normal.checkpointPages, normal.cacheKib));
    },
    /** Gives the log's space back, unless that would make anybody wait. */
    async empty(): Promise<void> {
      for (const pragma of ["busy_timeout = 0", "wal_checkpoint(TRUNCATE)", "busy_timeout = 5000"]) {
        await driver.query(`PRAGMA ${pragma}`);
      }
    },
  };
}

async function firstFreeId(driver: Driver): Promise<number> {
  const [row] = await driver.query(`SELECT ${nextTeacherId} AS id`);
  return row === undefined ? 1 : integer(row, "id");
}

function tuning(pages: number, kib: number): Statement[] {
  return [statement(`PRAGMA wal_autocheckpoint = ${pages}`), statement(`PRAGMA cache_size = -${kib}`)];
}

function importRecord(row: Row): ImportRecord {
  return {
    id: integer(row, "id"),
    file: text(row, "file"),
    sha256: text(row, "sha256"),
    options: text(row, "options"),
    startedAt: integer(row, "started_at"),
    finishedAt: integerOrNull(row, "finished_at"),
    abandonedAt: integerOrNull(row, "abandoned_at"),
    applied: integer(row, "applied"),
    inserted: integer(row, "inserted"),
    updated: integer(row, "updated"),
    unchanged: integer(row, "unchanged"),
    rejected: integer(row, "rejected"),
    warnings: integer(row, "warnings"),
    events: integer(row, "events"),
  };
}
