import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { TvsError } from "../../../src/domain/errors.ts";
import { type Connection, openConnection } from "../../../src/store/driver/connection.ts";
import { bind, type Driver, makeBindable, type SqlValue } from "../../../src/store/driver/driver.ts";
import { openDatabaseFile } from "../../../src/store/driver/file.ts";
import { withTempDir } from "../../harness/folder.ts";
import { catchError } from "../../harness/rejection.ts";

/** Each test is for one hazard of the native driver on Bun or Deno, which the connection must prevent. */

const createTable = "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT UNIQUE, flag, note)";

function withConnection(act: (connection: Connection) => void): Promise<void> {
  return withTempDir((folder) => withSecond(`${folder}/tvs.db`, act));
}

/** Runs a function with a driver, which uses the same connection in transactions. */
function withDriver(act: (driver: Driver, file: string) => Promise<void>): Promise<void> {
  return withTempDir(async (folder) => {
    const file = `${folder}/tvs.db`;
    const driver = await openDatabaseFile({ file });
    try {
      await driver.batch([bind(createTable)]);
      await act(driver, file);
    } finally {
      await driver.close();
    }
  });
}

async function withSecond(file: string, act: (second: Connection) => unknown): Promise<void> {
  const second = await openConnection(file);
  try {
    await act(second);
  } finally {
    second.close();
  }
}

const insert = "INSERT INTO person (id, name) VALUES (?, ?) RETURNING id";
const byId = "SELECT name FROM person WHERE id = ?";
const add = (driver: Driver, id: number, name: string) => driver.batch([bind(insert, [id, name])]);
const nameOf = async (driver: Driver, id: number) => (await driver.query(byId, [id]))[0]?.name;
const namesOf = (driver: Driver, ...ids: number[]) => Promise.all(ids.map((id) => nameOf(driver, id)));
const codeOf = async (work: Promise<unknown>) => ((await catchError(work)) as TvsError | undefined)?.code;

test.each([
  ["trusted_schema", 0],
  ["cell_size_check", 1],
  ["journal_mode", "wal"],
  ["synchronous", 2],
  ["foreign_keys", 1],
] as const)("a connection has the setting %s = %s", (name, value) =>
  withConnection((connection) => {
    expect(connection.all(`PRAGMA ${name}`)).toEqual([{ [name]: value }]);
  }),
);

test("a view in the schema cannot call a function that could do harm", () =>
  withConnection((connection) => {
    connection.exec("CREATE VIEW trap AS SELECT load_extension('/nowhere')");
    expect(() => connection.all("SELECT * FROM trap")).toThrow(/unsafe use of load_extension|not authorized/);
  }));

test("a repeated query with fewer parameters than before is refused", () =>
  withConnection((connection) => {
    const two = "SELECT ?1 AS a, ?2 AS b";
    expect(connection.all(two, [1, "secret of the call before"])).toHaveLength(1);
    expect(() => connection.all(two, [1])).toThrow("as many values each time");
    expect(() => connection.all(two)).toThrow("as many values each time");
    expect(connection.all(two, [3, 4])).toEqual([{ a: 3, b: 4 }]);
  }));

test("the parameters of a failed call are not used again", () =>
  withDriver(async (driver) => {
    await add(driver, 1, "Ada");
    expect(await codeOf(add(driver, 1, "Bola"))).toBe("STORE_CONSTRAINT");
    await add(driver, 2, "Chi");
    expect(await namesOf(driver, 1, 2)).toEqual(["Ada", "Chi"]);
    expect(await catchError(driver.query(byId, ["a\0b"]))).toMatchObject({ code: "USAGE" });
    expect(await nameOf(driver, 2)).toBe("Chi");
  }));

test("a write with RETURNING is committed and releases its lock", () =>
  withDriver(async (driver, file) => {
    expect(await add(driver, 1, "Ada")).toEqual([[{ id: 1 }]]);
    await withSecond(file, (second) => {
      expect(second.all(byId, [1])).toEqual([{ name: "Ada" }]);
      second.all("INSERT INTO person (id, name) VALUES (2, 'Bola')");
    });
    expect(await nameOf(driver, 2)).toBe("Bola");
  }));

test("no read keeps a snapshot open, so that the write-ahead log can be emptied", () =>
  withDriver(async (driver, file) => {
    for (let id = 0; id < 20; id++) await add(driver, id, `name ${id}`);
    await driver.query("SELECT * FROM person");
    await codeOf(add(driver, 1, "again"));
    await withSecond(file, (second) => {
      const [row] = second.all("PRAGMA wal_checkpoint(TRUNCATE)");
      expect([row?.busy, row?.log].map(Number)).toEqual([0, 0]);
    });
  }));

test.each<[string, unknown]>([
  ["a date", new Date(0)],
  ["undefined", undefined],
  ["an object", {}],
  ["a list", [1]],
  ["a function", () => 1],
  ["not a number", Number.NaN],
  ["infinity", Number.POSITIVE_INFINITY],
])("the driver refuses to bind the value %s", (_what, value) => {
  expect(() => makeBindable(value as SqlValue)).toThrow(TypeError);
});

/** The program of another process: it takes the lock, prints this, and releases the lock after 100 ms. */
const holder = `
  const { openConnection } = await import(process.argv[1]);
  const connection = await openConnection(process.argv[2]);
  connection.exec("BEGIN IMMEDIATE");
  connection.exec("INSERT INTO person (id, name) VALUES (1, 'from the other process')");
  process.stdout.write("held");
  setTimeout(() => { connection.exec("COMMIT"); connection.close(); }, 100);`;
/** The program of another process: it runs 200 transactions that read and write. */
const counter = `
  const { openDatabaseFile } = await import(process.argv[1].replace("connection.ts", "file.ts"));
  const driver = await openDatabaseFile({ file: process.argv[2] });
  process.stdout.write("started");
  const step = [{ sql: "SELECT flag FROM person WHERE id = 1", args: [] },
    { sql: "UPDATE person SET flag = flag + 1 WHERE id = 1", args: [] }];
  for (let i = 0; i < 200; i++) await driver.batch(step);
  await driver.close();`;

async function otherProcess(script: string, file: string) {
  const module = fileURLToPath(new URL("../../../src/store/driver/connection.ts", import.meta.url));
  const child = spawn(process.execPath, ["-e", script, module, file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  await once(child.stdout, "data");
  return { ended };
}

test("a write waits for another process's write lock", () =>
  withDriver(async (driver, file) => {
    const { ended } = await otherProcess(holder, file);
    await add(driver, 2, "after it");
    expect(await namesOf(driver, 1, 2)).toEqual(["from the other process", "after it"]);
    expect((await ended)[0]).toBe(0);
  }));

test("a transaction takes the write lock when it begins, so that two processes can read and then write", () =>
  withDriver(async (driver, file) => {
    await driver.batch([bind("INSERT INTO person (id, flag) VALUES (1, 0)")]);
    const { ended } = await otherProcess(counter, file);
    const read = bind("SELECT flag FROM person WHERE id = 1");
    const write = bind("UPDATE person SET flag = flag + 1 WHERE id = 1");
    for (let i = 0; i < 200; i++) await driver.batch([read, write]);
    expect((await ended)[0]).toBe(0);
    expect(await driver.query("SELECT flag FROM person WHERE id = 1")).toEqual([{ flag: 400 }]);
  }));

test("a write to a full disk fails with STORE_FULL, and later writes succeed", () =>
  withDriver(async (driver) => {
    await driver.query("PRAGMA max_page_count = 20");
    const large = bind("INSERT INTO person (id, note) VALUES (1, zeroblob(?))", [1_000_000]);
    expect(await codeOf(driver.batch([large]))).toBe("STORE_FULL");
    await add(driver, 2, "small");
    expect(await namesOf(driver, 1, 2)).toEqual([undefined, "small"]);
  }));

test("1,200 different statements work, although only some of them stay prepared", () =>
  withConnection((connection) => {
    for (let i = 0; i < 1200; i++)
      expect(connection.all(`SELECT ${i} AS n, ? AS v`, [i])).toEqual([{ n: i, v: i }]);
    expect(connection.all("SELECT 7 AS n, ? AS v", [8])).toEqual([{ n: 7, v: 8 }]);
  }));
