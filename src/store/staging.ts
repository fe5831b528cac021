import { Buffer } from "node:buffer";
import { closeSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ImportIssue } from "../domain/import-codes.ts";
import { isRejection } from "../domain/import-codes.ts";
import type { TeacherPatch } from "../domain/import-rows.ts";
import type { ClaimedRow, Duplicate, PendingRow, Staging } from "../domain/import-store.ts";
import { type Connection, openConnection } from "./connection.ts";
import { type Row, storeError, type Value } from "./driver.ts";
import { integer, text, textOrNull } from "./rows.ts";

const cacheKib = 32_000;

const schema = [
  `CREATE TABLE rows (
    seq INTEGER PRIMARY KEY,
    line INTEGER NOT NULL,
    reg_no TEXT NOT NULL UNIQUE,
    t_id INTEGER UNIQUE,
    nin BLOB UNIQUE,
    patch TEXT
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

const addRows = `INSERT OR IGNORE INTO rows (seq, line, reg_no, t_id, nin, patch)
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, unhex(value ->> 4), value ->> 5 FROM json_each(?)
  RETURNING seq`;
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
    for (const pragma of ["journal_mode = OFF", "synchronous = OFF", `cache_size = -${cacheKib}`, "secure_delete = OFF"]) {
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
  function run(sql: string, args: readonly Value[]): Row[] {
    try {
      return connection.all(sql, args);
    } catch (error) {
      throw storeError(error);
    }
  }

  return {
    async add(rows) {
      if (rows.length === 0) return [];
      const stored = run(addRows, [JSON.stringify(rows.map(stagedValues))]);
      if (stored.length === rows.length) return [];
      const taken = new Set(stored.map((row) => integer(row, "seq")));
      return rows.filter((row) => !taken.has(row.seq)).map((row) => ({ seq: row.seq, of: claimTaken(row, run) }));
    },
    async addIssues(issues) {
      if (issues.length === 0) return;
      const values = issues.map((issue) => [Number(isRejection(issue)), issue.line, issue.field, issue.code]);
      run(addIssues, [JSON.stringify(values)]);
    },
    async pending(afterSeq, limit) {
      const sql = "SELECT seq, line, patch FROM rows WHERE seq > ? AND patch IS NOT NULL ORDER BY seq LIMIT ?";
      return run(sql, [afterSeq, limit]).map(pendingRow);
    },
    async countUnchanged(afterSeq, throughSeq) {
      const sql = "SELECT count(*) AS n FROM rows WHERE seq > ? AND seq <= ? AND patch IS NULL";
      const [row] = run(sql, [afterSeq, throughSeq]);
      return row === undefined ? 0 : integer(row, "n");
    },
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

/** Which of its claims kept a row out; the registration number first, because the others follow from it. */
function claimTaken(row: ClaimedRow, run: (sql: string, args: readonly Value[]) => Row[]): Duplicate["of"] {
  if (run("SELECT 1 FROM rows WHERE reg_no = ?", [row.regNo]).length > 0) return "regNo";
  if (row.tId !== null && run("SELECT 1 FROM rows WHERE t_id = ?", [row.tId]).length > 0) return "tId";
  return "nin";
}

const indexes = ["ninIndex", "emailIndex", "phoneIndex"] as const;

function stagedValues({ seq, line, regNo, tId, ninIndex, patch }: ClaimedRow) {
  return [seq, line, regNo, tId, hexOf(ninIndex), patch === null ? null : JSON.stringify(withHex(patch))];
}

function withHex(patch: TeacherPatch): Record<string, unknown> {
  const out: Record<string, unknown> = { ...patch };
  for (const index of indexes) if (patch[index] !== undefined) out[index] = hexOf(patch[index]);
  return out;
}

function pendingRow(row: Row): PendingRow {
  const patch = JSON.parse(text(row, "patch")) as Record<string, unknown>;
  for (const index of indexes) {
    const hex = patch[index];
    if (typeof hex === "string") patch[index] = new Uint8Array(Buffer.from(hex, "hex"));
  }
  return { seq: integer(row, "seq"), line: integer(row, "line"), patch: patch as TeacherPatch };
}

function hexOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString("hex");
}
