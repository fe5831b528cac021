import type { AccessLogFigures, Call, CallObserver } from "../domain/calls.ts";
import { log } from "../log.ts";
import { type CallRow, callRow } from "./call-log-file.ts";
import type { CallBatch, WriteCalls } from "./call-log-writer.ts";

/** The access log as the service sees it. */
export type CallLog = {
  /** Takes a call to be written. It costs the caller a place in a list. */
  readonly observe: CallObserver;
  /** Counts calls that were lost before they could be taken. */
  miss(calls: number): void;
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
const maintenanceMs = 60_000;
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
  const queue = createCallQueue(write);
  let underWay: Promise<void> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosing = false;

  function observe(call: Call): void {
    queue.add(call);
    if (queue.length() === batchRows) flush();
    else schedule();
  }

  function schedule(): void {
    if (timer !== undefined || underWay !== undefined || isClosing) return;
    timer = setTimeout(flush, queue.length() < batchRows ? gatherMs : 0);
    timer.unref?.();
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    // What comes while it is closed is written by the end of it.
    if (isClosing) return;
    underWay ??= queue.send().finally(() => {
      underWay = undefined;
      if (queue.length() > 0 || queue.isMoreToDelete()) schedule();
    });
  }

  async function writeRest(): Promise<void> {
    await underWay;
    while (queue.length() > batchRows) await queue.send();
    await queue.send({ close: true });
  }

  const maintenance = setInterval(flush, maintenanceMs);
  maintenance.unref?.();
  // The file is there from the start on, and what is wrong with it is known then.
  flush();

  return {
    observe,
    miss(calls) {
      if (calls === 0) return;
      queue.drop(calls);
      schedule();
    },
    figures: queue.figures,
    async close() {
      isClosing = true;
      clearInterval(maintenance);
      clearTimeout(timer);
      let timeUp: ReturnType<typeof setTimeout> | undefined;
      const patience = new Promise<void>((resolve) => {
        timeUp = setTimeout(resolve, closeMs);
      });
      await Promise.race([writeRest(), patience]);
      clearTimeout(timeUp);
      queue.giveUp();
      await end();
    },
  };
}

/** Calls that wait to be written, and the count of what became of the others. */
type CallQueue = {
  length(): number;
  /** Whether old calls are left to be deleted. */
  isMoreToDelete(): boolean;
  figures(): ReturnType<CallLog["figures"]>;
  add(call: Call): void;
  drop(calls: number): void;
  /** Hands the next batch over; it may be an empty one. */
  send(last?: Pick<CallBatch, "close">): Promise<void>;
  /** Drops what still waits, and says so. */
  giveUp(): void;
};

function createCallQueue(write: WriteCalls): CallQueue {
  let waiting: CallRow[] = [];
  const counts = { written: 0, dropped: 0 };
  /** Dropped calls that the file does not know of. */
  let unwritten = 0;
  let isMore = false;
  const reporter = createReporter();

  function drop(calls: number): void {
    counts.dropped += calls;
    unwritten += calls;
  }

  return {
    length: () => waiting.length,
    isMoreToDelete: () => isMore,
    figures: () => ({ ...counts, failure: reporter.failure() }),
    add(call) {
      if (waiting.length >= maxWaiting) drop(1);
      else waiting.push(callRow(call));
    },
    drop,
    async send(last = {}) {
      const rows = waiting.slice(0, batchRows);
      waiting = waiting.slice(batchRows);
      const dropped = unwritten;
      const { more, failure } = await write({ rows: JSON.stringify(rows), dropped, ...last });
      if (failure === null) {
        counts.written += rows.length;
        unwritten -= dropped;
      } else drop(rows.length);
      reporter.tell(failure, counts.dropped);
      isMore = more;
    },
    giveUp() {
      drop(waiting.length);
      reporter.tellLast(counts.dropped);
    },
  };
}

/** What the service's log is told: a failure once, that it is over once, and a loss once a minute at most. */
type Reporter = {
  tell(failure: string | null, dropped: number): void;
  /** What was told last; null when all is well. */
  failure(): string | null;
  /** Tells of a loss whenever the last one was told. */
  tellLast(dropped: number): void;
};

function createReporter(): Reporter {
  let failure: string | null = null;
  let told = { dropped: 0, at: 0 };

  function tell(why: string | null, dropped: number): void {
    if (why !== null && failure === null)
      log.error("the access log cannot be written; calls are dropped from it until it can", { detail: why });
    if (why === null && failure !== null) log.info("the access log is written again", {});
    failure = why;
    const now = performance.now();
    if (dropped === told.dropped || (told.at !== 0 && now - told.at < tellMs)) return;
    log.warn("calls are missing from the access log", { dropped });
    told = { dropped, at: now };
  }

  return {
    tell,
    failure: () => failure,
    tellLast(dropped) {
      told.at = 0;
      tell(failure, dropped);
    },
  };
}
