import { openConnection } from "../../src/store/driver/connection.ts";
import {
  type Driver,
  type Row,
  type Statement,
  storeError,
  type Value,
} from "../../src/store/driver/driver.ts";
import { makeSchema } from "../../src/store/driver/schema.ts";
import { databaseNow, isServed } from "../../src/store/server/served.ts";
import type { Process } from "./world.ts";

/** The server's time in the place of the machine's on which the test runs. */
const simulatedNow = "(SELECT ms FROM temp.simulated_now)";

export type SharedDatabase = ReturnType<Awaited<ReturnType<typeof openDatabase>>["begin"]>;

/** A database that processes share as they share a server, in memory, with SQLite's real answers to the real SQL. */
export async function openDatabase() {
  const connection = await openConnection(":memory:");
  const simulated = new Map<string, string>();
  let setMs = Number.NaN;
  let nowMs = 0;

  /** The same in the simulation's time, which is told to the database before it is asked for. */
  function inTime(sql: string): string {
    const known = simulated.get(sql) ?? sql.replaceAll(databaseNow, simulatedNow);
    simulated.set(sql, known);
    if (known !== sql && setMs !== nowMs) {
      connection.all("UPDATE temp.simulated_now SET ms = ?", [nowMs]);
      setMs = nowMs;
    }
    return known;
  }

  const read = (sql: string, args: readonly Value[] = []): Row[] =>
    guarded(() => connection.all(inTime(sql), args));
  const commit = (statements: readonly Statement[]): Row[][] => {
    const inSimulatedTime = statements.map((one) => ("sql" in one ? { ...one, sql: inTime(one.sql) } : one));
    return guarded(() => connection.transaction(inSimulatedTime));
  };
  const driver: Driver = {
    kind: "remote",
    query: async (sql, args) => read(sql, args),
    batch: async (statements) => commit(statements),
    renew() {},
    heldMs: () => null,
    isBusy: () => false,
    takeTurn: () => undefined,
    copyTo: () => Promise.reject(new Error("not asked for")),
    lockService: async () => false,
    serviceRunning: () => isServed(async (sql) => read(sql)),
    close: async () => connection.close(),
  };
  connection.all("CREATE TEMP TABLE simulated_now (ms INTEGER NOT NULL)");
  connection.all("INSERT INTO temp.simulated_now VALUES (0)");
  await makeSchema(driver);
  const tables = read("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'schema_steps'").map(
    ({ name }) => String(name),
  );
  const first = tables.map((name) => ({ name, rows: read(`SELECT * FROM ${name}`) }));

  /** Empties it, but for what is there from the beginning. */
  function clear(): void {
    connection.exec("PRAGMA foreign_keys = OFF");
    commit(tables.map((name) => ({ sql: `DELETE FROM ${name}`, args: [] })));
    for (const { name, rows } of first)
      for (const row of rows) {
        const columns = Object.keys(row);
        const sql = `INSERT INTO ${name} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
        commit([{ sql, args: Object.values(row) as Value[] }]);
      }
    connection.exec("PRAGMA foreign_keys = ON");
  }

  return {
    close: driver.close,
    /** @param onCommit told of each commit of a process, before anybody else has seen it; what it throws is a flaw */
    begin(startsAt: number, onCommit: (statements: readonly Statement[], process: Process) => void) {
      let flaw: Error | null = null;
      clear();
      nowMs = startsAt;
      return {
        driver,
        startsAt,
        read,
        write(statements: readonly Statement[], process: Process): Row[][] {
          const rows = commit(statements);
          try {
            onCommit(statements, process);
          } catch (error) {
            flaw ??= error as Error;
          }
          return rows;
        },
        setNow(ms: number) {
          nowMs = startsAt + ms;
        },
        now: () => nowMs,
        /** What must not be and was. */
        flaw: () => flaw,
        found(error: Error) {
          flaw ??= error;
        },
      };
    },
  };
}

function guarded<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw storeError(error);
  }
}
