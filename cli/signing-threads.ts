import { Worker } from "node:worker_threads";
import type { StartSigningWorker } from "../src/signing/thread.ts";

/** How a signing thread is started: by re-entering the program; undefined where there is no program to re-enter. */
export function signingThreads(entry: URL | undefined): StartSigningWorker | undefined {
  if (entry === undefined) return undefined;
  return (data) => new Worker(entry, { workerData: { role: "signer", ...data } });
}
