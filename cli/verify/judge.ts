/** The judging of `tvs verify`: its sources in order, the lines of large ones on all cores. */

import { type EnvelopeItem, endsAsEnvelope, type Place, readLineBlock } from "../../src/partner/input.ts";
import type { LogProof } from "../../src/partner/log-proof.ts";
import { refuse, type Verdict } from "../../src/partner/reasons.ts";
import { decodeUtf8 } from "../../src/partner/strict-json.ts";
import { unopened, type Verification } from "../../src/partner/verification.ts";
import {
  type SyncVerifyOptions,
  verifyEnvelope,
  verifyEnvelopeSync,
} from "../../src/partner/verify-envelope.ts";
import { type LineBlock, readSource, type Source } from "./files.ts";
import type { Format, Location } from "./format.ts";

/** How many envelopes ended how. */
export type Tally = Record<Verdict, number>;

/** What is to be printed for some lines. */
export type JudgedLines = {
  readonly output: string;
  readonly tally: Tally;
  /** How much of the input this was. */
  readonly inputBytes: number;
};

/** Receives what is to be printed, in the order of the input. */
export type Printer = {
  print(verification: Verification, location: Location): void;
  /** Fulfilled when there is room for more. */
  printLines(judged: JudgedLines): Promise<void>;
};

/** The threads that judge lines. */
export type VerifierThreads = {
  /** How many blocks may be under way; more only take up memory. */
  readonly maxBlocks: number;
  /** @throws Error when a thread died; nothing is then known about the block */
  judge(block: LineBlock, file: string): Promise<JudgedLines>;
  close(): Promise<void>;
};

/** How this run judges. */
export type Judge = {
  readonly options: SyncVerifyOptions;
  /** Every envelope is held against it; there is hardly more than the one that it is of. */
  readonly proof: LogProof | null;
  readonly format: Format;
  /** Starts the threads at the first call; null where one thread has to do. */
  threads(): Promise<VerifierThreads | null>;
};

const nowhere: Place = { line: null, index: null };

export function emptyTally(): Tally {
  return { valid: 0, refused: 0, undecidable: 0 };
}

function judgeItem(item: EnvelopeItem, options: SyncVerifyOptions): Verification {
  return "refusal" in item ? unopened(item.refusal) : verifyEnvelopeSync(item.value, options);
}

async function judgeWithProof(
  item: EnvelopeItem,
  options: SyncVerifyOptions,
  proof: LogProof,
): Promise<Verification> {
  return "refusal" in item ? unopened(item.refusal) : verifyEnvelope(item.value, { ...options, proof });
}

/** The envelopes in one line: mostly one, which is then read only once. */
function readLine(bytes: Uint8Array, lineBefore: number): Iterable<EnvelopeItem> {
  const text = decodeUtf8(bytes);
  return text !== null && endsAsEnvelope(text)
    ? [{ place: { line: lineBefore + 1, index: null }, value: text }]
    : readLineBlock(bytes, { line: lineBefore });
}

/**
 * Judges a block of lines: the inner loop, the same in every thread.
 *
 * @param block the lines, and how many stand before them
 * @param options the key set, what is expected and a synchronous RS256
 * @param printing the file's name, and the form of the output
 */
export function judgeLines(
  { bytes, linesBefore }: LineBlock,
  options: SyncVerifyOptions,
  { file, format }: { file: string; format: Format },
): JudgedLines {
  const tally = emptyTally();
  let output = "";
  for (let start = 0, line = linesBefore; start < bytes.length; line++) {
    const feed = bytes.indexOf(0x0a, start);
    const end = feed === -1 ? bytes.length : feed;
    for (const item of readLine(bytes.subarray(start, end), line)) {
      const verification = judgeItem(item, options);
      tally[verification.verdict]++;
      output += format(verification, { file, place: item.place });
    }
    start = end + 1;
  }
  return { output, tally, inputBytes: bytes.length };
}

/** The blocks of lines that are under way on the threads, printed in the order in which they were read. */
function createQueue(threads: VerifierThreads, file: string, printer: Printer) {
  const underWay: Promise<JudgedLines>[] = [];
  let found = 0;
  const printNext = async () => {
    const judged = await underWay.shift();
    if (judged === undefined) return;
    found += countOf(judged);
    await printer.printLines(judged);
  };
  return {
    async add(block: LineBlock): Promise<void> {
      if (underWay.length >= threads.maxBlocks) await printNext();
      underWay.push(threads.judge(block, file));
    },
    /** Waits for all of them. @returns how many envelopes were found since the last time */
    async drain(): Promise<number> {
      while (underWay.length > 0) await printNext();
      const count = found;
      found = 0;
      return count;
    },
  };
}

function countOf({ tally }: JudgedLines): number {
  return tally.valid + tally.refused + tally.undecidable;
}

/** Judges one file in order. @returns how many envelopes it holds */
async function judgeFile(source: Extract<Source, { chunks: unknown }>, judge: Judge, printer: Printer) {
  const { file, chunks } = source;
  const { options, proof, format } = judge;
  let found = 0;
  let queue: ReturnType<typeof createQueue> | undefined;
  const judgeBlock = async (block: LineBlock) => {
    const threads = await judge.threads();
    if (threads !== null) {
      queue ??= createQueue(threads, file, printer);
      return queue.add(block);
    }
    const judged = judgeLines(block, options, { file, format });
    found += countOf(judged);
    return printer.printLines(judged);
  };
  try {
    for await (const block of readSource(chunks)) {
      if ("bytes" in block && proof === null) {
        await judgeBlock(block);
        continue;
      }
      // What comes after lines is printed after them.
      found += (await queue?.drain()) ?? 0;
      const items = "items" in block ? block.items : readLineBlock(block.bytes, { line: block.linesBefore });
      for (const item of items) {
        found++;
        const verification =
          proof === null ? judgeItem(item, options) : await judgeWithProof(item, options, proof);
        printer.print(verification, { file, place: item.place });
      }
    }
  } finally {
    // Also when the stream breaks off: what was read until then is judged.
    found += (await queue?.drain()) ?? 0;
  }
  return found;
}

/**
 * Judges one file, folder entry or stream.
 *
 * @param source what to read, or the reason why it cannot be read
 * @param judge the key set, what is expected and the threads
 * @param printer receives at least one verdict
 * @throws Error when a thread died
 */
export async function judgeSource(source: Source, judge: Judge, printer: Printer): Promise<void> {
  const location = { file: source.file, place: nowhere };
  if ("reason" in source) return printer.print(unopened(refuse(source.reason)), location);
  try {
    const found = await judgeFile(source, judge, printer);
    if (found === 0) printer.print(unopened(refuse("NO_ENVELOPE")), location);
  } catch (error) {
    if (!isReadError(error)) throw error;
    printer.print(unopened(refuse("FILE_UNREADABLE")), location);
  }
}

/** The file system's errors carry a code; anything else is a fault of this program and must show. */
function isReadError(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
