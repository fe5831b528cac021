/** The loop of a verifier thread: blocks of lines come in, what is to be printed for them goes out. */

import { parentPort } from "node:worker_threads";
import { createKeySet, type KeySetSources } from "../../src/partner/key-set.ts";
import { chooseEngine } from "./engine.ts";
import { type Judged, judgeLines } from "./lines.ts";
import { writeOf } from "./print.ts";

/** What every thread of a run is told at its start. */
export type VerifierSettings = {
  readonly sources: KeySetSources;
  readonly issuer: string;
  readonly audience: string;
  readonly nowMs: number;
  readonly json: boolean;
  readonly color: boolean;
};

/**
 * One block, from the beginning of `bytes`; both memories belong to the thread until it answers. Plain buffers
 * with their lengths, because Deno looks for ports in every element of an array that it receives.
 */
export type VerifierJob = {
  readonly bytes: ArrayBuffer;
  readonly length: number;
  readonly linesBefore: number;
  readonly file: string;
  readonly memory: ArrayBuffer;
};

export type VerifierAnswer =
  | { readonly ready: true }
  | (Pick<Judged, "tally" | "inputBytes"> & {
      readonly bytes: ArrayBuffer;
      readonly output: ArrayBuffer;
      readonly outputLength: number;
    })
  | { readonly error: string };

/**
 * Runs the loop. An error is told, and then ends the thread's work: a block that was not judged must never
 * look like one without envelopes.
 *
 * @param settings what the command was told
 */
export async function runVerifier(settings: VerifierSettings): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("a verifier runs in a worker thread");
  const { sources, issuer, audience } = settings;
  const engine = chooseEngine();
  if (engine === null) throw new Error("no synchronous RS256 in this thread");
  const { verifySignature } = engine;
  const keys = await createKeySet(sources);
  const options = { keys, issuer, audience, now: new Date(settings.nowMs), verifySignature };
  const write = writeOf(settings);
  port.on("message", ({ bytes, length, linesBefore, file, memory }: VerifierJob) => {
    try {
      const block = { bytes: new Uint8Array(bytes, 0, length), linesBefore };
      const judged = judgeLines(block, options, { file, write, memory: new Uint8Array(memory) });
      const output = judged.output.buffer;
      const answer = { ...judged, bytes, output, outputLength: judged.output.length };
      port.postMessage(answer satisfies VerifierAnswer, [output, bytes]);
    } catch (error) {
      port.postMessage({ error: String(error) } satisfies VerifierAnswer);
    }
  });
  port.postMessage({ ready: true } satisfies VerifierAnswer);
}
