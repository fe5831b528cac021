import { closeSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { IdentifierKind, StagedRow } from "../domain/import/check.ts";
import { changesNothing } from "../domain/import/patch.ts";
import { type ImportIssue, isRejection } from "../domain/import/report.ts";
import { openConnection } from "./driver/connection.ts";
import { type Row, type SqlValue, toTvsError } from "./driver/driver.ts";
import { integer, json, rowReader, text, textOrNull } from "./driver/rows.ts";

const settings = [
  // The staging database is deleted when the process ends, so it needs no fsync and no journal.
  "journal_mode = OFF",
  "synchronous = OFF",
  "secure_delete = OFF",
  // The cache holds most of the index of a million NINs, which arrive in random order.
  "cache_size = -40000",
];

const schema = [
  // A row that changes nothing has no patch, and is stored only to find duplicates of its identifiers.
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
const pageRows = 1000;
const selectIssues = `SELECT * FROM issues WHERE rejected = ? AND id > ? ORDER BY id LIMIT ${pageRows}`;

let opened = 0;

/** The checked rows of one import, stored on the disk until the whole file is checked. */
export type ImportStaging = Awaited<ReturnType<typeof openImportStaging>>;

/**
 * Opens a private database for one import. The file is in the data folder, because a temp folder may be in memory. It
 * is deleted while it is open. It contains names and blind indexes, never a NIN, e-mail address or phone number.
 * @throws TvsError STORE_*
 */
export async function openImportStaging(folder: string) {
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
        throw toTvsError(error);
      }
    };
    return { ...createStaging(run), close: connection.close };
  } catch (error) {
    rmSync(file, { force: true });
    throw toTvsError(error);
  }
}

type Run = (sql: string, args?: readonly SqlValue[]) => Row[];

const pendingOf = rowReader<Pick<StagedRow, "seq" | "line" | "patch">>({
  ...{ seq: integer, line: integer, patch: json },
});

function createStaging(run: Run) {
  return {
    /** Stores rows. @returns for each duplicate row, by `seq`, the identifier that it shares with an earlier row */
    add(rows: readonly StagedRow[]): ReadonlyMap<number, IdentifierKind> {
      const values = rows.map((row) => {
        const { regNo, tId, ninIndex } = row.content;
        const patch = changesNothing(row) ? null : JSON.stringify(row.patch);
        return [row.seq, regNo, tId, ninIndex?.toHex(), row.line, patch];
      });
      run(addRows, [JSON.stringify(values)]);
      const [added = {}] = run("SELECT changes() AS n");
      if (integer(added, "n") === rows.length) return new Map();
      const isThere = (column: string, value: SqlValue) =>
        value !== null && run(`SELECT 1 FROM rows WHERE ${column} = ?`, [value]).length > 0;
      // The registration number is reported first, because a row that repeats it usually repeats the other identifiers.
      const takenOf = ({ content: { regNo, tId } }: StagedRow) =>
        isThere("reg_no", regNo) ? "regNo" : isThere("t_id", tId) ? "tId" : "nin";
      const out = rows.filter(({ seq }) => !isThere("seq", seq));
      return new Map(out.map((row) => [row.seq, takenOf(row)]));
    },
    addIssues(issues: readonly ImportIssue[]): void {
      if (issues.length === 0) return;
      const values = issues.map((issue) => {
        const { line, field, code, regNo = null } = issue;
        return [Number(isRejection(issue)), line, field, code, regNo];
      });
      run(addIssues, [JSON.stringify(values)]);
    },
    /** Reads the rows that change something, in the order of the file. */
    pending(afterSeq: number, limit: number): Pick<StagedRow, "seq" | "line" | "patch">[] {
      return run(selectPending, [afterSeq, limit]).map(pendingOf);
    },
    /** Reads the rejections, or the warnings, in pages and in the order in which they were added. */
    *issues(kind: "rejected" | "warnings"): Generator<ImportIssue[]> {
      let page: Row[] = [];
      do {
        const [last] = page.slice(-1);
        page = run(selectIssues, [kind === "rejected", last === undefined ? 0 : integer(last, "id")]);
        if (page.length > 0) yield page.map(issueOf);
      } while (page.length === pageRows);
    },
  };
}

const issueOf = rowReader<ImportIssue>({
  ...{ line: integer, field: textOrNull, code: text },
  regNo: (row) => textOrNull(row, "reg_no") ?? undefined,
});
