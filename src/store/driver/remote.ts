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
import { createServiceLock, ownProcessSpace } from "./service-lock.ts";

type RemoteOptions = {
  /** `libsql://`, `http://` or `https://` address of a libSQL server. */
  readonly url: string;
  readonly token?: string;
  readonly timeoutMs?: number;
  /** How often a service's lock is renewed. */
  readonly renewMs?: number;
  /** How long a lock outlives the last sign of life of the service that holds it. */
  readonly lockMs?: number;
  /** Told, once, that another service has taken the lock over: this process never answers from the database again. */
  readonly onLost?: ((error: TvsError) => void) | undefined;
  /** Where this process's id means something; found out when it is left out, null where that cannot be said. */
  readonly processSpace?: string | null;
};

/**
 * Reaches a libSQL server with @libsql/client.
 *
 * The client has no time-out of its own. A call that failed may still have been committed, so every act
 * of the store is written to be harmless when it is done twice.
 * @throws TvsError STORE_UNAVAILABLE when the server does not answer
 */
export async function openRemote({
  url,
  token,
  timeoutMs = 5000,
  renewMs = 2_000,
  lockMs,
  onLost,
  processSpace = ownProcessSpace(),
}: RemoteOptions): Promise<Driver> {
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

  const lock = createServiceLock({ batch, query }, { renewMs, lockMs, processSpace, onLost });
  return {
    kind: "remote",
    async query(sql, args) {
      lock.requireHeld();
      return query(sql, args);
    },
    async batch(statements) {
      lock.requireHeld();
      return batch(statements);
    },
    renew() {},
    heldMs: () => null,
    isBusy: () => false,
    async copyTo() {
      const message =
        "a libSQL server does not copy itself; use its own backup, or run tvs on a database file";
      throw new TvsError("REFUSED", message);
    },
    lockService: lock.take,
    serviceRunning: lock.isTaken,
    async close() {
      await lock.release();
      client.close();
    },
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
