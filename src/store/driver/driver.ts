import { Buffer } from "node:buffer";
import { TvsError } from "../../domain/errors.ts";

/** A value of a statement. Booleans are bound as 0 and 1: a raw boolean aborts the process. */
export type Value = null | number | string | boolean | Uint8Array;
export type Row = Record<string, unknown>;
export type Statement = { readonly sql: string; readonly args: readonly Value[] };

/** One write transaction: no other process writes between its first statement and its commit. */
export type Transaction = {
  /** Runs one statement. Its rows show the transaction's own writes. */
  query(sql: string, args?: readonly Value[]): Promise<Row[]>;
  /** Runs statements in order, in one request to a server. @returns the rows of each, in order */
  batch(statements: readonly Statement[]): Promise<Row[][]>;
  /** Runs the last batch. A server commits in the same request, so the work must not throw afterwards. */
  finish(statements: readonly Statement[]): Promise<Row[][]>;
};

/** A database: a file in this process (`file.ts`) or a libSQL server (`server/remote.ts`). */
export type Driver = {
  readonly kind: "embedded" | "remote";
  /** Runs one reading statement, which sees committed writes only. */
  query(sql: string, args?: readonly Value[]): Promise<Row[]>;
  /**
   * Runs `work` in one transaction, which is durable when the promise resolves. An error in `work` undoes it. `work`
   * awaits only its `tx` and may run twice. A server may have committed although its reply to the commit was lost.
   * @param waitMs the longest wait for a server, if not the usual one @throws TvsError STORE_*
   */
  write<R>(work: (tx: Transaction) => Promise<R>, waitMs?: number): Promise<R>;
  /** {@link Driver.write} of statements that need no decision. @returns the rows of each, in order */
  batch(statements: readonly Statement[], waitMs?: number): Promise<Row[][]>;
  /** Copies the database, consistently, into a new file. */
  copyTo(file: string): Promise<void>;
  /** Locks a file for one `tvs serve`, until `close()`. @returns false for a server @throws TvsError DATABASE_IN_USE */
  lockService(): Promise<boolean>;
  /** Whether a `tvs serve` uses the database now, this process included. */
  serviceRunning(): Promise<boolean>;
  close(): Promise<void>;
};

export const statement = (sql: string, args: readonly Value[] = []): Statement => ({ sql, args });

type Rows = readonly (readonly Value[])[];

/** Rows in one statement of bound values: more of them are no quicker. */
export const blockRows = 10;
/** Rows with more columns have a statement each: a statement of many rows copies each value once more. */
const maxBlockColumns = 10;

/** Inserts rows as bound values, narrow rows a block at a time: SQLite takes three times as long to read them from JSON. */
export function insertRows(table: string, columns: readonly string[], rows: Rows): Statement[] {
  const size = columns.length > maxBlockColumns ? 1 : blockRows;
  const whole = rows.length - (rows.length % size);
  const row = `(${columns.map(() => "?").join(", ")})`;
  const insert = (some: Rows): Statement => ({
    sql: `INSERT INTO ${table} (${columns.join(", ")}) VALUES ${some.map(() => row).join(", ")}`,
    args: some.flat(),
  });
  const blocks = Array.from({ length: whole / size }, (_, at) => rows.slice(at * size, (at + 1) * size));
  return [...blocks.map(insert), ...rows.slice(whole).map((one) => insert([one]))];
}

/** Makes a value safe to bind. @throws TypeError if no column can hold it, TvsError USAGE for a NUL character */
export function bindable(value: Value): null | number | bigint | string | Uint8Array {
  if (typeof value === "string") {
    if (value.includes("\0")) throw new TvsError("USAGE", "no text may have a NUL character");
    return value;
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new TypeError("a number to be stored must be finite");
    // The native driver binds a number as REAL, and `6` would be read back from text or JSON as `6.0`.
    return Number.isSafeInteger(value) ? BigInt(value) : value;
  }
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (value === null || value instanceof Uint8Array) return value;
  throw new TypeError("only null, numbers, text, booleans and bytes can be stored");
}

/** Writes rows as one JSON text for `json_each`, an array of arrays with bytes in hex. @throws as {@link bindable} */
export function rowsInJson(rows: Rows): string {
  const inJson = (value: Value) => {
    const bound = bindable(value);
    if (bound instanceof Uint8Array) return Buffer.from(bound).toString("hex");
    return typeof bound === "bigint" ? Number(bound) : bound;
  };
  return JSON.stringify(rows.map((row) => row.map(inJson)));
}

const explanations = {
  STORE_BUSY: "the database is locked by another process; try again, or end the process that holds it",
  STORE_CONSTRAINT: "the change conflicts with what is stored",
  STORE_CORRUPT: "the file is not a database of this program, or is damaged; restore a backup",
  STORE_FULL: "the disk is full or failing; free some space and try again",
  STORE_READ_ONLY: "the database cannot be written; check the owner and the mode of the data directory",
  STORE_UNAVAILABLE: "the database does not answer; try again",
} as const;

const patterns: readonly [RegExp, keyof typeof explanations][] = [
  [/SQLITE_BUSY|SQLITE_LOCKED|database is locked/i, "STORE_BUSY"],
  [/SQLITE_CONSTRAINT|constraint failed|cannot store .* value|PROXY_ERROR.*constraint/i, "STORE_CONSTRAINT"],
  [/SQLITE_FULL|database or disk is full|disk I\/O error|SQLITE_IOERR|ENOSPC|EDQUOT|\bEIO\b/i, "STORE_FULL"],
  [/SQLITE_READONLY|readonly database|SQLITE_PERM|EACCES|EROFS/i, "STORE_READ_ONLY"],
  [/SQLITE_NOTADB|SQLITE_CORRUPT|not a database|image is malformed/i, "STORE_CORRUPT"],
];

/** Translates a database's error into a TvsError. An unknown error becomes STORE_UNAVAILABLE. */
export function storeError(error: unknown): TvsError {
  if (error instanceof TvsError) return error;
  const text =
    error instanceof Error ? `${(error as { code?: unknown }).code ?? ""} ${error.message}` : String(error);
  const code = patterns.find(([pattern]) => pattern.test(text))?.[1] ?? "STORE_UNAVAILABLE";
  return new TvsError(code, explanations[code], { detail: text.trim(), cause: error });
}
