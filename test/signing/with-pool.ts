import { Worker } from "node:worker_threads";
import type { Job } from "../../src/signing/engine.ts";
import { openPool, type Pool } from "../../src/signing/pool.ts";
import type { StartSigningWorker } from "../../src/signing/thread.ts";
import { secrets } from "../harness/samples.ts";

const entry = new URL("../../cli/main.ts", import.meta.url);

/** A signing thread as `serve` starts it. */
export const start: StartSigningWorker = (data) =>
  new Worker(entry, { workerData: { role: "signer", ...data } });

export type OpenPool = {
  readonly pool: Pool;
  /** Reasons of the replacements so far. */
  readonly replaced: string[];
  /** Reason of the breakdown, when there was one. */
  readonly broken: string[];
  readonly takenOver: Job[];
};

/** A pool that is closed again, whatever happens. */
export async function withPool<T>(
  options: { threadCount?: number; waitAtMost?: number; start?: StartSigningWorker },
  act: (world: OpenPool) => Promise<T>,
): Promise<T> {
  const replaced: string[] = [];
  const broken: string[] = [];
  const takenOver: Job[] = [];
  const pool = await openPool({
    secrets,
    start,
    ...options,
    onReplaced: (reason) => replaced.push(reason),
    onBroken: (reason) => broken.push(reason),
    takeOver: (jobs) => takenOver.push(...jobs),
  });
  try {
    return await act({ pool, replaced, broken, takenOver });
  } finally {
    await pool.close();
  }
}
