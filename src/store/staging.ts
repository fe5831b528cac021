import { closeSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { changesNothing, hexOf } from "../domain/import/patch.ts";
import { type ImportIssue, isRejection } from "../domain/import/report.ts";
import type { Duplicate, PendingRow, StagedRow, Staging } from "../domain/import/store.ts";
import { openConnection } from "./driver/connection.ts";
import { type Row, storeError, type Value } from "./driver/driver.ts";
import { integer, text, textOrNull } from "./driver/rows.ts";

const settings = [
  // Nothing outlives the process, so nothing needs to reach the disk.
  "journal_mode = OFF",
  "synchronous = OFF",
  "secure_delete = OFF",
  // The NINs come in random order: most pages of their index fit in here, for a million rows.
  "cache_size = -40000",
];

const schema = [
  // A row that changes nothing waits without a patch, for its identifiers.
  `CREATE TABLE rows (
    seq INTEGER PRIMARY KEY,
    reg_no TEXT NOT NULL UNIQUE,
    t_id INTEGER UNIQUE,
    nin BLOB UNIQUE,
    line INTEGER NOT NULL,
    patch TEXT
  ) STRICT`,
  `CREATE TABLE issues (
    id INTEGER PRIMARY KEY,
    rejected INTEGER NOT NULL,
    line INTEGER NOT NULL,
    field TEXT,
    code TEXT NOT NULL,
    reg_no TEXT
  ) STRICT`,
  "CREATE INDEX issues_by_kind ON issues (rejected, id)",
];

const addRows = `INSERT OR IGNORE INTO rows (seq, reg_no, t_id, nin, line, patch)
  SELECT value ->> 0, value ->> 1, value ->> 2, unhex(value ->> 3), value ->> 4, value ->> 5
  FROM json_each(?)`;
const addIssues = `INSERT INTO issues (rejected, line, field, code, reg_no)
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?)`;
const selectPending = `SELECT seq, line, patch FROM rows
  WHERE seq > ? AND patch IS NOT NULL ORDER BY seq LIMIT ?`;
const selectIssues = "SELECT * FROM issues WHERE rejected = ? AND id > ? ORDER BY id LIMIT ?";

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
    for (const setting of settings) connection.exec(`PRAGMA ${setting}`);
    rmSync(file, { force: true });
    for (const table of schema) connection.exec(table);
    const run: Run = (sql, args) => {
      try {
        return connection.all(sql, args);
      } catch (error) {
        throw storeError(error);
      }
    };
    return { ...createStaging(run), close: connection.close };
  } catch (error) {
    rmSync(file, { force: true });
    throw storeError(error);
  }
}

type Run = (sql: string, args?: readonly Value[]) => Row[];

function createStaging(run: Run): Omit<Staging, "close"> {
  return {
    add(rows) {
      run(addRows, [JSON.stringify(rows.map(valuesOf))]);
      const [added = {}] = run("SELECT changes() AS n");
      if (integer(added, "n") === rows.length) return [];
      return rows
        .filter((row) => run("SELECT 1 FROM rows WHERE seq = ?", [row.seq]).length === 0)
        .map((row) => ({ seq: row.seq, of: identifierTaken(row, run) }));
    },
    addIssues(issues) {
      if (issues.length === 0) return;
      const values = issues.map((issue) => [
        Number(isRejection(issue)),
        issue.line,
        issue.field,
        issue.code,
        issue.regNo ?? null,
      ]);
      run(addIssues, [JSON.stringify(values)]);
    },
    pending: (afterSeq, limit) => run(selectPending, [afterSeq, limit]).map(pendingRow),
    async issues(kind, { after, limit }) {
      return run(selectIssues, [kind === "rejected", after, limit]).map((row) => ({
        id: integer(row, "id"),
        line: integer(row, "line"),
        field: textOrNull(row, "field"),
        code: text(row, "code") as ImportIssue["code"],
        regNo: textOrNull(row, "reg_no") ?? undefined,
      }));
    },
  };
}

function valuesOf(row: StagedRow): (string | number | null)[] {
  const { regNo, tId, ninIndex } = row.content;
  const patch = changesNothing(row) ? null : JSON.stringify(row.patch);
  return [row.seq, regNo, tId, hexOf(ninIndex), row.line, patch];
}

function pendingRow(row: Row): PendingRow {
  return {
    seq: integer(row, "seq"),
    line: integer(row, "line"),
    patch: JSON.parse(text(row, "patch")),
  };
}

/** Which of its identifiers kept a row out; the registration number first, because the others follow from it. */
function identifierTaken({ content: { regNo, tId } }: StagedRow, run: Run): Duplicate["of"] {
  if (run("SELECT 1 FROM rows WHERE reg_no = ?", [regNo]).length > 0) return "regNo";
  if (tId !== null && run("SELECT 1 FROM rows WHERE t_id = ?", [tId]).length > 0) return "tId";
  return "nin";
}
