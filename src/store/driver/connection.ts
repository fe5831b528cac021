import { setTimeout as sleep } from "node:timers/promises";
import type Libsql from "libsql";
import { createSerial } from "../../domain/serial.ts";
import { bindable, type Row, type Statement, storeError, type Transaction, type Value } from "./driver.ts";
import { openNative } from "./native.ts";

type Prepared = {
  /** How many values the first call gave: every later one must give as many. */
  readonly valueCount: number;
  readonly returnsRows: boolean;
  readonly native: { readonly reader: boolean; all(args: unknown[]): Row[]; run(args: unknown[]): unknown };
};

/**
 * One connection to a database file, used only through `all` and `run` with one full array of converted values.
 *
 * The native driver keeps parameters between calls: a `get` after an `all` answers with the row of the
 * call before, and fewer values than last time leave the earlier ones bound. In a register of persons
 * that is the wrong person's record, so no other call of the driver is reachable from here.
 */
export type Connection = ReturnType<typeof createConnection>;

/** How long a writer waits for another process's transaction, in milliseconds, and how long everything else waits. */
export const defaultLockWaitMs = 10_000;
const readWaitMs = 5_000;
/** The pause between two tries for the write lock: SQLite's own back-off sleeps up to 100 ms. */
const lockRetryMs = 1;
const maxPrepared = 500;

/**
 * Opens a connection.
 * @param further settings of its own, as they are said after `PRAGMA`
 * @throws TvsError STORE_* when the file does not open; the native driver's error for what is wrong with it then, which
 *   the caller translates
 */
export async function openConnection(file: string, further: readonly string[] = []): Promise<Connection> {
  // Whoever finds a lock is told at once, and the waiting is ours: SQLite's own does not apply to everything.
  const db = await openNative(file);
  // Deleted rows hold sealed secrets and names; they are overwritten, not only unlinked.
  const settings = [
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    "secure_delete = FAST",
    ...further,
  ];
  try {
    for (const setting of settings) untilUnlocked(() => db.exec(`PRAGMA ${setting}`), defaultLockWaitMs);
  } catch (error) {
    // Who tries again and again would otherwise run out of descriptors.
    db.close();
    throw error;
  }
  return createConnection(db);
}

/** Statements that were prepared before, by their text: the only place from which the native driver is called. */
function createStatements(db: Libsql.Database) {
  const prepared = new Map<string, Prepared>();

  function prepare(sql: string, valueCount: number): Prepared {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    if (prepared.size >= maxPrepared) prepared.clear();
    const native = db.prepare(sql) as unknown as Prepared["native"];
    const fresh = { valueCount, returnsRows: native.reader, native };
    prepared.set(sql, fresh);
    return fresh;
  }

  function run(sql: string, args: readonly Value[]): Row[] {
    const values = new Array<unknown>(args.length);
    for (let i = 0; i < args.length; i++) values[i] = bindable(args[i] as Value);
    const { valueCount, returnsRows, native } = prepare(sql, values.length);
    // With fewer values than last time, those of the last call would stay bound in their places.
    if (values.length !== valueCount)
      throw new TypeError("a statement must be given as many values each time");
    if (returnsRows) return native.all(values);
    // What returns nothing costs a third less so, and no object stays behind that only a later turn of the event loop
    // would free. What returns rows must not be called so: it would not be committed, and keep the lock.
    native.run(values);
    return [];
  }

  return {
    run,
    /** A statement that is held keeps the file open and its log locked; one that failed blocks a ROLLBACK. */
    release: () => prepared.clear(),
  };
}

function createConnection(db: Libsql.Database) {
  const { run, release } = createStatements(db);

  function all(sql: string, args: readonly Value[] = []): Row[] {
    return untilUnlocked(() => run(sql, args), readWaitMs);
  }

  /**
   * Leaves the transaction that `exec` began, whatever state it is in. A full disk ends it by itself; that there is none
   * left must not hide why.
   */
  function rollBack(): void {
    release();
    try {
      db.exec("ROLLBACK");
    } catch (error) {
      if (!/no transaction is active/i.test(String(error))) throw error;
    }
  }

  return {
    all,
    /** Runs statements in order, inside the transaction that was begun. */
    run: (statements: readonly Statement[]): Row[][] => statements.map(({ sql, args }) => run(sql, args)),
    /**
     * Takes the write lock at the start: a transaction that reads first and writes after a foreign commit would fail,
     * however long it was ready to wait.
     * @returns false when another process writes
     */
    tryBegin(): boolean {
      try {
        db.exec("BEGIN IMMEDIATE");
        return true;
      } catch (error) {
        if (isLocked(error)) return false;
        throw error;
      }
    },
    commit: () => void db.exec("COMMIT"),
    rollBack,
    exec: (sql: string) => void db.exec(sql),
    close(): void {
      release();
      db.close();
    },
  };
}

type AccessOptions = {
  /** How long a transaction waits for another process's, from when it was asked for. */
  readonly lockWaitMs?: number | undefined;
  /** Called before each try to begin a transaction. @throws TvsError when the file is not to be written */
  beforeTry(): void;
  /** Takes the lock of this process's threads. @returns gives it back. @throws TvsError STORE_BUSY */
  takeLock?(): () => void;
};

/**
 * Write transactions on a connection, one after the other, and reads beside them. While another process writes, nobody
 * waits in place: the thread goes on answering and tries again.
 */
export function createAccess(connection: Connection, options: AccessOptions) {
  const { lockWaitMs = defaultLockWaitMs, takeLock = () => () => {} } = options;
  const inTurn = createSerial();
  /** The transaction that is open; its promise ends with it. */
  let open: PromiseWithResolvers<void> | undefined;
  let heldMs = 0;

  /** @returns gives the threads' lock back; null when another process writes */
  function tryBegin(): (() => void) | null {
    options.beforeTry();
    const giveBack = takeLock();
    let isBegun = false;
    try {
      isBegun = guarded(connection.tryBegin);
    } finally {
      if (!isBegun) giveBack();
    }
    if (!isBegun) return null;
    open = Promise.withResolvers();
    return giveBack;
  }

  async function begin(deadlineMs: number): Promise<() => void> {
    for (;;) {
      const giveBack = tryBegin();
      if (giveBack !== null) return giveBack;
      if (performance.now() > deadlineMs) throw busy();
      await sleep(lockRetryMs);
    }
  }

  async function transact<R>(work: (tx: Transaction) => Promise<R>, giveBack: () => void): Promise<R> {
    const begunAt = performance.now();
    let isOver = false;
    const batch = async (statements: readonly Statement[]) => {
      if (isOver) throw new TypeError("the transaction is over");
      return guarded(() => connection.run(statements));
    };
    try {
      const result = await work({ batch });
      guarded(connection.commit);
      heldMs = performance.now() - begunAt;
      return result;
    } catch (error) {
      connection.rollBack();
      throw error;
    } finally {
      isOver = true;
      giveBack();
      open?.resolve();
      open = undefined;
    }
  }

  return {
    write<R>(work: (tx: Transaction) => Promise<R>): Promise<R> {
      // From when it was asked for: behind others that wait for the same lock, it would wait as often.
      const deadlineMs = performance.now() + lockWaitMs;
      return inTurn(async () => transact(work, await begin(deadlineMs)));
    },
    /** Reads when no transaction is open: inside one, the connection shows what is not committed. */
    async read<T>(act: () => T): Promise<T> {
      while (open !== undefined) await open.promise;
      return guarded(act);
    },
    /** For how many milliseconds the last transaction kept others from writing. */
    heldMs: () => heldMs,
    /** Does the last thing: no transaction is open any more. */
    end: (act: () => void) => inTurn(async () => act()),
  };
}

/** @throws TvsError STORE_* for what the database says */
export function guarded<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw storeError(error);
  }
}

export function busy() {
  return storeError(new Error("SQLITE_BUSY: another process or thread writes"));
}

function untilUnlocked<T>(act: () => T, waitMs: number): T {
  let deadline: number | undefined;
  for (;;) {
    try {
      return act();
    } catch (error) {
      deadline ??= Date.now() + waitMs;
      if (!isLocked(error) || Date.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lockRetryMs);
    }
  }
}

function isLocked(error: unknown): boolean {
  return /locked|BUSY/i.test(String(error));
}
