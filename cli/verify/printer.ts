/** The output of a run of `tvs verify`: verdicts, their tally and, over large files, the progress. */

import { stat } from "node:fs/promises";
import process from "node:process";
import { createBar, createRate, hasProgress } from "../terminal/progress.ts";
import type { Format } from "./format.ts";
import { emptyTally, type Printer } from "./judge.ts";

type Progress = { add(bytes: number, envelopes: number): void; stop(): void };

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

const flushCharacters = 64 * 1024;

/**
 * Collects lines, because a write for each of a million envelopes would cost more than judging them.
 *
 * @param stdout gives a promise when the reader is slower; the next piece comes after it is fulfilled
 * @param format the form of one verdict
 * @param progress is moved on with the lines that are printed
 */
export function createPrinter(
  stdout: (text: string) => void | Promise<void>,
  format: Format,
  progress: Progress | null,
) {
  const tally = emptyTally();
  let text = "";
  const flush = () => {
    const written = text === "" ? undefined : stdout(text);
    text = "";
    return written;
  };
  const printer: Printer = {
    print(verification, location) {
      tally[verification.verdict]++;
      text += format(verification, location);
      if (text.length > flushCharacters) flush();
    },
    async printLines({ output, tally: more, inputBytes }) {
      tally.valid += more.valid;
      tally.refused += more.refused;
      tally.undecidable += more.undecidable;
      progress?.add(inputBytes, more.valid + more.refused + more.undecidable);
      await flush();
      await stdout(output);
    },
  };
  return { printer, tally, flush };
}
