/** The verifier threads of one run: blocks of lines are judged on all cores, and come back in order. */

import { Worker } from "node:worker_threads";
import type { LineBlock, TakeMemory } from "./files.ts";
import type { Judged } from "./lines.ts";
import type { VerifierAnswer, VerifierJob, VerifierSettings } from "./worker.ts";

/** Enough that no thread ever waits for the next block, and a bound on what is in memory. */
const blocksPerThread = 3;

export type VerifierThreads = {
  /** How many blocks may be under way; more only take up memory. */
  readonly maxBlocks: number;
  /** @throws Error when a thread died; nothing is then known about the block */
  judge(block: LineBlock, file: string): Promise<Judged>;
  /** Memory for a block, or what `giveBack` was given. */
  readonly take: TakeMemory;
  giveBack(memory: Uint8Array<ArrayBuffer>): void;
  close(): Promise<void>;
};

type Waiting = { resolve(judged: Judged): void; reject(error: Error): void };
type Lane = { readonly worker: Worker; readonly waiting: Waiting[] };

/** Memory that was used and may be used again; what cannot be kept is left to the collector. */
function createMemory(maxKept: number): Pick<VerifierThreads, "take" | "giveBack"> {
  const kept: Uint8Array<ArrayBuffer>[] = [];
  return {
    take(size) {
      const last = kept.pop();
      return last !== undefined && last.length >= size ? last : new Uint8Array(size);
    },
    giveBack(memory) {
      if (kept.length < maxKept) kept.push(new Uint8Array(memory.buffer));
    },
  };
}

/** Starts one thread and waits until it has read its keys. */
function startLane(
  { entry, settings }: { entry: URL; settings: VerifierSettings },
  onBlock: (memory: Uint8Array<ArrayBuffer>) => void,
  onFailure: (error: Error) => void,
): Promise<Lane> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(entry, { workerData: { role: "verifier", ...settings } });
    const lane: Lane = { worker, waiting: [] };
    const fail = (error: Error) => {
      reject(error);
      onFailure(error);
    };
    worker.on("message", (answer: VerifierAnswer) => {
      if ("ready" in answer) resolve(lane);
      else if ("error" in answer) fail(new Error(`a verifier thread failed: ${answer.error}`));
      else {
        const { bytes, output, outputLength, tally, inputBytes } = answer;
        onBlock(new Uint8Array(bytes));
        lane.waiting.shift()?.resolve({ output: new Uint8Array(output, 0, outputLength), tally, inputBytes });
      }
    });
    worker.on("error", (error) => fail(new Error(`a verifier thread failed: ${error}`)));
    worker.on("exit", () => fail(new Error("a verifier thread ended before its work was done")));
  });
}

/**
 * Starts the threads.
 *
 * @param entry the program's entry file, which each thread enters again
 * @param settings what the command was told
 * @param count how many threads
 * @throws Error when one cannot start
 */
export async function startVerifiers(
  entry: URL,
  settings: VerifierSettings,
  count: number,
): Promise<VerifierThreads> {
  let lanes: readonly Lane[] = [];
  let failure: Error | null = null;
  const fail = (error: Error) => {
    failure ??= error;
    for (const { waiting } of lanes) for (const one of waiting.splice(0)) one.reject(failure);
  };
  const maxBlocks = count * blocksPerThread;
  const memory = createMemory(maxBlocks * 2);
  const start = () => startLane({ entry, settings }, memory.giveBack, fail);
  lanes = await Promise.all(Array.from({ length: count }, start));

  function judge({ bytes, linesBefore }: LineBlock, file: string): Promise<Judged> {
    const lane = lanes.reduce((one, other) => (other.waiting.length < one.waiting.length ? other : one));
    const job: VerifierJob = {
      bytes: bytes.buffer,
      length: bytes.length,
      linesBefore,
      file,
      memory: memory.take(bytes.length).buffer,
    };
    const judged = new Promise<Judged>((resolve, reject) => {
      if (failure !== null) return reject(failure);
      lane.waiting.push({ resolve, reject });
      lane.worker.postMessage(job, [job.bytes, job.memory]);
    });
    // Whoever waits for an earlier block hears of the failure there; this one must not end the program.
    judged.catch(() => {});
    return judged;
  }

  async function close(): Promise<void> {
    failure ??= new Error("the verifier threads are closed");
    await Promise.all(lanes.map(({ worker }) => worker.terminate()));
  }

  return { maxBlocks, judge, ...memory, close };
}
