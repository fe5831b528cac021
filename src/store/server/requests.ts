import type { BatchStep, HttpStream, InStmt } from "@libsql/hrana-client";
import type { ServerAddress } from "../../config.ts";
import { isTvsError } from "../../domain/errors.ts";
import { bindable, type Row, type RowsTarget, type Statement, storeError } from "../driver/driver.ts";
import { askServer } from "./answers.ts";
import { isAnswer, isForgotten, isTimeout } from "./errors.ts";

/** Requests to a libSQL server, each a round trip. A statement's own failure is a value: it concerns no other request. */
export type ServerRequests = {
  /**
   * Statements that each stand for themselves: one that fails takes no other with it.
   * @param waitMs for how long the server is waited for
   * @throws what the connection throws
   */
  each(statements: readonly InStmt[], waitMs: number): Promise<(Row[] | Error)[]>;
  /** Statements that are committed together; the first failure is thrown, and nothing is done then. */
  together(statements: readonly InStmt[], waitMs: number): Promise<Row[][]>;
  close(): void;
};

/**
 * A stream of the Hrana protocol is a connection to the database on the server's side. To open one costs the server
 * more than a read does, so each is kept for the next request of its kind.
 */
type Line = { readonly stream: HttpStream; waitMs: number; usedAtMs: number };

/** The server forgets a stream that nobody has used for ten seconds. */
const keepLineMs = 5_000;
/** A server has 128 connections for all who use it (sqld's `--max-concurrent-connections`). */
const keptLines = 1;
/** What is said to a server as the last thing, nobody waits for. */
const farewellMs = 500;

/** Talks to a server over HTTP. The client has no time-out of its own. */
export async function createServerRequests({ url, token }: ServerAddress): Promise<ServerRequests> {
  const hrana = await import("@libsql/hrana-client");
  const address = url.replace(/^libsql:/, "https:");
  const pipeline = new URL("v2/pipeline", address);
  const kept: Record<"reading" | "writing", Line[]> = { reading: [], writing: [] };

  function openLine(): Line {
    const line = { waitMs: farewellMs, usedAtMs: 0 };
    const ask = (request: Request) => askServer(request, { url: pipeline, waitMs: line.waitMs });
    return Object.assign(line, { stream: hrana.openHttp(address, token, ask).openStream() });
  }

  async function use<T>(line: Line, { lines, waitMs, act }: Use<T>): Promise<T> {
    line.waitMs = waitMs;
    try {
      const result = await act(line.stream);
      line.usedAtMs = performance.now();
      if (lines.length < keptLines) lines.push(line);
      else line.stream.closeGracefully();
      return result;
    } catch (error) {
      line.stream.close();
      throw error;
    } finally {
      line.waitMs = farewellMs;
    }
  }

  /** A request on a kept line may meet a server that was started anew, and is then made on a new one. */
  async function request<T>(wanted: Use<T>, mayAskAgain: (error: unknown) => boolean): Promise<T> {
    const line = wanted.lines.pop();
    if (line === undefined) return use(openLine(), wanted);
    if (performance.now() - line.usedAtMs > keepLineMs) {
      line.stream.close();
      return use(openLine(), wanted);
    }
    try {
      return await use(line, wanted);
    } catch (error) {
      if (!mayAskAgain(error)) throw error;
      return use(openLine(), wanted);
    }
  }

  async function each(statements: readonly InStmt[], waitMs: number): Promise<(Row[] | Error)[]> {
    const act = async (stream: HttpStream) => {
      const batch = stream.batch(false);
      const results = statements.map((one) => outcome(batch.step(), one));
      try {
        await batch.execute();
        return await Promise.all(results);
      } catch (error) {
        // One that the server cannot even read fails them all; as requests of their own they cost it five times as much.
        if (!isAnswer(error)) throw error;
        return Promise.all(statements.map((statement) => answerTo(stream, statement)));
      }
    };
    return request({ lines: kept.reading, waitMs, act }, (error) => !isTimeout(error) && !isTvsError(error));
  }

  async function together(statements: readonly InStmt[], waitMs: number): Promise<Row[][]> {
    const { ok, not } = hrana.BatchCond;
    const act = async (stream: HttpStream) => {
      const batch = stream.batch(false);
      let last = batch.step();
      const begun = outcome(last, "BEGIN IMMEDIATE");
      const results = statements.map((one) => {
        last = batch.step().condition(ok(last));
        return outcome(last, one);
      });
      last = batch.step().condition(ok(last));
      const committed = outcome(last, "COMMIT");
      void outcome(batch.step().condition(not(ok(last))), "ROLLBACK");
      await batch.execute();
      return Promise.all([begun, ...results, committed]);
    };
    // What failed otherwise may have been committed.
    const all = await request({ lines: kept.writing, waitMs, act }, isForgotten);
    const failure = all.find((one) => one instanceof Error);
    if (failure !== undefined) throw failure;
    return all.slice(1, -1) as Row[][];
  }

  return {
    each,
    together,
    close() {
      for (const lines of Object.values(kept))
        for (const { stream } of lines.splice(0)) stream.closeGracefully();
    },
  };
}

type Use<T> = { readonly lines: Line[]; readonly waitMs: number; act(stream: HttpStream): Promise<T> };

/** @throws what the connection throws, and not what the database says of this statement */
async function answerTo(stream: HttpStream, statement: InStmt): Promise<Row[] | Error> {
  try {
    return (await stream.query(statement)).rows as unknown as Row[];
  } catch (error) {
    if (isAnswer(error)) return error;
    throw error;
  }
}

/** What a step brings; nothing for one that was passed over because another failed. */
function outcome(step: BatchStep, statement: InStmt): Promise<Row[] | Error> {
  return step.query(statement).then(
    (result) => (result?.rows ?? []) as unknown as Row[],
    (error: Error) => error,
  );
}

/** @throws TvsError for a value that no column can hold unchanged */
export function inWire(statement: Statement): InStmt {
  try {
    if ("sql" in statement) return [statement.sql, statement.args.map(bindable)];
    return [insertFromJson(statement.insert), [statement.rows]];
  } catch (error) {
    throw storeError(error);
  }
}

/** An insert of many rows as one text, which the server takes apart: bound values would all travel by themselves. */
function insertFromJson({ table, columns, bytes = [] }: RowsTarget): string {
  const values = columns.map((column, place) =>
    bytes.includes(column) ? `unhex(value ->> ${place})` : `value ->> ${place}`,
  );
  return `INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM json_each(?)`;
}
