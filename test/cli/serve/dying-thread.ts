/** A serving thread of serving-threads.test.ts: the real one, which dies when the test says so. */

import { isMainThread, workerData } from "node:worker_threads";
import { runServingThread, type ServingThreadData } from "../../../cli/serve/serving-thread.ts";
import { openCommitLock } from "../../../src/store/driver/commit-lock.ts";

/** What becomes of a thread, by its number. */
export const dooms = { lives: 0, fails: 1, failsWithLock: 2, hangs: 3, hung: 4 } as const;
export type DyingThreadData = ServingThreadData & { readonly dooms: SharedArrayBuffer };

async function run({ dooms: memory, ...data }: DyingThreadData): Promise<void> {
  const doom = new Int32Array(memory);
  setInterval(() => {
    const own = Atomics.load(doom, data.thread);
    if (own === dooms.lives) return;
    if (own === dooms.hangs) {
      Atomics.store(doom, data.thread, dooms.hung);
      Atomics.wait(doom, data.thread, dooms.hung);
      return;
    }
    if (own === dooms.failsWithLock) openCommitLock(data.memory.commitLock, data.thread).take(1_000);
    throw new Error("doomed");
  }, 5);
  await runServingThread(data);
}

if (!isMainThread) await run(workerData as DyingThreadData);
