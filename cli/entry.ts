/** Where a worker thread re-enters the program. */

import { Worker } from "node:worker_threads";
import type { StartSigningWorker } from "../src/signing/thread.ts";

let entry: URL | undefined;

/** Remembers the address of main.ts, which only main.ts knows. */
export function setWorkerEntry(url: URL): void {
  entry = url;
}

export function workerEntry(): URL {
  if (entry === undefined) throw new Error("the program was not started by main.ts");
  return entry;
}

/** The starter of signing threads; undefined where there is no program to re-enter. */
export function signingThreads(entry: URL | undefined): StartSigningWorker | undefined {
  if (entry === undefined) return undefined;
  return (data) => new Worker(entry, { workerData: { role: "signer", ...data } });
}
