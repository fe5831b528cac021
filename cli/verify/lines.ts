/** Judges whole lines into the bytes to print: the inner loop of `tvs verify`, the same in every thread. */

import { Buffer } from "node:buffer";
import { readLineBlock } from "../../src/partner/input.ts";
import type { Verdict } from "../../src/partner/reasons.ts";
import { unopened } from "../../src/partner/verification.ts";
import { type SyncVerifyOptions, verifyEnvelopeSync } from "../../src/partner/verify-envelope.ts";
import { verifyLineSync } from "../../src/partner/verify-line.ts";
import type { LineBlock } from "./files.ts";
import type { Output, Write } from "./print.ts";

/** How many envelopes ended how. */
export type Tally = Record<Verdict, number>;

/** What is to be printed for some lines. */
export type Judged = {
  readonly output: Uint8Array<ArrayBuffer>;
  readonly tally: Tally;
  /** How much of the input this was. */
  readonly inputBytes: number;
};

const encoder = new TextEncoder();

export function emptyTally(): Tally {
  return { valid: 0, refused: 0, undecidable: 0 };
}

/** Collects text as bytes, in memory that grows and is used again. */
function createOutput(memory: Uint8Array<ArrayBuffer>): Output & { written(): Uint8Array<ArrayBuffer> } {
  let bytes = memory;
  let used = 0;
  function reserve(more: number): void {
    const needed = used + more;
    if (needed <= bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, bytes.length * 2));
    grown.set(bytes.subarray(0, used));
    bytes = grown;
  }
  return {
    append(text: string): void {
      // UTF-8 needs at most three bytes for each unit of a JavaScript text.
      reserve(text.length * 3);
      used += encoder.encodeInto(text, bytes.subarray(used)).written;
    },
    appendBytes(more: Uint8Array): void {
      reserve(more.length);
      bytes.set(more, used);
      used += more.length;
    },
    written: () => bytes.subarray(0, used),
  };
}

/**
 * Judges a block of lines.
 *
 * @param block the lines, and how many stand before them
 * @param options the key set, what is expected and a synchronous RS256
 * @param printing the file's name, the form of the output, and memory for it
 */
export function judgeLines(
  block: LineBlock,
  options: SyncVerifyOptions,
  printing: { file: string; write: Write; memory: Uint8Array<ArrayBuffer> },
): Judged {
  const { bytes } = block;
  const { file, write } = printing;
  const output = createOutput(printing.memory);
  const tally = emptyTally();
  const latin1 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
  const lines = { bytes, latin1 };
  let line = block.linesBefore;
  for (let start = 0; start < bytes.length; ) {
    const feed = bytes.indexOf(0x0a, start);
    const end = feed === -1 ? bytes.length : feed;
    const verdict = verifyLineSync(lines, start, end, options);
    if (verdict !== null) {
      tally[verdict.verification.verdict]++;
      const location = { file, place: { line: line + 1, index: null } };
      write(output, verdict, location);
    } else {
      for (const item of readLineBlock(bytes.subarray(start, end), { line })) {
        const verification =
          "refusal" in item ? unopened(item.refusal) : verifyEnvelopeSync(item.value, options);
        tally[verification.verdict]++;
        write(output, { verification }, { file, place: item.place });
      }
    }
    line++;
    start = end + 1;
  }
  return { output: output.written(), tally, inputBytes: bytes.length };
}
