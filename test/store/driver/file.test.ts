import { expect, test } from "bun:test";
import { copyFileSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import type { TvsError } from "../../../src/domain/errors.ts";
import { type Connection, openConnection } from "../../../src/store/driver/connection.ts";
import { bind, type Driver } from "../../../src/store/driver/driver.ts";
import { openDatabaseFile } from "../../../src/store/driver/file.ts";
import { until, waitForAnswer } from "../../harness/eventually.ts";
import { withTempDir } from "../../harness/folder.ts";
import { catchError } from "../../harness/rejection.ts";

const mebibyte = 1024 * 1024;
const insert = bind("INSERT INTO person (name) VALUES (?)", ["Ada"]);
const selectAll = "SELECT name FROM person ORDER BY rowid";
const changes: [string, (file: string) => void][] = [
  ["was replaced", (file) => renameSync(`${file}.copy`, file)],
  ["was moved away", (file) => renameSync(file, `${file}.old`)],
  ["was removed", (file) => rmSync(file)],
];

type World = {
  readonly file: string;
  readonly driver: Driver;
  /** A second connection, which SQLite treats like another process. */
  readonly foreign: Connection;
  names(): Promise<string[]>;
};

function withFile(act: (world: World) => Promise<void>): Promise<void> {
  return withTempDir(async (folder) => {
    const file = `${folder}/tvs.db`;
    const driver = await openDatabaseFile({ file });
    const foreign = await openConnection(file);
    try {
      await driver.batch([bind("CREATE TABLE person (name TEXT, pad BLOB)")]);
      const names = async () => (await driver.query(selectAll)).map(({ name }) => String(name));
      await act({ file, driver, foreign, names });
    } finally {
      foreign.close();
      await driver.close();
    }
  });
}

test.each(changes)(
  "a driver whose database file %s fails soon in reads, and immediately in writes",
  (_what, change) =>
    withFile(async ({ file, driver }) => {
      await driver.copyTo(`${file}.copy`);
      copyFileSync(file, `${file}.first`);
      change(file);
      const gone = { code: "STORE_UNAVAILABLE" };
      const ask = () => catchError(driver.query(selectAll));
      expect(await waitForAnswer(ask, (error) => error !== undefined)).toMatchObject(gone);
      expect(await catchError(driver.batch([insert]))).toMatchObject(gone);
      expect(await catchError(driver.copyTo(`${file}.later`))).toMatchObject(gone);
      // The driver fails even when the original file has its name again.
      renameSync(`${file}.first`, file);
      expect(await ask()).toMatchObject(gone);
    }),
);

test("a write to a moved database file fails, even if no read came before", () =>
  withFile(async ({ file, driver }) => {
    renameSync(file, `${file}.old`);
    expect(await catchError(driver.batch([insert]))).toMatchObject({ code: "STORE_UNAVAILABLE" });
  }));

test("a lock of a database file is seen through a symbolic link to the file", () =>
  withTempDir(async (folder) => {
    const first = await openDatabaseFile({ file: `${folder}/tvs.db` });
    symlinkSync(`${folder}/tvs.db`, `${folder}/other.db`);
    const second = await openDatabaseFile({ file: `${folder}/other.db` });
    try {
      await first.lockService();
      expect(await second.serviceRunning()).toBe(true);
      expect(await catchError(second.lockService())).toMatchObject({ code: "DATABASE_IN_USE" });
    } finally {
      await second.close();
      await first.close();
    }
  }));

test.each([
  ...changes.map(([what, change]) => [`database ${what}`, "tvs.db", change] as const),
  ["lock file was deleted, because another service could start", "tvs.db.lock", rmSync] as const,
])("a service stops if its %s", (_what, name, change) =>
  withTempDir(async (folder) => {
    const lost = Promise.withResolvers<TvsError>();
    const service = await openDatabaseFile({
      file: `${folder}/tvs.db`,
      onLost: lost.resolve,
      lockWatchMs: 20,
    });
    await service.lockService();
    await service.copyTo(`${folder}/tvs.db.copy`);
    change(`${folder}/${name}`);
    const message = expect.stringContaining(`${name} was moved away or replaced`);
    expect(await lost.promise).toMatchObject({ code: "STORE_UNAVAILABLE", message });
    await service.close();
  }),
);

test("a read that begins during a transaction waits for its end, and returns nothing that was rolled back", () =>
  withFile(async ({ driver, names }) => {
    const read: Promise<string[]>[] = [];
    const undone = driver.write(async (tx) => {
      await tx.batch([insert]);
      read.push(names());
      await tx.batch([insert]);
      throw new Error("undone");
    });
    expect(await catchError(undone)).toEqual(new Error("undone"));
    expect(await Promise.all(read)).toEqual([[]]);
    await driver.write(async (tx) => {
      await tx.batch([insert]);
      read.push(names());
      await tx.batch([insert]);
    });
    expect(await read[1]).toEqual(["Ada", "Ada"]);
  }));

test("a read returns everything that another process committed before it, and each commit as a whole", () =>
  withFile(async ({ driver, foreign }) => {
    const other = (n: number) => `INSERT INTO person (name) VALUES ('${n}'), ('${n}')`;
    for (let n = 0; n < 200; n++) {
      const own = driver.batch([insert, insert]);
      foreign.exec(other(n));
      const [row] = await driver.query("SELECT count(*) AS n FROM person WHERE name = ?", [String(n)]);
      expect(Number(row?.n)).toBe(2);
      await own;
      const [all] = await driver.query("SELECT count(*) AS n FROM person");
      expect(Number(all?.n)).toBe(4 * (n + 1));
    }
  }));

test("queries continue while another process writes, and commits follow it", () =>
  withFile(async ({ driver, foreign, names }) => {
    foreign.exec("BEGIN IMMEDIATE");
    foreign.exec("INSERT INTO person (name) VALUES ('foreign')");
    const committed = [driver.batch([insert]), driver.batch([insert])];
    expect(await names()).toEqual([]);
    foreign.exec("COMMIT");
    await Promise.all(committed);
    expect(await names()).toEqual(["foreign", "Ada", "Ada"]);
  }));

test("all waiting commits are refused together if another process holds the lock too long", () =>
  withFile(async ({ file, driver, foreign }) => {
    const lockWaitMs = 300;
    const [one, two] = [
      await openDatabaseFile({ file, lockWaitMs }),
      await openDatabaseFile({ file, lockWaitMs }),
    ];
    foreign.exec("BEGIN IMMEDIATE");
    const order: string[] = [];
    const refused = async (through: Driver, name: string) => {
      expect(await catchError(through.batch([insert]))).toMatchObject({ code: "STORE_BUSY" });
      order.push(name);
    };
    const twice = refused(two, "first").then(() => refused(two, "second"));
    await Promise.all([twice, ...[1, 2, 3, 4].map(() => refused(one, "together"))]);
    expect(order.at(-1)).toBe("second");
    foreign.exec("ROLLBACK");
    await driver.batch([insert]);
    for (const opened of [one, two]) await opened.close();
  }));

const logBytes = (file: string) => statSync(`${file}-wal`).size;

/** Writes so many mebibytes. @returns the largest size of the write-ahead log, in bytes */
async function write({ file, driver }: World, mebibytes: number): Promise<number> {
  let most = 0;
  for (let n = 0; n < mebibytes * 16; n++) {
    const pad = bind("INSERT INTO person (name, pad) VALUES ('', randomblob(2000))");
    await driver.batch(new Array(32).fill(pad));
    await driver.query("SELECT 1 FROM person LIMIT 1");
    most = Math.max(most, logBytes(file));
  }
  return most;
}

test("the write-ahead log grows while another process reads for long, and is reused afterwards", () =>
  withFile(async (world) => {
    world.foreign.exec("BEGIN");
    world.foreign.all(selectAll);
    expect(await write(world, 20)).toBeGreaterThan(20 * mebibyte);
    world.foreign.exec("COMMIT");
    await until(async () => {
      await write(world, 1);
      return logBytes(world.file) <= 5 * mebibyte;
    });
  }));
