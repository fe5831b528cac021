import type { Client, InArgs } from "@libsql/client";
import type { LibsqlServerAddress } from "../../config.ts";
import { isTvsError, TvsError } from "../../domain/errors.ts";
import { makeBindable, type Row, type SqlStatement, type Transaction, toTvsError } from "../driver/driver.ts";
import { sendToServer } from "./answers.ts";
import { isRefusedStatement, isTimeout } from "./errors.ts";

export type SentStatement = { readonly sql: string; readonly args: InArgs };

/** Requests to a libSQL server. A statement's error is returned, because the other statements may have succeeded. */
export type ServerRequests = Awaited<ReturnType<typeof createServerRequests>>;

/**
 * Creates requests with the libSQL client, which has no time limit and opens a connection for each request. With 64
 * callers this is as fast as kept connections, with 4 or fewer callers 0.6 to 0.8 times as fast.
 */
export async function createServerRequests({ url, token }: LibsqlServerAddress) {
  const { createClient } = await import("@libsql/client/http");
  const pipeline = new URL("v2/pipeline", url.replace(/^libsql:/, "https:"));
  const credential = token === undefined ? {} : { authToken: token };

  /** Makes a client for one call. All requests of the call share its time limit. */
  function clientFor(waitMs: number): Client {
    const endsAt = performance.now() + waitMs;
    const ask = (request: Request) => sendToServer(request, pipeline, endsAt - performance.now());
    return createClient({ url, ...credential, fetch: ask });
  }

  return {
    /** Runs independent statements. @param waitMs the longest wait, in ms @throws the connection's errors */
    async each(statements: readonly SentStatement[], waitMs: number): Promise<(Row[] | Error)[]> {
      const client = clientFor(waitMs);
      try {
        return await readEach(client, statements);
      } catch (error) {
        // The runtime may have reused a socket of a server that has restarted since, so the request is sent again.
        if (isTimeout(error) || isTvsError(error)) throw error;
        return readEach(client, statements);
      }
    },
    /**
     * Runs a transaction, which holds the server's write lock from its first batch to its end. The COMMIT is sent with
     * the last statements, which saves a round trip under the lock.
     * @throws TvsError STORE_UNAVAILABLE if the caller has stopped waiting; nothing is committed then
     */
    async transaction<R>(work: (tx: Transaction) => Promise<R>, limit: TransactionLimit): Promise<R> {
      const transaction = await clientFor(limit.waitMs).transaction("write");
      let [hasBegun, isOver, isCommitted] = [false, false, false];
      async function send(statements: readonly SqlStatement[], end: readonly "COMMIT"[] = []) {
        hasBegun = true;
        return rowsOf(await transaction.batch([...statements.map(makeSendable), ...end]));
      }
      async function batch(statements: readonly SqlStatement[]): Promise<Row[][]> {
        if (isOver) throw new TypeError("the transaction is over");
        if (statements.length === 0) return [];
        const rows = await send(statements);
        if (limit.isOver()) throw new TvsError("STORE_UNAVAILABLE", "the database does not answer in time");
        return rows;
      }
      /** The server runs each statement, and the COMMIT, only if the statement before it succeeded. */
      async function finish(statements: readonly SqlStatement[]): Promise<Row[][]> {
        // The caller may leave before the server gives the lock, so the first statements are sent without the COMMIT.
        if (!hasBegun) return batch(statements).finally(() => (isOver = true));
        if (isOver) throw new TypeError("the transaction is over");
        isOver = true;
        const rows = await send(statements, ["COMMIT"]);
        isCommitted = true;
        return rows.slice(0, statements.length);
      }
      const query: Transaction["query"] = async (sql, args = []) => (await batch([{ sql, args }]))[0] ?? [];
      try {
        const result = await work({ query, batch, finish });
        if (!isCommitted) await transaction.commit();
        return result;
      } finally {
        // Rolls back if nothing was committed.
        transaction.close();
      }
    },
  };
}

/** `waitMs`: the longest wait for the server, in ms. `isOver` returns true once the caller has stopped waiting. */
type TransactionLimit = { readonly waitMs: number; isOver(): boolean };

/** Runs independent statements in one request. @throws the connection's errors */
async function readEach(client: Client, statements: readonly SentStatement[]): Promise<(Row[] | Error)[]> {
  const alone = () => Promise.all(statements.map((one) => answerTo(client, one)));
  if (statements.length === 1) return alone();
  try {
    return rowsOf(await client.batch([...statements], "read"));
  } catch (error) {
    // One failed statement fails the request. Each statement is then sent alone, at five times the cost for the server.
    if (isRefusedStatement(error)) return alone();
    throw error;
  }
}

/** Runs one statement. @returns its rows, or the database's error for it @throws the connection's errors */
async function answerTo(client: Client, statement: SentStatement): Promise<Row[] | Error> {
  try {
    return rowsOf([await client.execute(statement)])[0] ?? [];
  } catch (error) {
    if (isRefusedStatement(error)) return error;
    throw error;
  }
}

const rowsOf = (results: readonly { readonly rows: readonly unknown[] }[]) =>
  results.map(({ rows }) => rows as Row[]);

/** Converts the values of a statement for sending. @throws TvsError for a value that no column can hold unchanged */
export function makeSendable({ sql, args }: SqlStatement): SentStatement {
  try {
    return { sql, args: args.map(makeBindable) };
  } catch (error) {
    throw toTvsError(error);
  }
}
