import { chmodSync, existsSync, statSync } from "node:fs";
import type { Call, CallFilter } from "../domain/calls.ts";
import { uuidFrom } from "../domain/clock.ts";
import { type ErrorCode, TvsError } from "../domain/errors.ts";
import { type Connection, openConnection } from "./driver/connection.ts";
import { type Row, type RowsTarget, type Statement, statement, storeError } from "./driver/driver.ts";
import { flag, integer, text, textOrNull } from "./driver/rows.ts";

/** How much the access log keeps. */
export type CallLimits = {
  readonly keepMs: number;
  /** Of the file and the journal beside it, together. */
  readonly maxBytes: number;
  /** SQLite begins the journal anew at four megabytes, but not while somebody reads. */
  readonly maxJournalBytes: number;
};

export const callLimits: CallLimits = {
  keepMs: 14 * 86_400_000,
  maxBytes: 1024 ** 3,
  maxJournalBytes: 64 * 1024 ** 2,
};

/** One call in the order of the columns; the request id is the hexadecimal of its bytes. */
export type CallRow = readonly (string | number | null)[];

const columns = [
  "request_id",
  "route",
  "method",
  "status",
  "partner_id",
  "key_id",
  "ms",
  "error",
  "replayed",
];

/** A request id begins with its time, so the calls lie in the order of their arrival, and need no index. */
const schema = `CREATE TABLE IF NOT EXISTS calls (
    request_id BLOB PRIMARY KEY,
    route TEXT NOT NULL,
    method TEXT NOT NULL,
    status INTEGER NOT NULL,
    partner_id TEXT,
    key_id TEXT,
    ms REAL NOT NULL,
    error TEXT,
    replayed INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS dropped_calls (
    minute INTEGER PRIMARY KEY, -- since the epoch
    calls INTEGER NOT NULL
  ) STRICT;`;

const callsTarget: RowsTarget = { table: "calls", columns, bytes: ["request_id"] };
const insertDropped = `INSERT INTO dropped_calls (minute, calls) VALUES (?1, ?2)
  ON CONFLICT (minute) DO UPDATE SET calls = calls + excluded.calls`;
/** Deletes the oldest calls, at most so many, and none that arrived at a time or later. */
const deleteCalls = `DELETE FROM calls WHERE request_id <
  min(unhex(?1), coalesce((SELECT request_id FROM calls ORDER BY request_id LIMIT 1 OFFSET ?2), unhex(?1)))`;
const deleteDropped = "DELETE FROM dropped_calls WHERE minute < ?1";
const oldestCall = "SELECT hex(request_id) AS id FROM calls ORDER BY request_id LIMIT 1";

const minuteMs = 60_000;
/** Calls of one step of pruning: a few milliseconds. */
const pruneRows = 2_000;
const pruneSteps = 4;
/** Free pages that are given back at a time; a few are kept, because the next calls want them. */
const vacuumPages = 256;
/** How long a lock is waited for: the service's drain waits for a commit that is under way. */
const lockWaitMs = 500;

export function callRow(call: Call): CallRow {
  const { requestId, route, method, status, partnerId, keyId, error, replayed } = call;
  const ms = Math.round(call.ms * 10) / 10;
  return [hexOf(requestId), route, method, status, partnerId, keyId, ms, error, replayed ? 1 : 0];
}

/** The access log's own file, as the one thread that writes it sees it. */
export type CallFile = {
  /**
   * Writes calls, and how many could not be written before, in one commit.
   * @param rows JSON, an array of {@link CallRow}
   * @throws TvsError STORE_*, having written nothing
   */
  append(rows: string, dropped: number, now: number): void;
  /** Deletes some of what is too old or too much. @returns whether there is more to delete */
  prune(now: number): boolean;
  /** False once the file was moved away or replaced. */
  isInPlace(): boolean;
  close(): void;
};

/**
 * Opens the file, or makes it, for its owner alone.
 * @throws TvsError STORE_*
 */
export async function openCallFile(file: string, limits: CallLimits): Promise<CallFile> {
  const { keepMs, maxBytes, maxJournalBytes } = limits;
  const isNew = !existsSync(file);
  const connection = await guardedOpen(file, isNew);
  const opened = statSync(file);
  const pageBytes = pragma(connection, "page_size");
  const maxPages = Math.floor((maxBytes - maxJournalBytes) / pageBytes);
  connection.exec(`PRAGMA max_page_count = ${maxPages}`);
  // Room for what one commit adds before the next look.
  const wantedPages = Math.floor(maxPages * 0.98);
  const usedPages = () => pragma(connection, "page_count") - pragma(connection, "freelist_count");

  function requireRoom(): void {
    const journal = statSync(`${file}-wal`, { throwIfNoEntry: false });
    if ((journal?.size ?? 0) <= maxJournalBytes) return;
    throw new TvsError(
      "STORE_FULL",
      `${file}-wal has grown too large: another program has had ${file} open for too long`,
    );
  }

  /** @returns whether anything was deleted */
  function deleteOldest(before: string): boolean {
    const oldest = connection.all(oldestCall)[0];
    if (oldest === undefined || text(oldest, "id").toLowerCase() >= before) return false;
    connection.transaction([statement(deleteCalls, [before, pruneRows])]);
    return true;
  }

  function prune(now: number): boolean {
    const tooOld = hexOf(uuidFrom(now - keepMs));
    for (let step = 0; step < pruneSteps; step++) {
      const before = usedPages() > wantedPages ? "f".repeat(32) : tooOld;
      if (!deleteOldest(before)) return giveBack();
    }
    return true;
  }

  function giveBack(): boolean {
    if (pragma(connection, "freelist_count") < 2 * vacuumPages) return false;
    connection.all(`PRAGMA incremental_vacuum(${vacuumPages})`);
    return true;
  }

  return {
    append(rows, dropped, now) {
      guarded(() => {
        requireRoom();
        const statements: Statement[] = [{ insert: callsTarget, rows }];
        const minute = Math.floor(now / minuteMs);
        if (dropped > 0) {
          statements.push(statement(insertDropped, [minute, dropped]));
          statements.push(statement(deleteDropped, [Math.floor((now - keepMs) / minuteMs)]));
        }
        connection.transaction(statements);
      });
    },
    prune: (now) => guarded(() => prune(now)),
    isInPlace() {
      const found = statSync(file, { throwIfNoEntry: false });
      return found?.ino === opened.ino && found.dev === opened.dev;
    },
    close: () => connection.close(),
  };
}

async function guardedOpen(file: string, isNew: boolean): Promise<Connection> {
  let connection: Connection | undefined;
  try {
    connection = await openConnection(file, { autoVacuum: "INCREMENTAL", synchronous: "NORMAL", lockWaitMs });
    if (isNew) chmodSync(file, 0o600);
    connection.exec(schema);
    return connection;
  } catch (error) {
    connection?.close();
    throw storeError(error);
  }
}

function pragma(connection: Connection, name: string): number {
  const [row = {}] = connection.all(`PRAGMA ${name}`);
  return integer(row, name);
}

function guarded<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw storeError(error);
  }
}

/** The access log as commands read it, while a service writes it. */
export type CallReader = {
  /** @param requestId a UUID */
  find(requestId: string): Call | null;
  /** Newest first. */
  list(filter: CallFilter): Call[];
  /** How many calls were answered from a time on (milliseconds since the epoch) and could not be written. */
  dropped(since: number): number;
  close(): void;
};

/**
 * Opens an access log that is there; none is made.
 * @throws TvsError INPUT_UNREADABLE where there is none, or it cannot be read
 */
export async function openCallReader(file: string): Promise<CallReader> {
  if (!existsSync(file)) {
    const message = `there is no access log at ${file}; \`tvs serve --access-log\` keeps one, and --data or TVS_DATA says where`;
    throw new TvsError("INPUT_UNREADABLE", message);
  }
  let connection: Connection | undefined;
  try {
    connection = await openConnection(file, { synchronous: "NORMAL" });
    // A file that is none of ours is found out here, and not in the middle of an answer.
    connection.all("SELECT request_id FROM calls LIMIT 1");
    return createReader(connection);
  } catch (error) {
    connection?.close();
    const { detail = "" } = storeError(error);
    const message = `the access log ${file} cannot be read; move it away if it is damaged, and the service begins a new one`;
    throw new TvsError("INPUT_UNREADABLE", message, { detail });
  }
}

function createReader(connection: Connection): CallReader {
  const wanted = `SELECT lower(hex(request_id)) AS id, ${columns.slice(1).join(", ")} FROM calls`;
  return {
    find(requestId) {
      const [row] = connection.all(`${wanted} WHERE request_id = unhex(?1)`, [hexOf(requestId)]);
      return row === undefined ? null : callOf(row);
    },
    list({ partnerId = null, statuses = { first: 0, last: 999 }, since = 0, limit }) {
      const where = `WHERE request_id >= unhex(?1) AND status BETWEEN ?2 AND ?3 AND (?4 IS NULL OR partner_id = ?4)
        ORDER BY request_id DESC LIMIT ?5`;
      const args = [hexOf(uuidFrom(since)), statuses.first, statuses.last, partnerId, limit];
      return connection.all(`${wanted} ${where}`, args).map(callOf);
    },
    dropped(since) {
      const sum = "SELECT coalesce(sum(calls), 0) AS calls FROM dropped_calls WHERE minute >= ?1";
      const [row = {}] = connection.all(sum, [Math.floor(since / minuteMs)]);
      return integer(row, "calls");
    },
    close: () => connection.close(),
  };
}

function callOf(row: Row): Call {
  return {
    requestId: text(row, "id").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
    route: text(row, "route"),
    method: text(row, "method"),
    status: integer(row, "status"),
    partnerId: textOrNull(row, "partner_id"),
    keyId: textOrNull(row, "key_id"),
    ms: integer(row, "ms"),
    error: textOrNull(row, "error") as ErrorCode | null,
    replayed: flag(row, "replayed"),
  };
}

/** A UUID without its hyphens. */
function hexOf(id: string): string {
  return id.replaceAll("-", "").toLowerCase();
}
