import type { Worker } from "node:worker_threads";
import type { AccessLogFigures, Call, CallObserver } from "../domain/calls.ts";
import { log } from "../log.ts";
import { type CallRow, callRow } from "./call-log-file.ts";
import type { CallBatch, CallBatchEnd, WriteCalls } from "./call-log-writer.ts";

/** The access log as the service sees it. */
export type CallLog = {
  /** Takes a call to be written. It costs the caller a place in a list. */
  readonly observe: CallObserver;
  figures(): AccessLogFigures;
  /** Writes what was taken, and ends. It does not wait for long: a service that is told to stop has to. */
  close(): Promise<void>;
};

/** Calls that wait to be written; further ones are dropped and counted. */
const maxWaiting = 20_000;
/** Calls in one commit. */
const batchRows = 2_000;
/** How long calls are gathered before they are written: more commits a second would cost the answers their caches. */
const gatherMs = 200;
/** How often old calls are looked for while nobody calls. */
const upkeepMs = 60_000;
/** How often a lasting loss is told of. */
const tellMs = 60_000;
/** How long the end of the service waits for the file. */
const closeMs = 2_000;

/**
 * Keeps the access log: calls are gathered and handed to who writes them, one batch at a time. Whatever becomes of the
 * file, a call is only ever taken or dropped.
 * @param write hands a batch to the thread, and tells what became of it
 * @param end ends the thread
 */
export function createCallLog({ write, end }: { write: WriteCalls; end(): Promise<unknown> }): CallLog {
  let waiting: CallRow[] = [];
  let underWay: Promise<void> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const counts = { written: 0, dropped: 0 };
  /** Dropped calls that the file does not know of, and those that the log was told of. */
  let unwritten = 0;
  let told = { dropped: 0, at: 0 };
  let failure: string | null = null;
  /** Whether old calls are left to be deleted. */
  let isMore = false;
  let isClosing = false;

  function observe(call: Call): void {
    if (waiting.length >= maxWaiting) drop(1);
    else waiting.push(callRow(call));
    if (waiting.length === batchRows) flush();
    else schedule();
  }

  function drop(calls: number): void {
    counts.dropped += calls;
    unwritten += calls;
  }

  function schedule(): void {
    if (timer !== undefined || underWay !== undefined || isClosing) return;
    timer = setTimeout(flush, waiting.length < batchRows ? gatherMs : 0);
    timer.unref?.();
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    // What comes while it is closed is written by the end of it.
    if (isClosing) return;
    underWay ??= send().finally(() => {
      underWay = undefined;
      if (waiting.length > 0 || isMore) schedule();
    });
  }

  async function send(last: Pick<CallBatch, "close"> = {}): Promise<void> {
    const rows = waiting.slice(0, batchRows);
    waiting = waiting.slice(batchRows);
    const dropped = unwritten;
    const { more, failure: why }: CallBatchEnd = await write({
      rows: JSON.stringify(rows),
      dropped,
      ...last,
    });
    if (why === null) {
      counts.written += rows.length;
      unwritten -= dropped;
    } else drop(rows.length);
    tell(why);
    isMore = more;
  }

  /** Says a failure once, that it is over once, and a loss once a minute at most. */
  function tell(why: string | null): void {
    if (why !== null && failure === null)
      log.error("the access log cannot be written; calls are dropped from it until it can", { detail: why });
    if (why === null && failure !== null) log.info("the access log is written again", {});
    failure = why;
    const now = performance.now();
    if (counts.dropped === told.dropped || (told.at !== 0 && now - told.at < tellMs)) return;
    log.warn("calls are missing from the access log", { dropped: counts.dropped });
    told = { dropped: counts.dropped, at: now };
  }

  async function writeRest(): Promise<void> {
    await underWay;
    while (waiting.length > batchRows) await send();
    await send({ close: true });
  }

  const upkeep = setInterval(flush, upkeepMs);
  upkeep.unref?.();
  // The file is there from the start on, and what is wrong with it is known then.
  flush();

  return {
    observe,
    figures: () => ({ ...counts, failure }),
    async close() {
      isClosing = true;
      clearInterval(upkeep);
      clearTimeout(timer);
      let timeUp: ReturnType<typeof setTimeout> | undefined;
      const patience = new Promise<void>((resolve) => {
        timeUp = setTimeout(resolve, closeMs);
      });
      await Promise.race([writeRest(), patience]);
      clearTimeout(timeUp);
      drop(waiting.length);
      told.at = 0;
      tell(failure);
      await end();
    },
  };
}

/**
 * The other end of call-writer.ts: batches are answered in the order in which they were sent.
 *
 * The thread is only ended between two batches: in the middle of one it would take the whole process along.
 */
export function writeInThread(worker: Worker): { write: WriteCalls; end(): Promise<unknown> } {
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
