/** Verifier threads: blocks of lines are judged on all cores, and come back in order. */

import { parentPort, Worker } from "node:worker_threads";
import { createKeySet, type KeySetSources } from "../../src/partner/key-set.ts";
import type { LineBlock } from "./files.ts";
import { formatOf } from "./format.ts";
import { type JudgedLines, judgeLines, type VerifierThreads } from "./judge.ts";
import { openRs256 } from "./rs256.ts";

/** What every thread of a run is told at its start. */
export type VerifierSettings = {
  readonly sources: KeySetSources;
  readonly issuer: string;
  readonly audience: string;
  readonly nowMs: number;
  readonly json: boolean;
  readonly color: boolean;
};

/** One block. A plain buffer, because Deno looks for ports in every element of an array that it receives. */
type Job = { readonly bytes: ArrayBuffer; readonly linesBefore: number; readonly file: string };

type Reply = { readonly ready: true } | { readonly judged: JudgedLines } | { readonly error: string };

/** Enough that no thread ever waits for the next block, and a bound on what is in memory. */
const blocksPerThread = 3;

type Pending = { resolve(judged: JudgedLines): void; reject(error: Error): void };
type VerifierThread = { readonly worker: Worker; readonly pending: Pending[] };

/** Starts one thread and waits until it has read its keys. */
function startThread(
  { entry, settings }: { entry: URL; settings: VerifierSettings },
  onFailure: (error: Error) => void,
): Promise<VerifierThread> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(entry, { workerData: { role: "verifier", ...settings } });
    const thread: VerifierThread = { worker, pending: [] };
    const fail = (error: Error) => {
      reject(error);
      onFailure(error);
    };
    worker.on("message", (reply: Reply) => {
      if ("ready" in reply) resolve(thread);
      else if ("error" in reply) fail(new Error(`a verifier thread failed: ${reply.error}`));
      else thread.pending.shift()?.resolve(reply.judged);
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
  let threads: readonly VerifierThread[] = [];
  let failure: Error | null = null;
  const fail = (error: Error) => {
    failure ??= error;
    for (const { pending } of threads) for (const one of pending.splice(0)) one.reject(failure);
  };
  const start = () => startThread({ entry, settings }, fail);
  threads = await Promise.all(Array.from({ length: count }, start));

  function judge({ bytes, linesBefore }: LineBlock, file: string): Promise<JudgedLines> {
    const thread = threads.reduce((one, other) => (other.pending.length < one.pending.length ? other : one));
    const judged = new Promise<JudgedLines>((resolve, reject) => {
      if (failure !== null) return reject(failure);
      thread.pending.push({ resolve, reject });
      thread.worker.postMessage({ bytes: bytes.buffer, linesBefore, file } satisfies Job);
    });
    // Whoever waits for an earlier block hears of the failure there; this one must not end the program.
    judged.catch(() => {});
    return judged;
  }

  async function close(): Promise<void> {
    failure ??= new Error("the verifier threads are closed");
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
  }

  return { maxBlocks: count * blocksPerThread, judge, close };
}

/**
 * The loop of one thread. An error is told, and then ends the thread's work: a block that was not judged must never
 * look like one without envelopes.
 *
 * @param settings what the command was told
 */
export async function runVerifier(settings: VerifierSettings): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("a verifier runs in a worker thread");
  const { sources, issuer, audience, nowMs } = settings;
  const [keys, verifySignature] = [await createKeySet(sources), await openRs256()];
  const options = { keys, issuer, audience, now: new Date(nowMs), verifySignature };
  const format = formatOf(settings);
  const reply = (message: Reply) => port.postMessage(message);
  port.on("message", ({ bytes, linesBefore, file }: Job) => {
    try {
      reply({ judged: judgeLines({ bytes: new Uint8Array(bytes), linesBefore }, options, { file, format }) });
    } catch (error) {
      reply({ error: String(error) });
    }
  });
  reply({ ready: true });
}
