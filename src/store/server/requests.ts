import type { HttpStream, InValue } from "@libsql/hrana-client";
import type { ServerAddress } from "../../config.ts";
import { isTvsError, TvsError } from "../../domain/errors.ts";
import { bindable, type Row, type Statement, storeError, type Transaction } from "../driver/driver.ts";
import { askServer } from "./answers.ts";
import { isAnswer, isTimeout } from "./errors.ts";

export type SentStatement = { readonly sql: string; readonly args: InValue[] };

/** Requests to a libSQL server, each a round trip. */
export type ServerRequests = Awaited<ReturnType<typeof createServerRequests>>;

/** `waitMs`: the longest wait for the server, in milliseconds. `isOver`: whether the caller has stopped waiting. */
type TransactionLimit = { readonly waitMs: number; isOver(): boolean };

/**
 * Sends requests by the server's own protocol, Hrana 2 over HTTP. The Hrana client has no time limit of its own. It keeps
 * no connection (decision D12.12): a kept one is as fast with 64 callers.
 */
export async function createServerRequests({ url, token }: ServerAddress) {
  const { BatchCond, openHttp } = await import("@libsql/hrana-client");
  const base = url.replace(/^libsql:/, "https:");
  const pipeline = new URL("v2/pipeline", base);

  /** Opens a connection to the database, whose requests all end at the same time. */
  function openStream(endsAtMs: number): HttpStream {
    const ask = (request: Request) => askServer(request, pipeline, endsAtMs - performance.now());
    return openHttp(base, token, ask).openStream();
  }

  function readEach(statements: readonly SentStatement[], endsAtMs: number): Promise<(Row[] | Error)[]> {
    const stream = openStream(endsAtMs);
    const asFailure = (error: unknown) => {
      if (isAnswer(error)) return error;
      throw error;
    };
    const answers = statements.map((one) => stream.query(textAndValues(one)).then(rowsOf, asFailure));
    // Statements and end are sent in one request.
    stream.closeGracefully();
    return Promise.all(answers);
  }

  /** Runs statements, each after the success of the one before it. @throws the first failure */
  async function runInOrder(stream: HttpStream, statements: readonly SentStatement[], isEnd: boolean) {
    const batch = stream.batch();
    let before: ReturnType<typeof batch.step> | undefined;
    const answers = statements.map((one) => {
      const step = batch.step();
      if (before !== undefined) step.condition(BatchCond.ok(before));
      before = step;
      return step.query(textAndValues(one));
    });
    if (isEnd && before !== undefined) {
      const undo = batch.step().condition(BatchCond.not(BatchCond.ok(before)));
      undo.run("ROLLBACK").catch(() => {});
    }
    const executed = batch.execute();
    if (isEnd) stream.closeGracefully();
    await executed;
    return (await Promise.all(answers)).map(rowsOf);
  }

  return {
    /**
     * Runs independent statements. The failure of one is a value: the others may succeed.
     * @param waitMs the longest wait @throws the connection's errors
     */
    async each(statements: readonly SentStatement[], waitMs: number): Promise<(Row[] | Error)[]> {
      const endsAtMs = performance.now() + waitMs;
      try {
        return await readEach(statements, endsAtMs);
      } catch (error) {
        // A kept socket may belong to a server that has restarted.
        if (isTimeout(error) || isTvsError(error)) throw error;
        return readEach(statements, endsAtMs);
      }
    },
    /** Begins with the first batch. @throws TvsError STORE_UNAVAILABLE, uncommitted, when its caller has left */
    async transaction<R>(work: (tx: Transaction) => Promise<R>, limit: TransactionLimit): Promise<R> {
      const stream = openStream(performance.now() + limit.waitMs);
      let [hasBegun, isOver] = [false, false];
      async function run(statements: readonly Statement[], isEnd: boolean): Promise<Row[][]> {
        if (isOver) throw new TypeError("the transaction is over");
        const first = hasBegun ? [] : [begin];
        hasBegun = true;
        isOver = isEnd;
        const sent = [...first, ...statements.map(sentStatement), ...(isEnd ? [commit] : [])];
        const rows = await runInOrder(stream, sent, isEnd);
        return rows.slice(first.length, first.length + statements.length);
      }
      const tx: Transaction = {
        query: async (sql, args = []) => (await tx.batch([{ sql, args }]))[0] ?? [],
        async batch(statements) {
          if (statements.length === 0) return [];
          const rows = await run(statements, false);
          if (limit.isOver()) throw new TvsError("STORE_UNAVAILABLE", "the database does not answer in time");
          return rows;
        },
        finish: (statements) => run(statements, true),
      };
      try {
        const result = await work(tx);
        if (hasBegun && !isOver) await tx.finish([]);
        return result;
      } finally {
        stream.close();
      }
    },
  };
}

const begin: SentStatement = { sql: "BEGIN IMMEDIATE", args: [] };
const commit: SentStatement = { sql: "COMMIT", args: [] };

const textAndValues = ({ sql, args }: SentStatement): [string, InValue[]] => [sql, args];

/** @throws Error for a statement that the server has neither run nor refused */
function rowsOf(result: { readonly rows: readonly unknown[] } | undefined): Row[] {
  if (result === undefined) throw new Error("the database did not run a statement");
  return result.rows as Row[];
}

/** @throws TvsError for a value that no column can hold unchanged */
export function sentStatement({ sql, args }: Statement): SentStatement {
  try {
    return { sql, args: args.map(bindable) };
  } catch (error) {
    throw storeError(error);
  }
}
