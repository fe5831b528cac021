import { parentPort, workerData } from "node:worker_threads";
import { openCommitLock } from "../../../src/store/driver/commit-lock.ts";
import { createCommits } from "../../../src/store/driver/commits.ts";
import { type Driver, statement } from "../../../src/store/driver/driver.ts";
import { openEmbedded } from "../../../src/store/driver/embedded.ts";

/** What a serving thread of the tests is told. */
export type ThreadTask = {
  readonly file: string;
  readonly memory: SharedArrayBuffer;
  readonly thread: number;
  readonly task: keyof typeof tasks;
};

/** The rows that each thread of {@link work} adds, and how many it adds at once. */
export const rowsOfThread = 600;
const rowsAtOnce = 6;

export const addRow = (thread: number, n: number) =>
  statement("INSERT INTO work (thread, n, pad) VALUES (?, ?, hex(zeroblob(1000)))", [thread, n]);

/** Commits and reads as hard as it can. @returns what it saw wrong, in words */
export async function work(driver: Driver, thread: number): Promise<string[]> {
  const commit = createCommits(driver);
  const wrong: string[] = [];
  for (let n = 0; n < rowsOfThread; n += rowsAtOnce) {
    const acts = Array.from({ length: rowsAtOnce }, (_, i) => commit([addRow(thread, n + i)]));
    await Promise.all(acts);
    const own = await driver.query("SELECT count(*) AS n FROM work WHERE thread = ?", [thread]);
    if (Number(own[0]?.n) !== n + rowsAtOnce)
      wrong.push(`thread ${thread} saw ${own[0]?.n} of ${n + rowsAtOnce}`);
    // Each row was committed with its neighbours, so of any thread a whole number of groups is seen.
    const all = await driver.query("SELECT thread, count(*) AS n FROM work GROUP BY thread");
    for (const row of all) if (Number(row.n) % rowsAtOnce !== 0) wrong.push(`half a group of ${row.thread}`);
  }
  return wrong;
}

async function open({ file, memory, thread }: ThreadTask): Promise<Driver> {
  return openEmbedded({ file, shared: { memory, thread } });
}

const tasks = {
  async work(data: ThreadTask) {
    const driver = await open(data);
    const wrong = await work(driver, data.thread);
    await driver.close();
    return wrong;
  },
  /** Reads, so that it has a read view, commits, reads again and ends by an exception. */
  async fail(data: ThreadTask) {
    const driver = await open(data);
    await driver.query("SELECT 1 FROM work");
    await driver.batch([addRow(data.thread, 0)]);
    await driver.query("SELECT 1 FROM work");
    setTimeout(() => {
      throw new Error("as planned");
    });
    return [];
  },
  async takeLock({ memory, thread }: ThreadTask) {
    parentPort?.postMessage("waits");
    const lock = openCommitLock(memory, thread);
    const isTaken = lock.take(30_000);
    lock.release();
    return isTaken ? [] : ["the lock did not come free"];
  },
} as const;

const data = workerData as ThreadTask | null;
if (data?.task !== undefined && data.task in tasks) parentPort?.postMessage(await tasks[data.task](data));
