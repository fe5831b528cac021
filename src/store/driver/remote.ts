import { TvsError } from "../../domain/errors.ts";
import {
  bindable,
  type Driver,
  type Row,
  type RowsTarget,
  type Statement,
  storeError,
  type Value,
} from "./driver.ts";
import { isServed } from "./served.ts";

type RemoteOptions = {
  /** `libsql://`, `http://` or `https://` address of a libSQL server. */
  readonly url: string;
  readonly token?: string;
  readonly timeoutMs?: number;
};

/**
 * Reaches a libSQL server with @libsql/client.
 *
 * The client has no time-out of its own. A call that failed may still have been committed, so every act
 * of the store is written to be harmless when it is done twice.
 * @throws TvsError STORE_UNAVAILABLE when the server does not answer
 */
export async function openRemote({ url, token, timeoutMs = 5000 }: RemoteOptions): Promise<Driver> {
  const { createClient } = await import("@libsql/client/http");
  const client = createClient({
    url,
    ...(token === undefined ? {} : { authToken: token }),
    fetch: (input: string | URL | Request, init?: RequestInit) =>
      fetch(input, { ...init, signal: AbortSignal.timeout(timeoutMs) }),
  });

  async function batch(statements: readonly Statement[]): Promise<Row[][]> {
    try {
      const results = await client.batch(statements.map(convert), "write");
      return results.map((result) => result.rows as unknown as Row[]);
    } catch (error) {
      throw storeError(error);
    }
  }

  async function query(sql: string, args: readonly Value[] = []): Promise<Row[]> {
    try {
      return (await client.execute(convert({ sql, args }))).rows as unknown as Row[];
    } catch (error) {
      throw storeError(error);
    }
  }

  return {
    kind: "remote",
    query,
    batch,
    renew() {},
    heldMs: () => null,
    isBusy: () => false,
    async copyTo() {
      const message =
        "a libSQL server does not copy itself; use its own backup, or run tvs on a database file";
      throw new TvsError("REFUSED", message);
    },
    lockService: async () => false,
    serviceRunning: () => isServed(query),
    close: async () => client.close(),
  };
}

function convert(statement: Statement): { sql: string; args: never[] } {
  const sql = "sql" in statement ? statement.sql : insertFromJson(statement.insert);
  const args = "sql" in statement ? statement.args : [statement.rows];
  return { sql, args: args.map(bindable) as never[] };
}

/** An insert of many rows as one text, which the server takes apart: bound values would all travel by themselves. */
function insertFromJson({ table, columns, bytes = [] }: RowsTarget): string {
  const values = columns.map((column, place) =>
    bytes.includes(column) ? `unhex(value ->> ${place})` : `value ->> ${place}`,
  );
  return `INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM json_each(?)`;
}
