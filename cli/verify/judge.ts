/** Judges the sources of `tvs verify` in order, large ones on all cores. */

import { type EnvelopeItem, type Place, readLineBlock } from "../../src/partner/input.ts";
import { refuse } from "../../src/partner/reasons.ts";
import { unopened, type Verification } from "../../src/partner/verification.ts";
import {
  type SyncVerifyOptions,
  type VerifyOptions,
  verifyEnvelope,
} from "../../src/partner/verify-envelope.ts";
import { type Block, type LineBlock, readSource, type Source, type TakeMemory } from "./files.ts";
import { type Judged, judgeLines } from "./lines.ts";
import type { Location, Write } from "./print.ts";
import type { VerifierThreads } from "./threads.ts";

/** Receives what is to be printed, in the order of the input. */
export type Printer = {
  print(verification: Verification, location: Location): void;
  /** Bytes that are not read any more once the promise is fulfilled. */
  printJudged(judged: Judged): Promise<void>;
};

/** How this run judges. */
export type Judge = {
  readonly options: VerifyOptions;
  /** The same with a synchronous RS256, when the machine has one: lines then take the short cut. */
  readonly syncOptions: SyncVerifyOptions | null;
  readonly write: Write;
  /** Starts the threads at the first call; null where one thread has to do. */
  threads(): Promise<VerifierThreads | null>;
};

const batchSize = 64;
const nowhere: Place = { line: null, index: null };

async function judgeItem(item: EnvelopeItem, options: VerifyOptions): Promise<Verification> {
  return "refusal" in item ? unopened(item.refusal) : verifyEnvelope(item.value, options);
}

/** Judges candidates in batches, so that memory stays bounded however many there are. */
async function judgeItems(
  items: Iterable<EnvelopeItem>,
  options: VerifyOptions,
  print: (verification: Verification, place: Place) => void,
): Promise<void> {
  let batch: EnvelopeItem[] = [];
  const finish = async () => {
    const verdicts = await Promise.all(batch.map((item) => judgeItem(item, options)));
    for (const [index, verdict] of verdicts.entries()) print(verdict, batch[index]?.place ?? nowhere);
    batch = [];
  };
  for (const item of items) if (batch.push(item) === batchSize) await finish();
  await finish();
}

/** The blocks of lines that are under way on the threads, printed in the order in which they were read. */
function createQueue(threads: VerifierThreads, file: string, printer: Printer) {
  const underWay: Promise<Judged>[] = [];
  let found = 0;
  const printNext = async () => {
    const next = underWay.shift();
    if (next === undefined) return;
    const judged = await next;
    found += countOf(judged);
    await printer.printJudged(judged);
    threads.giveBack(judged.output);
  };
  return {
    async add(block: LineBlock): Promise<void> {
      if (underWay.length >= threads.maxBlocks) await printNext();
      underWay.push(threads.judge(block, file));
    },
    /** Waits for all of them. @returns how many envelopes were found in all */
    async drain(): Promise<number> {
      while (underWay.length > 0) await printNext();
      return found;
    },
  };
}

function countOf({ tally }: Judged): number {
  return tally.valid + tally.refused + tally.undecidable;
}

function freshMemory(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(size);
}

/** Judges one file in order. @returns how many envelopes it holds */
async function judgeFile(source: Extract<Source, { chunks: unknown }>, judge: Judge, printer: Printer) {
  const { file, chunks } = source;
  const { options, syncOptions, write } = judge;
  let found = 0;
  // In a list, because the compiler does not follow a variable that a function below changes.
  const queues: ReturnType<typeof createQueue>[] = [];
  const drain = async () => {
    for (const queue of queues.splice(0)) found += await queue.drain();
  };
  const print = (verification: Verification, place: Place) => {
    found++;
    printer.print(verification, { file, place });
  };
  const judgeBlock = async (block: Block) => {
    if ("items" in block) {
      // What comes after lines is printed after them.
      await drain();
      return judgeItems(block.items, options, print);
    }
    if (syncOptions === null) {
      const counter = { line: block.linesBefore };
      return judgeItems(readLineBlock(block.bytes, counter), options, print);
    }
    const threads = await judge.threads();
    if (threads !== null) {
      if (queues.length === 0) queues.push(createQueue(threads, file, printer));
      return queues[0]?.add(block);
    }
    const judged = judgeLines(block, syncOptions, { file, write, memory: freshMemory(block.bytes.length) });
    found += countOf(judged);
    return printer.printJudged(judged);
  };
  let take: TakeMemory = freshMemory;
  try {
    for await (const block of readSource(chunks, (size) => take(size))) {
      await judgeBlock(block);
      if (queues.length > 0) take = (await judge.threads())?.take ?? take;
    }
  } finally {
    // Also when the stream breaks off: what was read until then is judged.
    await drain();
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
