import type Libsql from "libsql";
import { bindable, type Row, type Statement, type Value } from "./driver.ts";

/** `valueCount` is how many values the first call gave: every later one must give as many. */
type Prepared = { readonly valueCount: number; readonly native: { all(args: unknown[]): Row[] } };

/**
 * One connection to a database file, used only through `all` with one full array of converted values.
 *
 * The native driver keeps parameters between calls: a `get` after an `all` answers with the row of the
 * call before, and fewer values than last time leave the earlier ones bound. In a register of persons
 * that is the wrong person's record, so no other call of the driver is reachable from here.
 */
export type Connection = {
  all(sql: string, args?: readonly Value[]): Row[];
  /** Runs the statements inside BEGIN IMMEDIATE … COMMIT. */
  transaction(statements: readonly Statement[]): Row[][];
  exec(sql: string): void;
  close(): void;
};

/** How long a writer waits for another process's transaction, in milliseconds. */
const lockWaitMs = 10_000;
/** The pause between two tries for the write lock: SQLite's own back-off sleeps up to 100 ms. */
const lockRetryMs = 1;
const maxPrepared = 500;

/**
 * Opens a connection. The native addon is loaded here and not at the top of the file, so that commands
 * which need no database start without it and a failure to load it can be explained.
 * @throws the native driver's error; the caller translates it
 */
export async function openConnection(file: string): Promise<Connection> {
  const { default: Database } = await import("libsql");
  const db = new Database(file, { timeout: 5000 });
  // No time-out applies to this one: of two first openings at once, one is told at once that it is locked.
  untilUnlocked(() => db.exec("PRAGMA journal_mode = WAL"));
  db.exec("PRAGMA synchronous = FULL");
  db.exec("PRAGMA foreign_keys = ON");
  // Deleted rows hold sealed secrets and names; they are overwritten, not only unlinked.
  db.exec("PRAGMA secure_delete = FAST");
  return createConnection(db);
}

function createConnection(db: Libsql.Database): Connection {
  const prepared = new Map<string, Prepared>();

  function prepare(sql: string, valueCount: number): Prepared {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    if (prepared.size >= maxPrepared) prepared.clear();
    const fresh = { valueCount, native: db.prepare(sql) as unknown as Prepared["native"] };
    prepared.set(sql, fresh);
    return fresh;
  }

  function all(sql: string, args: readonly Value[] = []): Row[] {
    const values = new Array<unknown>(args.length);
    for (let i = 0; i < args.length; i++) values[i] = bindable(args[i] as Value);
    const { valueCount, native } = prepare(sql, values.length);
    // With fewer values than last time, those of the last call would stay bound in their places.
    if (values.length !== valueCount)
      throw new TypeError("a statement must be given as many values each time");
    return native.all(values);
  }

  function transaction(statements: readonly Statement[]): Row[][] {
    beginImmediate(db);
    try {
      const rows = statements.map(({ sql, args }) => all(sql, args));
      db.exec("COMMIT");
      return rows;
    } catch (error) {
      // A statement that failed may still be open and would block this ROLLBACK; finalise them all.
      prepared.clear();
      rollBack(db);
      throw error;
    }
  }

  return { all, transaction, exec: (sql) => void db.exec(sql), close: () => void db.close() };
}

/** A full disk ends the transaction by itself; that there is none left must not hide why. */
function rollBack(db: Libsql.Database): void {
  try {
    db.exec("ROLLBACK");
  } catch (error) {
    if (!/no transaction is active/i.test(String(error))) throw error;
  }
}

/**
 * Takes the write lock at the start of a transaction: one that reads first and writes after a foreign
 * commit would fail at once, whatever the time-out. The wait is our own, in steps of a millisecond.
 */
function beginImmediate(db: Libsql.Database): void {
  db.exec("PRAGMA busy_timeout = 0");
  try {
    untilUnlocked(() => db.exec("BEGIN IMMEDIATE"));
  } finally {
    db.exec("PRAGMA busy_timeout = 5000");
  }
}

function untilUnlocked<T>(act: () => T): T {
  const deadline = Date.now() + lockWaitMs;
  for (;;) {
    try {
      return act();
    } catch (error) {
      if (!/locked|BUSY/i.test(String(error)) || Date.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lockRetryMs);
    }
  }
}
