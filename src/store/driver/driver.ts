import { Buffer } from "node:buffer";
import { TvsError } from "../../domain/errors.ts";

/** A value of a statement. A boolean is bound as 0 or 1: the native driver would abort the process at a boolean. */
export type SqlValue = null | number | string | boolean | Uint8Array;
export type Row = Record<string, unknown>;
export type SqlStatement = { readonly sql: string; readonly args: readonly SqlValue[] };

/** A write transaction. No other process writes between its first statement and its commit. */
export type Transaction = {
  /** Runs one statement. It sees the earlier writes of this transaction. */
  query(sql: string, args?: readonly SqlValue[]): Promise<Row[]>;
  /** Runs statements in order; over a server, in one request. @returns the rows of each statement */
  batch(statements: readonly SqlStatement[]): Promise<Row[][]>;
  /** Runs the last statements. A server commits in the same request, so `work` must not throw after `finish`. */
  finish(statements: readonly SqlStatement[]): Promise<Row[][]>;
};

/** A database: a file in this process (`file.ts`) or a libSQL server (`server/remote.ts`). */
export type Driver = {
  readonly kind: "embedded" | "remote";
  /** Runs one SELECT, which sees committed writes only. */
  query(sql: string, args?: readonly SqlValue[]): Promise<Row[]>;
  /**
   * Runs `work` as one transaction and resolves when it is on the disk. If `work` throws, the transaction is rolled
   * back. `work` awaits only its `tx` and may run twice. A server may have committed although its reply was lost.
   * @param waitMs the longest wait for a server, if not the usual one @throws TvsError STORE_*
   */
  write<R>(work: (tx: Transaction) => Promise<R>, waitMs?: number): Promise<R>;
  /** Writes statements without reading first, as {@link Driver.write}. @returns the rows of each statement */
  batch(statements: readonly SqlStatement[], waitMs?: number): Promise<Row[][]>;
  /** Copies the database, as it is at one moment, into a new file. */
  copyTo(file: string): Promise<void>;
  /** Makes this process a database file's only `tvs serve`. @returns false for a server @throws TvsError DATABASE_IN_USE */
  lockService(): Promise<boolean>;
  /** Returns true if a `tvs serve`, in this process or another, uses the database now. */
  serviceRunning(): Promise<boolean>;
  close(): Promise<void>;
};

export const bind = (sql: string, args: readonly SqlValue[] = []): SqlStatement => ({ sql, args });

type Rows = readonly (readonly SqlValue[])[];

/** The number of rows in one INSERT. More rows would not make the INSERT faster. */
export const rowsPerInsert = 10;
/** A row with more columns than this has its own INSERT: an INSERT of several rows copies each value once more. */
const maxBlockColumns = 10;

/** Makes INSERTs with bound values, which SQLite reads three times as fast as JSON. Narrow rows share an INSERT. */
export function makeInserts(table: string, columns: readonly string[], rows: Rows): SqlStatement[] {
  const size = columns.length > maxBlockColumns ? 1 : rowsPerInsert;
  const whole = rows.length - (rows.length % size);
  const row = `(${columns.map(() => "?").join(", ")})`;
  const insert = (some: Rows): SqlStatement => ({
    sql: `INSERT INTO ${table} (${columns.join(", ")}) VALUES ${some.map(() => row).join(", ")}`,
    args: some.flat(),
  });
  const blocks = Array.from({ length: whole / size }, (_, at) => rows.slice(at * size, (at + 1) * size));
  return [...blocks.map(insert), ...rows.slice(whole).map((one) => insert([one]))];
}

/** Converts a value for binding. @throws TypeError if no column can hold it, TvsError USAGE for a NUL character */
export function makeBindable(value: SqlValue): null | number | bigint | string | Uint8Array {
  if (typeof value === "string") {
    if (value.includes("\0")) throw new TvsError("USAGE", "no text may have a NUL character");
    return value;
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new TypeError("a number to be stored must be finite");
    // A bigint is bound as INTEGER. The native driver binds a number as REAL, which becomes `6.0` in text and JSON.
    return Number.isSafeInteger(value) ? BigInt(value) : value;
  }
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (value === null || value instanceof Uint8Array) return value;
  throw new TypeError("only null, numbers, text, booleans and bytes can be stored");
}

/** Formats rows as one JSON text for `json_each`: an array of arrays, bytes in hex. @throws as {@link makeBindable} */
export function formatRowsAsJson(rows: Rows): string {
  const inJson = (value: SqlValue) => {
    const bound = makeBindable(value);
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
export function toTvsError(error: unknown): TvsError {
  if (error instanceof TvsError) return error;
  const text =
    error instanceof Error ? `${(error as { code?: unknown }).code ?? ""} ${error.message}` : String(error);
  const code = patterns.find(([pattern]) => pattern.test(text))?.[1] ?? "STORE_UNAVAILABLE";
  return new TvsError(code, explanations[code], { detail: text.trim(), cause: error });
}
