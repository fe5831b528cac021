import type { Client, InArgs } from "@libsql/client";
import type { ServerAddress } from "../../config.ts";
import { isTvsError, TvsError } from "../../domain/errors.ts";
import { bindable, type Row, type Statement, storeError, type Transaction } from "../driver/driver.ts";
import { askServer } from "./answers.ts";
import { isAnswer, isTimeout } from "./errors.ts";

/** A statement as the client takes it. */
export type SentStatement = { readonly sql: string; readonly args: InArgs };

/** Requests to a libSQL server, each a round trip. A statement's own failure is a value: it concerns no other request. */
export type ServerRequests = Awaited<ReturnType<typeof createServerRequests>>;

/**
 * Talks to a server by its client, which has no time-out of its own. It opens a connection on the server's side for
 * each request. To keep one for the next, as the layer below it can, was measured against that (two nodes of a thread
 * over one server, in turn, pairs of rounds on two busy cores): with 64 callers at each node the client answers 0.91 to
 * 1.12 times as many checks, because what waits goes together; with 4 it is 0.6 to 0.8, with one 0.7 to 0.8, and the
 * server takes 1.7 times the processor for a check then. That is the price of one way to ask, which keeps nothing.
 */
export async function createServerRequests({ url, token }: ServerAddress) {
  const { createClient } = await import("@libsql/client/http");
  const pipeline = new URL("v2/pipeline", url.replace(/^libsql:/, "https:"));
  const credential = token === undefined ? {} : { authToken: token };

  /** One for each call, because each has a time of its own to be answered in, however often it asks. */
  function clientFor(waitMs: number): Client {
    const endsAt = performance.now() + waitMs;
    const ask = (request: Request) =>
      askServer(request, { url: pipeline, waitMs: endsAt - performance.now() });
    return createClient({ url, ...credential, fetch: ask });
  }

  return {
    /**
     * Statements that each stand for themselves: one that fails takes no other with it.
     * @param waitMs for how long the server is waited for
     * @throws what the connection throws
     */
    async each(statements: readonly SentStatement[], waitMs: number): Promise<(Row[] | Error)[]> {
      const client = clientFor(waitMs);
      try {
        return await readEach(client, statements);
      } catch (error) {
        // A socket that was kept may lead to a server that was started anew.
        if (isTimeout(error) || isTvsError(error)) throw error;
        return readEach(client, statements);
      }
    },
    /** Statements that are committed together; the first failure is thrown, and nothing is done then. */
    together: async (statements: readonly SentStatement[], waitMs: number): Promise<Row[][]> =>
      rowsOf(await clientFor(waitMs).batch([...statements], "write")),
    /**
     * Reads, decides and writes in one transaction, which begins with the first batch.
     * @throws TvsError STORE_UNAVAILABLE when its caller has stopped waiting: nothing is committed then
     */
    async transaction<R>(
      work: (tx: Transaction) => Promise<R>,
      { waitMs, isOver }: TransactionLimit,
    ): Promise<R> {
      const transaction = await clientFor(waitMs).transaction("write");
      const requireTime = () => {
        if (isOver()) throw new TvsError("STORE_UNAVAILABLE", "the database does not answer in time");
      };
      try {
        const result = await work({
          async batch(statements) {
            if (statements.length === 0) return [];
            const results = await transaction.batch(statements.map(sentStatement));
            requireTime();
            return rowsOf(results);
          },
        });
        await transaction.commit();
        return result;
      } finally {
        transaction.close();
      }
    },
  };
}

/** `waitMs`: for how long the server is waited for, in milliseconds. `isOver`: whether the caller has stopped waiting. */
export type TransactionLimit = { readonly waitMs: number; isOver(): boolean };

/** @throws what the connection throws */
async function readEach(client: Client, statements: readonly SentStatement[]): Promise<(Row[] | Error)[]> {
  const alone = () => Promise.all(statements.map((one) => answerTo(client, one)));
  if (statements.length === 1) return alone();
  try {
    return rowsOf(await client.batch([...statements], "read"));
  } catch (error) {
    // One that fails takes them all with it; as requests of their own they cost the server five times as much.
    if (isAnswer(error)) return alone();
    throw error;
  }
}

/** @throws what the connection throws, and not what the database says of this statement */
async function answerTo(client: Client, statement: SentStatement): Promise<Row[] | Error> {
  try {
    return rowsOf([await client.execute(statement)])[0] ?? [];
  } catch (error) {
    if (isAnswer(error)) return error;
    throw error;
  }
}

function rowsOf(results: readonly { readonly rows: readonly unknown[] }[]): Row[][] {
  return results.map(({ rows }) => rows as Row[]);
}

/** @throws TvsError for a value that no column can hold unchanged */
export function sentStatement({ sql, args }: Statement): SentStatement {
  try {
    return { sql, args: args.map(bindable) };
  } catch (error) {
    throw storeError(error);
  }
}
