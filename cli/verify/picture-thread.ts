/** Reads the codes of pictures in a thread of their own, within a time and a memory that no picture can exceed. */

import process from "node:process";
import { Worker } from "node:worker_threads";
import type { PictureAnswer, readyForPictures } from "./picture-reader.ts";

/** What one file may take. */
export type PictureLimits = {
  readonly deadlineMs: number;
  /** By how much the whole process may grow; the program itself takes up to 80 MiB, of 512. */
  readonly growthBytes: number;
};

const mebibyte = 1024 * 1024;
/** A slow machine reads a certificate's page in some seconds, and a photograph of 20 million pixels fits. */
export const pictureLimits: PictureLimits = { deadlineMs: 30_000, growthBytes: 408 * mebibyte };
const watchMs = 10;

export type PictureThread = {
  /** What the codes of this file and of those before it say, or why they say nothing. The bytes are given away. */
  read(bytes: Uint8Array): Promise<PictureAnswer>;
  /** Ends the thread without waiting: a native call in it may go on for a while, until the process ends. */
  close(): void;
};

const advice = "crop the picture to the codes, or give one of each code";

/** Calls back once, when the time is over or the memory exceeded. @returns ends the watch */
function watch({ deadlineMs, growthBytes }: PictureLimits, onExceeded: (problem: string) => void) {
  const startMs = performance.now();
  const startBytes = process.memoryUsage.rss();
  const timer = setInterval(() => {
    if (performance.now() - startMs > deadlineMs)
      onExceeded(`reading it took too long, more than ${deadlineMs / 1000} s; ${advice}`);
    else if (process.memoryUsage.rss() - startBytes > growthBytes)
      onExceeded(`reading it took too much memory, more than 512 MiB; ${advice}`);
  }, watchMs);
  return () => clearInterval(timer);
}

/**
 * Starts the thread.
 *
 * @param entry the program's entry file, which the thread enters again
 * @param limits what each file may take
 */
export function startPictureThread(entry: URL, limits: PictureLimits): PictureThread {
  const worker = new Worker(entry, { workerData: { role: "picture-reader" } });
  const ready = new Promise<void>((resolve, reject) => {
    worker.once("message", (_: typeof readyForPictures) => resolve());
    worker.once("error", reject);
  });

  async function read(bytes: Uint8Array): Promise<PictureAnswer> {
    await ready;
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        endWatch();
        worker.removeAllListeners();
        // Whatever a thread that is being ended still says is of no interest.
        worker.on("error", () => {});
        settle();
      };
      const endWatch = watch(limits, (problem) => finish(() => resolve({ problem })));
      worker.once("message", (answer: PictureAnswer) => finish(() => resolve(answer)));
      worker.once("error", (error) => finish(() => reject(error)));
      worker.once("exit", () => finish(() => reject(new Error("the thread that reads pictures ended"))));
      worker.postMessage(bytes);
    });
  }

  return { read, close: () => void worker.terminate() };
}
