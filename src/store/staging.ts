import { Buffer } from "node:buffer";
import { closeSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ImportIssue } from "../domain/import-codes.ts";
import { isRejection } from "../domain/import-codes.ts";
import type { TeacherPatch } from "../domain/import-rows.ts";
import type { ClaimedRow, Duplicate, PendingRow, Staging } from "../domain/import-store.ts";
import { createBloom } from "./bloom.ts";
import { type Connection, openConnection } from "./connection.ts";
import { type Row, storeError, type Value } from "./driver.ts";
import { integer, text, textOrNull } from "./rows.ts";

const cacheKib = 32_000;
const bloomMegabytes = 16;

const schema = [
  `CREATE TABLE claims (
    seq INTEGER PRIMARY KEY,
    reg_no TEXT NOT NULL UNIQUE,
    t_id INTEGER UNIQUE,
    nin BLOB,
    changes INTEGER NOT NULL
  ) STRICT`,
  // What the rows set lies here by the chunk, as one text that SQLite need not look into.
  `CREATE TABLE chunks (
    last_seq INTEGER PRIMARY KEY,
    rows TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE issues (
    id INTEGER PRIMARY KEY,
    rejected INTEGER NOT NULL,
    line INTEGER NOT NULL,
    field TEXT,
    code TEXT NOT NULL
  ) STRICT`,
  "CREATE INDEX issues_by_kind ON issues (rejected, id)",
];

const addClaims = `INSERT OR IGNORE INTO claims (seq, reg_no, t_id, nin, changes)
  SELECT value ->> 0, value ->> 1, value ->> 2, unhex(value ->> 3), value ->> 4 FROM json_each(?)`;
/** Made when a NIN may have come twice: until then its random order would cost more than all the rest. */
const indexNins = "CREATE INDEX IF NOT EXISTS claims_by_nin ON claims (nin)";
const addChunk = "INSERT INTO chunks (last_seq, rows) VALUES (?, ?)";
const addIssues = `INSERT INTO issues (rejected, line, field, code)
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?)`;

let opened = 0;

/**
 * A private database for one import: names and blind indexes, never a raw NIN, e-mail address or phone
 * number. It lies beside the real database and not in the temp folder, which may be memory, and its name
 * is removed as soon as it is open: however the process ends, nothing stays behind.
 * @throws TvsError STORE_*
 */
export async function openStaging(folder: string): Promise<Staging> {
  const file = join(folder, `import-${process.pid}-${++opened}.db`);
  try {
    rmSync(file, { force: true });
    closeSync(openSync(file, "wx", 0o600));
    const connection = await openConnection(file);
    // Nothing of it outlives the process, so nothing needs to reach the disk.
    for (const pragma of [
      "journal_mode = OFF",
      "synchronous = OFF",
      `cache_size = -${cacheKib}`,
      "secure_delete = OFF",
    ]) {
      connection.exec(`PRAGMA ${pragma}`);
    }
    rmSync(file, { force: true });
    for (const table of schema) connection.exec(table);
    return createStaging(connection);
  } catch (error) {
    rmSync(file, { force: true });
    throw storeError(error);
  }
}

function createStaging(connection: Connection): Staging {
  const nins = createBloom(bloomMegabytes);
  /** Rows since the last one that changes something. */
  let unchanged = 0;

  function run(sql: string, args: readonly Value[] = []): Row[] {
    try {
      return connection.all(sql, args);
    } catch (error) {
      throw storeError(error);
    }
  }

  function countUnchanged(afterSeq: number, beforeSeq: number): number {
    const sql = "SELECT count(*) AS n FROM claims WHERE seq > ? AND seq < ? AND changes = 0";
    const [row] = run(sql, [afterSeq, beforeSeq]);
    return row === undefined ? 0 : integer(row, "n");
  }

  return {
    async add(rows) {
      if (rows.length === 0) return [];
      const maybe = new Set(rows.filter(({ ninIndex }) => ninIndex !== null && nins.add(ninIndex)));
      const duplicates = maybe.size === 0 ? claimAll(rows, run) : claimEach(rows, { maybe, run });
      const refused = new Set(duplicates.map((duplicate) => duplicate.seq));
      const staged: StagedRow[] = [];
      for (const row of rows) {
        if (refused.has(row.seq)) continue;
        if (row.patch === null) unchanged++;
        else staged.push(stagedRow(row, unchanged));
        if (row.patch !== null) unchanged = 0;
      }
      const lastSeq = staged.at(-1)?.[0];
      if (lastSeq !== undefined) run(addChunk, [lastSeq, JSON.stringify(staged)]);
      return duplicates;
    },
    async addIssues(issues) {
      if (issues.length === 0) return;
      const values = issues.map((issue) => [Number(isRejection(issue)), issue.line, issue.field, issue.code]);
      run(addIssues, [JSON.stringify(values)]);
    },
    async pending(afterSeq, limit) {
      const found: PendingRow[] = [];
      let last = afterSeq;
      while (found.length < limit) {
        const [chunk] = run(
          "SELECT last_seq, rows FROM chunks WHERE last_seq > ? ORDER BY last_seq LIMIT 1",
          [last],
        );
        if (chunk === undefined) break;
        const rows = JSON.parse(text(chunk, "rows")) as StagedRow[];
        for (const row of rows) if (row[0] > afterSeq) found.push(pendingRow(row));
        last = integer(chunk, "last_seq");
      }
      const rows = found.slice(0, limit);
      // A run that goes on may begin behind rows that it finds unchanged because it changed them itself.
      if (rows[0] !== undefined)
        rows[0] = { ...rows[0], unchangedBefore: countUnchanged(afterSeq, rows[0].seq) };
      return rows;
    },
    countUnchanged: async (afterSeq) => countUnchanged(afterSeq, Number.MAX_SAFE_INTEGER),
    async issues(kind, { after, limit }) {
      const sql = "SELECT * FROM issues WHERE rejected = ? AND id > ? ORDER BY id LIMIT ?";
      return run(sql, [kind === "rejected", after, limit]).map((row) => ({
        id: integer(row, "id"),
        line: integer(row, "line"),
        field: textOrNull(row, "field"),
        code: text(row, "code") as ImportIssue["code"],
      }));
    },
    async close() {
      connection.close();
    },
  };
}

type Run = (sql: string, args?: readonly Value[]) => Row[];

function countChanges(run: Run): number {
  const [row] = run("SELECT changes() AS n");
  return row === undefined ? 0 : integer(row, "n");
}

/** Claims for all rows at once; what stayed out is found by what is there. */
function claimAll(rows: readonly ClaimedRow[], run: Run): Duplicate[] {
  run(addClaims, [JSON.stringify(rows.map(claimValues))]);
  if (countChanges(run) === rows.length) return [];
  return rows
    .filter((row) => run("SELECT 1 FROM claims WHERE seq = ?", [row.seq]).length === 0)
    .map((row) => ({ seq: row.seq, of: claimTaken(row, run) }));
}

/** Claims row by row, because a NIN that may have come before must be looked for first. */
function claimEach(
  rows: readonly ClaimedRow[],
  { maybe, run }: { maybe: ReadonlySet<ClaimedRow>; run: Run },
): Duplicate[] {
  run(indexNins);
  return rows.flatMap((row) => {
    const ninTaken = maybe.has(row) && run("SELECT 1 FROM claims WHERE nin = ?", [row.ninIndex]).length > 0;
    if (!ninTaken) return claimAll([row], run);
    const of = claimTaken(row, run);
    return [{ seq: row.seq, of }];
  });
}

/** Which of its claims kept a row out; the registration number first, because the others follow from it. */
function claimTaken(row: ClaimedRow, run: Run): Duplicate["of"] {
  if (run("SELECT 1 FROM claims WHERE reg_no = ?", [row.regNo]).length > 0) return "regNo";
  if (row.tId !== null && run("SELECT 1 FROM claims WHERE t_id = ?", [row.tId]).length > 0) return "tId";
  return "nin";
}

const indexes = ["ninIndex", "emailIndex", "phoneIndex"] as const;
type StagedRow = [
  seq: number,
  line: number,
  isNew: boolean,
  unchangedBefore: number,
  patch: Record<string, unknown>,
];

function claimValues({ seq, regNo, tId, ninIndex, patch }: ClaimedRow) {
  return [seq, regNo, tId, hexOf(ninIndex), patch === null ? 0 : 1];
}

function stagedRow({ seq, line, isNew, patch }: ClaimedRow, unchangedBefore: number): StagedRow {
  const out: Record<string, unknown> = { ...patch };
  for (const index of indexes) if (out[index] !== undefined) out[index] = hexOf(patch?.[index] ?? null);
  return [seq, line, isNew, unchangedBefore, out];
}

function pendingRow([seq, line, isNew, unchangedBefore, patch]: StagedRow): PendingRow {
  for (const index of indexes) {
    const hex = patch[index];
    if (typeof hex === "string") patch[index] = new Uint8Array(Buffer.from(hex, "hex"));
  }
  return { seq, line, isNew, unchangedBefore, patch: patch as TeacherPatch };
}

function hexOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString("hex");
}
