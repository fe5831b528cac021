/** The output of a run of `tvs verify`: verdicts, their tally and, over large files, the progress. */

import { stat } from "node:fs/promises";
import process from "node:process";
import type { Verdict } from "../../src/partner/reasons.ts";
import { type Bar, createBar, hasProgress } from "../terminal/progress.ts";
import type { Bytes } from "./files.ts";
import type { AnyVerification, Format, Location } from "./format.ts";

/** How many envelopes ended how. */
export type Tally = Record<Verdict, number>;

/** Receives what is to be printed, in the order of the input. */
export type Printer = {
  print(verification: AnyVerification, location: Location): void;
  /** Fulfilled when there is room for more. */
  makeRoom(): Promise<void>;
  /** The same bytes; the progress goes by how much of them was asked for. */
  watched(chunks: Bytes): Bytes;
};

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
export async function createProgress(paths: readonly string[]): Promise<Bar | null> {
  if (!hasProgress() || process.stdout.isTTY === true) return null;
  const totalBytes = await sizeOf(paths);
  if (totalBytes === null || totalBytes < leastBytes) return null;
  return createBar({ label: "verifying", unit: "envelopes", total: totalBytes });
}

const flushCharacters = 64 * 1024;

/**
 * Collects lines, because a write for each of a million envelopes would cost more than judging them.
 *
 * @param stdout gives a promise when the reader is slower; the next piece comes after it is fulfilled
 * @param format the form of one verdict
 * @param progress is moved on with the bytes that are read
 */
export function createPrinter(
  stdout: (text: string) => void | Promise<void>,
  format: Format,
  progress: Bar | null,
) {
  const tally: Tally = { valid: 0, refused: 0, undecidable: 0 };
  let text = "";
  let bytes = 0;
  const flush = async () => {
    const piece = text;
    text = "";
    if (piece !== "") await stdout(piece);
  };
  async function* watched(chunks: Bytes): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      progress?.show(bytes, { counted: tally.valid + tally.refused + tally.undecidable });
      yield chunk;
    }
  }
  const printer: Printer = {
    print(verification, location) {
      tally[verification.verdict]++;
      text += format(verification, location);
    },
    makeRoom: async () => (text.length > flushCharacters ? flush() : undefined),
    watched,
  };
  return { printer, tally, flush };
}
