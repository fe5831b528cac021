import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { statSync, symlinkSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { newCommitLock, openCommitLock } from "../../../src/store/driver/commit-lock.ts";
import { type Connection, openConnection } from "../../../src/store/driver/connection.ts";
import { type Driver, statement } from "../../../src/store/driver/driver.ts";
import { openEmbedded } from "../../../src/store/driver/embedded.ts";
import { until } from "../../harness/eventually.ts";
import { withTempDir } from "../../harness/folder.ts";
import { rejection } from "../../harness/rejection.ts";
import { addRow, rowsOfThread, type ThreadTask, work } from "./serving-thread.ts";

const mebibyte = 1024 * 1024;
const createTable = statement("CREATE TABLE work (thread INTEGER, n INTEGER, pad TEXT, UNIQUE (thread, n))");

type World = {
  readonly file: string;
  readonly memory: SharedArrayBuffer;
  /** The drivers of as many threads; they may well be in one. */
  readonly drivers: readonly Driver[];
  /** Another process, as far as the database can tell. */
  readonly foreign: Connection;
  start(thread: number, task: ThreadTask["task"]): Worker;
  logBytes(): number;
};

function withServing(threads: number, act: (world: World) => Promise<void>): Promise<void> {
  return withTempDir(async (folder) => {
    const file = `${folder}/tvs.db`;
    const foreign = await openConnection(`${folder}/register.db`);
    // By another name than its own, beside which there is no log.
    symlinkSync(`${folder}/register.db`, file);
    const memory = newCommitLock(threads);
    const drivers: Driver[] = [];
    for (let thread = 0; thread < threads; thread++)
      drivers.push(await openEmbedded({ file, shared: { memory, thread } }));
    const start: World["start"] = (thread, task) =>
      new Worker(new URL("serving-thread.ts", import.meta.url), {
        workerData: { file, memory, thread, task } satisfies ThreadTask,
      });
    try {
      await drivers[0]?.batch([createTable]);
      await act({
        file,
        memory,
        drivers,
        foreign,
        start,
        logBytes: () => statSync(`${folder}/register.db-wal`).size,
      });
    } finally {
      foreign.close();
      for (const driver of drivers) await driver.close();
    }
  });
}

const driverOf = ({ drivers }: World, thread: number) => drivers[thread] as Driver;
const count = async (driver: Driver) => Number((await driver.query("SELECT count(*) AS n FROM work"))[0]?.n);

/** Whether nobody reads in a view of what the log holds. */
function isLogFree(foreign: Connection): boolean {
  // A connection that has not seen the newest commit yet is told at first that the log is busy.
  foreign.all("SELECT 1 FROM work LIMIT 1");
  return Number(foreign.all("PRAGMA wal_checkpoint(RESTART)")[0]?.busy) === 0;
}

/** Rows of some 2 kB, by one driver and the other in turn, each of which always reads in a view. */
async function writeBetweenReads(world: World, mebibytes: number): Promise<number> {
  let most = 0;
  for (let n = 0; n < mebibytes * 16; n++) {
    const [writer, reader] = [driverOf(world, n % 2), driverOf(world, 1 - (n % 2))];
    const from = 1_000_000 * Math.random();
    await writer.batch(Array.from({ length: 32 }, (_, i) => addRow(-1, from + n + i / 100)));
    for (const driver of [writer, reader]) await driver.query("SELECT 1 FROM work LIMIT 1");
    most = Math.max(most, world.logBytes());
  }
  return most;
}

test("threads that commit and read at once lose nothing, always see what is theirs, and never a part of a commit", () =>
  withServing(4, async (world) => {
    const workers = [1, 2, 3].map((thread) => world.start(thread, "work"));
    const told = workers.map((worker) => once(worker, "message") as Promise<[string[]]>);
    const wrong = [await work(driverOf(world, 0), 0), ...(await Promise.all(told)).map(([found]) => found)];
    expect(wrong).toEqual([[], [], [], []]);
    const [row] = world.foreign.all("SELECT count(*) AS n FROM work");
    expect(Number(row?.n)).toBe(4 * rowsOfThread);
  }));

describe("a read view", () => {
  test("is one view of everything until it is renewed, which a thread that reads all the time sees soon", () =>
    withServing(2, async (world) => {
      const [reader, writer] = [driverOf(world, 0), driverOf(world, 1)];
      expect(await count(reader)).toBe(0);
      await writer.batch([addRow(1, 1)]);
      await until(async () => (await count(reader)) === 1);
    }));

  test("ends with the thread's own commit, whoever committed before it", () =>
    withServing(2, async (world) => {
      const [first, second] = [driverOf(world, 0), driverOf(world, 1)];
      expect(await count(first)).toBe(0);
      await second.batch([addRow(1, 1)]);
      await first.batch([addRow(0, 1)]);
      expect(await count(first)).toBe(2);
    }));

  test("is left by a thread that has nothing more to read", () =>
    withServing(1, async (world) => {
      await count(driverOf(world, 0));
      await until(() => isLogFree(world.foreign));
    }));

  test("is left after a read that failed", () =>
    withServing(1, async (world) => {
      const driver = driverOf(world, 0);
      await count(driver);
      expect(await rejection(driver.query("SELECT nothing FROM work"))).toMatchObject({
        code: "STORE_UNAVAILABLE",
      });
      expect(isLogFree(world.foreign)).toBe(true);
      await driver.batch([addRow(0, 1)]);
      expect(await count(driver)).toBe(1);
    }));

  test("is never around a copy", () =>
    withServing(1, async (world) => {
      const driver = driverOf(world, 0);
      await count(driver);
      await driver.copyTo(`${world.file}.copy`);
      expect(statSync(`${world.file}.copy`).size).toBeGreaterThan(0);
    }));
});

describe("the write-ahead log", () => {
  test("begins anew although somebody reads at any time", () =>
    withServing(2, async (world) => {
      expect(await writeBetweenReads(world, 30)).toBeLessThan(9 * mebibyte);
    }));

  test("goes on while another process reads for long, and begins anew afterwards", () =>
    withServing(2, async (world) => {
      world.foreign.exec("BEGIN");
      world.foreign.all("SELECT 1 FROM work LIMIT 1");
      expect(await writeBetweenReads(world, 20)).toBeGreaterThan(20 * mebibyte);
      world.foreign.exec("COMMIT");
      await until(async () => {
        await writeBetweenReads(world, 1);
        return world.logBytes() <= 5 * mebibyte;
      });
    }));
});

test("while another process writes, a thread goes on reading, and commits after it", () =>
  withServing(1, async (world) => {
    const driver = driverOf(world, 0);
    world.foreign.exec("BEGIN IMMEDIATE");
    world.foreign.exec("INSERT INTO work VALUES (9, 9, '')");
    const committed = [driver.batch([addRow(0, 1)]), driver.batch([addRow(0, 2)])];
    expect(await count(driver)).toBe(0);
    world.foreign.exec("COMMIT");
    await Promise.all(committed);
    expect(
      (await driver.query("SELECT thread FROM work ORDER BY rowid")).map((row) => Number(row.thread)),
    ).toEqual([9, 0, 0]);
  }));

test("while another process writes for too long, no commit waits for it longer than the one before", () =>
  withServing(1, async ({ file, memory, foreign, drivers }) => {
    const lockWaitMs = 300;
    const [one, two] = [
      await openEmbedded({ file, shared: { memory, thread: 0, lockWaitMs } }),
      await openEmbedded({ file, shared: { memory, thread: 0, lockWaitMs } }),
    ];
    foreign.exec("BEGIN IMMEDIATE");
    const order: string[] = [];
    const refused = async (driver: Driver, name: string) => {
      expect(await rejection(driver.batch([addRow(0, 1)]))).toMatchObject({ code: "STORE_BUSY" });
      order.push(name);
    };
    const oneAfterTheOther = async () => {
      for (const name of ["first", "second"]) await refused(two, name);
    };
    await Promise.all([oneAfterTheOther(), ...[1, 2, 3, 4].map(() => refused(one, "together"))]);
    expect(order.at(-1)).toBe("second");
    foreign.exec("ROLLBACK");
    await drivers[0]?.batch([addRow(0, 1)]);
    for (const driver of [one, two]) await driver.close();
  }));

test("a thread can tell that another one commits, and use the time", () =>
  withServing(2, async (world) => {
    const driver = driverOf(world, 0);
    const other = openCommitLock(world.memory, 1);
    const seen = [driver.isBusy(), other.take(0), driver.isBusy()];
    other.release();
    expect([...seen, driver.isBusy()]).toEqual([false, true, true, false]);
  }));

describe("a thread that ends", () => {
  test("by an exception gives back its read view and its connection", () =>
    withServing(2, async (world) => {
      const worker = world.start(1, "fail");
      worker.on("error", () => {});
      await new Promise((gone) => worker.once("exit", gone));
      expect(openCommitLock(world.memory, 0).forget(1)).toBe(false);
      expect(isLogFree(world.foreign)).toBe(true);
      await until(async () => (await count(driverOf(world, 0))) === 1);
    }));

  test("while it waits for the lock keeps nobody from it", () =>
    withServing(3, async (world) => {
      const lock = openCommitLock(world.memory, 0);
      expect(lock.take(0)).toBe(true);
      const workers = [1, 2].map((thread) => world.start(thread, "takeLock"));
      const [ended, other] = workers as [Worker, Worker];
      await Promise.all(workers.map((worker) => once(worker, "message")));
      const gone = once(ended, "exit");
      void ended.terminate();
      const answer = once(other, "message") as Promise<[string[]]>;
      lock.release();
      expect((await answer)[0]).toEqual([]);
      await gone;
      expect(lock.forget(1)).toBe(false);
      await driverOf(world, 0).batch([addRow(0, 1)]);
    }));

  test("with the lock is told of, because nobody can take it from it, and who waits gives up", () => {
    const memory = newCommitLock(2);
    const [dead, other] = [openCommitLock(memory, 1), openCommitLock(memory, 0)];
    dead.take(0);
    expect(other.take(1)).toBe(false);
    expect(other.forget(1)).toBe(true);
  });

  test("in a read view is told of, and keeps no restart of the log waiting for it", () => {
    const memory = newCommitLock(2);
    const [dead, other] = [openCommitLock(memory, 1), openCommitLock(memory, 0)];
    expect(dead.enterView()).toBe(true);
    expect([other.hasViews(), other.forget(1), other.hasViews()]).toEqual([true, true, false]);
  });
});
