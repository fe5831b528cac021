import {
  type AccessLogFigures,
  type Call,
  type CallKind,
  type CallsOfKinds,
  callKinds,
  describeCall,
  kindOf,
  maxWaiting,
} from "../../domain/calls.ts";
import { isoTime } from "../../domain/clock.ts";
import { endsIn } from "../../domain/deadline.ts";
import { log } from "../../logger.ts";
import type { CallFiles } from "./files.ts";

/** The access log as the service sees it. */
export type CallLog = ReturnType<typeof createCallLog>;

/** How long calls are gathered before they are written. */
const gatherMs = 200;
/** How often old files are looked for, and a loss is told of. */
const maintenanceMs = 60_000;
/** How long the end of the service waits for the disk. */
const closeMs = 2_000;

/**
 * Keeps the access log: calls are gathered, and appended in the background. Whatever becomes of the disk, a call is only
 * ever taken or dropped.
 */
export function createCallLog(files: CallFiles) {
  const waiting: Record<CallKind, string[]> = { partners: [], strangers: [] };
  /** Dropped calls that their file does not know of. */
  const untold = { partners: 0, strangers: 0 };
  const counts = { written: 0, dropped: 0 };
  let told = 0;
  let failure: string | null = null;
  let underWay: Promise<void> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function drop(kind: CallKind, calls: number): void {
    counts.dropped += calls;
    untold[kind] += calls;
  }

  function tell(why: string | null): void {
    if (why !== null && failure === null)
      log.error("the access log cannot be written; calls are dropped from it until it can", { detail: why });
    if (why === null && failure !== null) log.info("the access log is written again", {});
    failure = why;
  }

  function tellLoss(): void {
    const { dropped } = counts;
    if (dropped > told) log.warn("calls are missing from the access log", { dropped });
    told = dropped;
  }

  function schedule(): void {
    if (timer !== undefined || underWay !== undefined) return;
    timer = setTimeout(flush, gatherMs);
    timer.unref?.();
  }

  async function write(kind: CallKind): Promise<void> {
    const [lines, gap] = [waiting[kind], untold[kind]];
    if (lines.length === 0 && gap === 0) return;
    waiting[kind] = [];
    const missing = gap === 0 ? [] : [JSON.stringify({ time: isoTime(Date.now()), dropped: gap })];
    try {
      await files.append(kind, `${[...missing, ...lines].join("\n")}\n`);
      counts.written += lines.length;
      untold[kind] -= gap;
      tell(null);
    } catch (error) {
      drop(kind, lines.length);
      tell(String(error));
    }
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    underWay ??= write("partners")
      .then(() => write("strangers"))
      .finally(() => {
        underWay = undefined;
        if (callKinds.some((kind) => waiting[kind].length > 0)) schedule();
      });
    return underWay;
  }

  function maintain(): void {
    tellLoss();
    void files
      .prune()
      .catch((error) => tell(String(error)))
      .then(flush);
  }

  const maintenance = setInterval(maintain, maintenanceMs);
  maintenance.unref?.();
  // The folder is there from the start on, and what is wrong with it is known then.
  maintain();

  return {
    /** Takes a call to be written. It costs the caller a place in a list. */
    observe(call: Call) {
      const kind = kindOf(call);
      if (waiting[kind].length >= maxWaiting[kind]) return drop(kind, 1);
      waiting[kind].push(JSON.stringify(describeCall(call)));
      schedule();
    },
    /** Counts calls that were lost before they could be taken. */
    miss(calls: CallsOfKinds): void {
      for (const kind of callKinds) drop(kind, calls[kind]);
      schedule();
    },
    figures: (): AccessLogFigures => ({ ...counts, failure }),
    /** Writes what was taken, and ends. It does not wait for long: a service that is told to stop has to. */
    async close(): Promise<void> {
      clearInterval(maintenance);
      // What waits behind an act that is under way is written by the next one.
      const written = Promise.resolve(underWay).then(flush);
      await endsIn(closeMs, written);
      clearTimeout(timer);
      for (const kind of callKinds) drop(kind, waiting[kind].length);
      tellLoss();
    },
  };
}
