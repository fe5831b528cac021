/**
 * The thread that copies and checks a database, which keeps a thread busy to the end, while the main one shows the
 * progress.
 */

import { stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, Worker } from "node:worker_threads";
import { type ErrorCode, isTvsError, TvsError } from "../../src/domain/errors.ts";
import { type BackupFacts, inspectBackup, makeBackup } from "../../src/store/driver/backup.ts";
import { openEmbedded } from "../../src/store/driver/embedded.ts";
import { createBar, createRate, hasProgress } from "../terminal/progress.ts";

/** The smallest database that gets a progress bar; smaller ones are done before it is read. */
const leastBytes = 32 * 1024 * 1024;
const lookMs = 200;

export type BackupThreadData = {
  readonly source: string | null;
  readonly file: string;
  /** Whether a backup may replace an existing file. */
  readonly replace?: boolean;
};

type Message =
  | { readonly facts: BackupFacts }
  | { readonly error: { readonly code: ErrorCode | null; readonly message: string } };

/** @param data with a `source` a backup of it is made; without, the backup `file` is checked */
async function runBackup({ source, file, replace }: BackupThreadData): Promise<BackupFacts> {
  if (source === null) return inspectBackup(file);
  // Neither migrated nor unlocked: a backup before an upgrade, or without the master key, is one too.
  const driver = await openEmbedded({ file: source });
  try {
    return await makeBackup(driver, file, replace);
  } finally {
    await driver.close();
  }
}

export async function runBackupThread(data: BackupThreadData): Promise<void> {
  const answer = (message: Message) => parentPort?.postMessage(message);
  try {
    answer({ facts: await runBackup(data) });
  } catch (error) {
    answer({ error: { code: isTvsError(error) ? error.code : null, message: (error as Error).message } });
  }
}

/**
 * Makes or checks a backup, with a progress bar where that is worth it.
 * @param entry where a worker thread re-enters the program
 */
export async function backUp(entry: URL, data: BackupThreadData): Promise<BackupFacts> {
  const total = await sizeOf(data.source ?? data.file);
  if (!hasProgress() || total < leastBytes) return runBackup(data);
  const worker = new Worker(entry, { workerData: { role: "backup", ...data } });
  const done = new Promise<Message>((resolve) => {
    const fail = (message: string) => resolve({ error: { code: null, message } });
    worker.on("message", resolve);
    worker.on("error", (error) => fail(String(error)));
    worker.on("exit", () => fail("the copying thread stopped"));
  });
  const message = await shownUntil(done, data, total);
  await worker.terminate();
  if ("facts" in message) return message.facts;
  const { code, message: text } = message.error;
  throw code === null ? new Error(text) : new TvsError(code, text);
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => null))?.size ?? 0;
}

/**
 * The progress of a backup until it ends: the copy by its size, the check by its seconds, because nothing tells more.
 */
async function shownUntil(done: Promise<Message>, data: BackupThreadData, total: number): Promise<Message> {
  let message: Message | undefined;
  const ended = done.then((one) => {
    message = one;
  });
  if (data.source !== null) {
    const bar = createBar({ label: "copying", total });
    const rate = createRate("MB");
    let [before, unchanged] = [0, 0];
    // Pages that were free are not copied, so the copy may end short of the total: it has when it no longer grows.
    while (message === undefined && before < total && unchanged < 3) {
      await Promise.race([ended, sleep(lookMs)]);
      const bytes = await sizeOf(`${data.file}.partial`);
      // Nothing is there any more once it has its final name.
      if (bytes < before) break;
      unchanged = bytes > 0 && bytes === before ? unchanged + 1 : 0;
      before = bytes;
      bar.show(bytes, rate(bytes));
    }
    bar.stop();
  }
  const startedAt = performance.now();
  while (message === undefined) {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    process.stderr.write(`\rchecking every page, ${seconds} s\u001b[K`);
    await Promise.race([ended, sleep(lookMs)]);
  }
  process.stderr.write("\r\u001b[K");
  return message;
}
