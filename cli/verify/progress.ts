/** The progress of `tvs verify` over large files, on a terminal. */

import { stat } from "node:fs/promises";
import process from "node:process";
import { createBar, createRate, hasProgress } from "../terminal/progress.ts";

export type Progress = { add(bytes: number, envelopes: number): void; stop(): void };

/** Less than this is judged before anybody has read the bar. */
const leastBytes = 32 * 1024 * 1024;

/** The size of all inputs; null when one of them is no file and nobody knows how much will come. */
async function sizeOf(paths: readonly string[]): Promise<number | null> {
  let bytes = 0;
  for (const path of paths) {
    const about = path === "-" ? null : await stat(path).catch(() => null);
    if (!about?.isFile()) return null;
    bytes += about.size;
  }
  return bytes;
}

/**
 * Shows how far the lines of large inputs are judged. Nothing is shown where it would disturb: without a
 * terminal, or when the verdicts themselves go to it.
 *
 * @param paths what is to be judged
 */
export async function createProgress(paths: readonly string[]): Promise<Progress | null> {
  if (!hasProgress() || process.stdout.isTTY === true) return null;
  const totalBytes = await sizeOf(paths);
  if (totalBytes === null || totalBytes < leastBytes) return null;
  const bar = createBar({ label: "verifying", total: totalBytes });
  const rate = createRate("envelopes");
  let [doneBytes, envelopes] = [0, 0];
  return {
    add(bytes, more) {
      doneBytes += bytes;
      envelopes += more;
      bar.show(doneBytes, rate(envelopes));
    },
    stop: bar.stop,
  };
}
