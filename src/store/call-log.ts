import {
  type AccessLogFigures,
  type CallKind,
  type CallObserver,
  type CallsOfKinds,
  callKinds,
  describeCall,
  kindOf,
  maxWaiting,
} from "../domain/calls.ts";
import { isoTime } from "../domain/clock.ts";
import { log } from "../log.ts";
import type { CallFiles } from "./call-files.ts";

/** The access log as the service sees it. */
export type CallLog = {
  /** Takes a call to be written. It costs the caller a place in a list. */
  readonly observe: CallObserver;
  /** Counts calls that were lost before they could be taken. */
  miss(calls: CallsOfKinds): void;
  figures(): AccessLogFigures;
  /** Writes what was taken, and ends. It does not wait for long: a service that is told to stop has to. */
  close(): Promise<void>;
};

/** How long calls are gathered before they are written. */
const gatherMs = 200;
/** How often old files are looked for. */
const maintenanceMs = 60_000;
/** How often a lasting loss is told of. */
const tellMs = 60_000;
/** How long the end of the service waits for the disk. */
const closeMs = 2_000;

/** Lines of one kind that wait, and dropped calls of it that its file does not know of. */
type Queue = { lines: string[]; unwritten: number };

/**
 * Keeps the access log: calls are gathered, and appended in the background. Whatever becomes of the disk, a call is only
 * ever taken or dropped.
 */
export function createCallLog(files: CallFiles): CallLog {
  const queues: Record<CallKind, Queue> = {
    partners: { lines: [], unwritten: 0 },
    strangers: { lines: [], unwritten: 0 },
  };
  const counts = { written: 0, dropped: 0 };
  const reporter = createReporter();
  let underWay: Promise<void> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function drop(kind: CallKind, calls: number): void {
    counts.dropped += calls;
    queues[kind].unwritten += calls;
    schedule();
  }

  function schedule(): void {
    if (timer !== undefined || underWay !== undefined) return;
    timer = setTimeout(flush, gatherMs);
    timer.unref?.();
  }

  async function write(kind: CallKind): Promise<void> {
    const queue = queues[kind];
    const { lines, unwritten } = queue;
    if (lines.length === 0 && unwritten === 0) return;
    queue.lines = [];
    const gap = unwritten === 0 ? [] : [JSON.stringify({ time: isoTime(Date.now()), dropped: unwritten })];
    try {
      await files.append(kind, `${[...gap, ...lines].join("\n")}\n`);
      counts.written += lines.length;
      queue.unwritten -= unwritten;
      reporter.tell(null, counts.dropped);
    } catch (error) {
      counts.dropped += lines.length;
      queue.unwritten += lines.length;
      reporter.tell(String(error), counts.dropped);
    }
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    underWay ??= writeAll().finally(() => {
      underWay = undefined;
      if (callKinds.some((kind) => queues[kind].lines.length > 0)) schedule();
    });
    return underWay;
  }

  async function writeAll(): Promise<void> {
    for (const kind of callKinds) await write(kind);
  }

  function maintain(): void {
    void files
      .prune()
      .catch((error) => reporter.tell(String(error), counts.dropped))
      .then(flush);
  }

  const maintenance = setInterval(maintain, maintenanceMs);
  maintenance.unref?.();
  // The folder is there from the start on, and what is wrong with it is known then.
  maintain();

  return {
    observe(call) {
      const kind = kindOf(call);
      const { lines } = queues[kind];
      if (lines.length >= maxWaiting[kind]) return drop(kind, 1);
      lines.push(JSON.stringify(describeCall(call)));
      schedule();
    },
    miss(calls) {
      for (const kind of callKinds) if (calls[kind] > 0) drop(kind, calls[kind]);
    },
    figures: () => ({ ...counts, failure: reporter.failure() }),
    async close() {
      clearInterval(maintenance);
      let timeUp: ReturnType<typeof setTimeout> | undefined;
      const patience = new Promise<void>((resolve) => {
        timeUp = setTimeout(resolve, closeMs);
      });
      // What waits behind an act that is under way is written by the next one.
      await Promise.race([Promise.resolve(underWay).then(flush), patience]);
      clearTimeout(timeUp);
      clearTimeout(timer);
      for (const kind of callKinds) counts.dropped += queues[kind].lines.length;
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
