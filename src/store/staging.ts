import { closeSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { changesNothing, hexOf, type TeacherPatch } from "../domain/import/patch.ts";
import { type ImportIssue, isRejection } from "../domain/import/report.ts";
import type { Duplicate, PendingRow, StagedRow, Staging } from "../domain/import/store.ts";
import { type Connection, openConnection } from "./driver/connection.ts";
import { type Row, storeError, type Value } from "./driver/driver.ts";
import { integer, text, textOrNull } from "./driver/rows.ts";

const cacheKib = 8_000;
/** Keeps three million identifiers apart with one false alarm in ten million. */
const filterBytes = 32 * 1024 * 1024;

const schema = [
  // Rows are kept by the chunk, as two texts that SQLite need not look into: what the changing ones set, and by
  // what each row of the chunk names its teacher.
  `CREATE TABLE chunks (
    last_seq INTEGER PRIMARY KEY,
    rows TEXT NOT NULL,
    identities TEXT NOT NULL
  ) STRICT`,
  // Empty until an identifier may have come twice: the random order of the NINs alone would cost more than the rest.
  `CREATE TABLE identities (
    seq INTEGER PRIMARY KEY,
    reg_no TEXT NOT NULL UNIQUE,
    t_id INTEGER UNIQUE,
    nin BLOB UNIQUE
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

const identity = "value ->> 0, value ->> 1, value ->> 2, unhex(value ->> 3)";
const addIdentities = `INSERT OR IGNORE INTO identities (seq, reg_no, t_id, nin) SELECT ${identity} FROM json_each(?)`;
const addEarlierIdentities = `INSERT INTO identities (seq, reg_no, t_id, nin)
  SELECT ${identity} FROM chunks CROSS JOIN json_each(chunks.identities)`;
const addChunk = "INSERT INTO chunks (last_seq, rows, identities) VALUES (?, ?, ?)";
const addIssues = `INSERT INTO issues (rejected, line, field, code, reg_no)
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?)`;

let opened = 0;

/**
 * A private database for one import: names and blind indexes, never a raw NIN, e-mail address or phone
 * number. It lies beside the real database and not in the temp folder, which may be memory, and its name
 * is removed as soon as it is open: however the process ends, nothing stays behind. Where a file keeps its name while it
 * is open, the next import removes it.
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
  const run: Run = (sql, args = []) => {
    try {
      return connection.all(sql, args);
    } catch (error) {
      throw storeError(error);
    }
  };
  const identityCheck = createIdentityCheck(run);
  const chunkAfter = createChunkReader(run);
  /** Rows since the last one that changes something. */
  let unchanged = 0;

  return {
    async add(rows) {
      const duplicates = identityCheck.take(rows);
      const refused = new Set(duplicates.map((duplicate) => duplicate.seq));
      const staged: WrittenRow[] = [];
      const identities: WrittenIdentity[] = [];
      for (const row of rows) {
        if (refused.has(row.seq)) continue;
        identities.push(writtenIdentity(row));
        if (changesNothing(row)) unchanged++;
        else {
          staged.push([row.seq, row.line, row.before === null ? 1 : 0, unchanged, row.patch]);
          unchanged = 0;
        }
      }
      const lastSeq = identities.at(-1)?.[0];
      if (lastSeq !== undefined) run(addChunk, [lastSeq, JSON.stringify(staged), JSON.stringify(identities)]);
      return duplicates;
    },
    async addIssues(issues) {
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
    async pending(afterSeq, limit) {
      identityCheck.end();
      const found: PendingRow[] = [];
      let last = afterSeq;
      while (found.length < limit) {
        const chunk = chunkAfter(last);
        if (chunk === null) break;
        for (const row of chunk.rows) if (row.seq > afterSeq) found.push(row);
        last = chunk.lastSeq;
      }
      const rows = found.slice(0, limit);
      // A run that goes on may begin behind rows that it finds unchanged because it changed them itself.
      if (rows[0] !== undefined)
        rows[0] = { ...rows[0], unchangedBefore: countUnchanged(run, { afterSeq, beforeSeq: rows[0].seq }) };
      return rows;
    },
    countUnchanged: async (afterSeq) => countUnchanged(run, { afterSeq, beforeSeq: Number.MAX_SAFE_INTEGER }),
    async issues(kind, { after, limit }) {
      const sql = "SELECT * FROM issues WHERE rejected = ? AND id > ? ORDER BY id LIMIT ?";
      return run(sql, [kind === "rejected", after, limit]).map((row) => ({
        id: integer(row, "id"),
        line: integer(row, "line"),
        field: textOrNull(row, "field"),
        code: text(row, "code") as ImportIssue["code"],
        regNo: textOrNull(row, "reg_no") ?? undefined,
      }));
    },
    async close() {
      connection.close();
    },
  };
}

type Run = (sql: string, args?: readonly Value[]) => Row[];

/** The search for identifiers that come twice in one extract. */
function createIdentityCheck(run: Run) {
  let seen: Uint8Array | null = new Uint8Array(filterBytes);
  let areIdentitiesKept = false;

  /** Every identifier is added, whatever is known of the others. */
  function mayBeTaken({ content: { regNo, tId, ninIndex } }: StagedRow): boolean {
    if (seen === null) throw new TypeError("rows were staged after the first were taken out");
    const number = addTo(seen, `r${regNo}`);
    const id = tId !== null && addTo(seen, `t${tId}`);
    const nin = ninIndex !== null && addTo(seen, `n${hexOf(ninIndex)}`);
    return number || id || nin;
  }

  return {
    /** Takes the identifiers of all rows. @returns the rows with an identifier that was taken before */
    take(rows: readonly StagedRow[]): Duplicate[] {
      let maybe = false;
      for (const row of rows) maybe = mayBeTaken(row) || maybe;
      if (!maybe && !areIdentitiesKept) return [];
      if (!areIdentitiesKept) run(addEarlierIdentities);
      areIdentitiesKept = true;
      return takeAll(rows, run);
    },
    /** Gives the memory back: all rows are in. */
    end(): void {
      seen = null;
    },
  };
}

type Chunk = { readonly lastSeq: number; readonly rows: readonly PendingRow[] };

/** Reads chunks, and keeps the last one: beside a busy service it is taken out in many small parts. */
function createChunkReader(run: Run): (seq: number) => Chunk | null {
  let read: (Chunk & { readonly afterSeq: number }) | null = null;
  return (seq) => {
    if (read !== null && seq >= read.afterSeq && seq < read.lastSeq) return read;
    const sql = "SELECT last_seq, rows FROM chunks WHERE last_seq > ? ORDER BY last_seq LIMIT 1";
    const [chunk] = run(sql, [seq]);
    if (chunk === undefined) return null;
    const rows = (JSON.parse(text(chunk, "rows")) as WrittenRow[]).map(pendingRow);
    read = { lastSeq: integer(chunk, "last_seq"), afterSeq: seq, rows };
    return read;
  };
}

/** How many rows between two numbers change nothing. */
function countUnchanged(run: Run, { afterSeq, beforeSeq }: { afterSeq: number; beforeSeq: number }): number {
  let count = 0;
  for (let last = afterSeq; last < beforeSeq - 1; ) {
    const sql = "SELECT last_seq, identities FROM chunks WHERE last_seq > ? ORDER BY last_seq LIMIT 1";
    const [chunk] = run(sql, [last]);
    if (chunk === undefined) break;
    for (const [seq, , , , changes] of JSON.parse(text(chunk, "identities")) as WrittenIdentity[])
      if (seq > afterSeq && seq < beforeSeq && changes === 0) count++;
    last = integer(chunk, "last_seq");
  }
  return count;
}

/** Takes the identities of all rows, in their order; what stayed out is found by what is there. */
function takeAll(rows: readonly StagedRow[], run: Run): Duplicate[] {
  run(addIdentities, [JSON.stringify(rows.map(writtenIdentity))]);
  const [taken = {}] = run("SELECT changes() AS n");
  if (integer(taken, "n") === rows.length) return [];
  return rows
    .filter((row) => run("SELECT 1 FROM identities WHERE seq = ?", [row.seq]).length === 0)
    .map((row) => ({ seq: row.seq, of: identityTaken(row, run) }));
}

/** Which of its identifiers kept a row out; the registration number first, because the others follow from it. */
function identityTaken(row: StagedRow, run: Run): Duplicate["of"] {
  const { regNo, tId } = row.content;
  if (run("SELECT 1 FROM identities WHERE reg_no = ?", [regNo]).length > 0) return "regNo";
  if (tId !== null && run("SELECT 1 FROM identities WHERE t_id = ?", [tId]).length > 0) return "tId";
  return "nin";
}

type WrittenIdentity = [seq: number, regNo: string, tId: number | null, nin: string | null, changes: 0 | 1];
type WrittenRow = [seq: number, line: number, isNew: 0 | 1, unchangedBefore: number, patch: TeacherPatch];

function writtenIdentity(row: StagedRow): WrittenIdentity {
  const { regNo, tId, ninIndex } = row.content;
  return [row.seq, regNo, tId, hexOf(ninIndex), changesNothing(row) ? 0 : 1];
}

function pendingRow([seq, line, isNew, unchangedBefore, patch]: WrittenRow): PendingRow {
  return { seq, line, isNew: isNew === 1, unchangedBefore, patch };
}

const probes = 6;

/**
 * A Bloom filter: bits that say of a name that it surely was not added, or that it may have been. However many names are
 * added, it stays as long as it is, a power of two bytes, and only says "maybe" more often.
 * @returns false when the name surely was not there before
 */
export function addTo(filter: Uint8Array, name: string): boolean {
  const start = hash(name, 0x811c9dc5);
  const step = hash(name, 0x9e3779b9) | 1;
  let mayHaveHeld = true;
  for (let n = 0; n < probes; n++) {
    const bit = (start + Math.imul(step, n)) & (filter.length * 8 - 1);
    const byte = filter[bit >>> 3] ?? 0;
    const flag = 1 << (bit & 7);
    if ((byte & flag) !== 0) continue;
    mayHaveHeld = false;
    filter[bit >>> 3] = byte | flag;
  }
  return mayHaveHeld;
}

/** FNV-1a over UTF-16 units, with the last steps of MurmurHash3 so that near names lie far apart. */
function hash(text: string, seed: number): number {
  let value = seed;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
