import { parentPort, type Worker } from "node:worker_threads";
import { type CallFile, type CallLimits, callLimits, openCallFile } from "./call-log-file.ts";
import { storeError } from "./driver/driver.ts";

/** Calls to be written, as JSON, and how many could not be written since the last that were. */
export type CallBatch = { readonly rows: string; readonly dropped: number; readonly close?: true };
/** What became of a batch: whether there is more to prune, or why nothing was written. */
type CallBatchEnd = { readonly more: boolean; readonly failure: string | null };

export type WriteCalls = (batch: CallBatch) => Promise<CallBatchEnd>;

/** How long a file that refused is left alone. */
const restMs = 1_000;

/**
 * Writes batches into the file, and opens it anew when it was moved away; a connection that failed is used again,
 * because each further one would cost descriptors. It never throws: the access log is no reason to end anything.
 */
export function createCallWriter(
  file: string,
  { limits = callLimits, now = Date.now }: { limits?: CallLimits; now?: () => number } = {},
): WriteCalls {
  let open: CallFile | undefined;
  let failure: { readonly text: string; readonly at: number } | undefined;

  function letGo(): void {
    const closing = open;
    open = undefined;
    closing?.close();
  }

  async function write({ rows, dropped }: CallBatch): Promise<boolean> {
    if (open?.isInPlace() === false) letGo();
    open ??= await openCallFile(file, limits);
    const at = now();
    // First, so that a file which has reached its limit has room again.
    const more = open.prune(at);
    if (rows !== "[]" || dropped > 0) open.append(rows, dropped, at);
    return more;
  }

  return async (batch) => {
    if (failure !== undefined && now() - failure.at < restMs && batch.close !== true)
      return { more: false, failure: failure.text };
    try {
      const more = await write(batch);
      failure = undefined;
      if (batch.close === true) letGo();
      return { more, failure: null };
    } catch (error) {
      const { message, detail } = storeError(error);
      failure = { text: `${file}: ${detail ?? message}`, at: now() };
      return { more: false, failure: failure.text };
    }
  };
}

/** The loop of the thread that writes the access log: one batch at a time, in their order. */
export async function runCallWriter({ file }: { file: string }): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("the access log is written in a worker thread only");
  const write = createCallWriter(file);
  port.on("message", (batch: CallBatch) => void write(batch).then((end) => port.postMessage(end)));
  // What is sent before the listener stands may be lost on Deno, so the other side waits for this.
  port.postMessage({ more: false, failure: null } satisfies CallBatchEnd);
}

/**
 * Writes in a thread that runs {@link runCallWriter}: batches are answered in the order in which they were sent.
 *
 * The thread is only ended between two batches: in the middle of one it would take the whole process along.
 */
export function writeCallsInThread(worker: Worker): { write: WriteCalls; end(): Promise<unknown> } {
  const waiting: ((end: CallBatchEnd) => void)[] = [];
  const ready = new Promise<CallBatchEnd>((resolve) => waiting.push(resolve));
  let gone: string | undefined;

  function fail(detail: string): void {
    gone ??= detail;
    for (const resolve of waiting.splice(0)) resolve({ more: false, failure: gone });
  }

  worker.on("message", (end: CallBatchEnd) => waiting.shift()?.(end));
  worker.on("error", (error) => fail(String(error)));
  worker.on("exit", () => fail("the thread that writes the access log has ended"));
  return {
    async write(batch) {
      await ready;
      return new Promise((resolve) => {
        if (gone !== undefined) return resolve({ more: false, failure: gone });
        waiting.push(resolve);
        worker.postMessage(batch);
      });
    },
    async end() {
      if (waiting.length === 0) await worker.terminate();
      else worker.unref();
    },
  };
}
