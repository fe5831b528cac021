/** The supervisor of the serving threads: starts them, replaces one that dies, and ends them together. */

import type { Worker } from "node:worker_threads";
import type { Clock } from "../../src/domain/clock.ts";
import { endsIn } from "../../src/domain/deadline.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { log } from "../../src/logger.ts";
import type { CallsOfThread } from "../../src/metrics/call-relay.ts";
import type { ThreadFigures } from "../../src/metrics/sources.ts";
import { aliveMs, type FromThread, type ToThread } from "./serving-thread.ts";

type ServingThreadsOptions = {
  /** How many there are, the main one included, which is not started here. */
  readonly threads: number;
  /** Starts the thread of a number. */
  start(thread: number): Worker;
  onCalls(batch: CallsOfThread): void;
  /** Told, once, that the process has to be started anew. */
  onLost(error: TvsError): void;
  /**
   * Lets go of what a dead thread had in hand.
   * @returns why the process cannot go on without it; null when it can
   */
  onDeath(thread: number): string | null;
  readonly clock: Clock;
  readonly waits?: Partial<typeof usualWaits>;
};

export type ServingThreads = {
  /** How many serve and how many died, the main one counted among those that serve. */
  figures(): ThreadFigures;
  /** Has the connections of the further ones end, each with its next answer. */
  shed(): void;
  /** Has all of them answer what they have begun to read, and nothing else; resolves when they have. */
  drain(): Promise<void>;
  /** Ends them. */
  close(): Promise<void>;
};

/** Deaths in one minute that are still answered by another thread: more of them have a cause that goes on. */
const maxDeaths = 5;
const minuteMs = 60_000;
/** How long the first replacement waits; each further one of a minute waits twice as long. */
const replaceMs = 50;
/**
 * Looks at which a thread has said nothing until it counts as hanging, half a minute in all: a commit that waits for a
 * slow disk does not take as long. They are counted, and not the time, of which a machine that was suspended loses much.
 */
const maxSilentLooks = 30;
const usualWaits = {
  /** How often is looked whether the threads have said that they are alive. */
  lookMs: aliveMs,
  /** How long a drain may take: a thread cuts off by itself what is left, unless it hangs. */
  drainMs: 9_500,
  /** How long a thread may take to end what it has; nobody waits for an answer by then. */
  closeMs: 3_000,
};

type Thread = {
  readonly worker: Worker;
  readonly serving: PromiseWithResolvers<void>;
  readonly drained: PromiseWithResolvers<void>;
  readonly closed: PromiseWithResolvers<void>;
  isServing: boolean;
  /** Looks since it last said something. */
  silentLooks: number;
  /** Why it ends, by its own words. */
  detail: string | undefined;
};

/**
 * Starts the further threads; resolves when all of them serve.
 * @throws TvsError STORE_UNAVAILABLE with the reason when one of them does not
 */
export async function startServingThreads(options: ServingThreadsOptions): Promise<ServingThreads> {
  const waits = { ...usualWaits, ...options.waits };
  const running = new Map<number, Thread>();
  const timers = new Set<ReturnType<typeof setTimeout>>();
  const recentDeaths: number[] = [];
  let deaths = 0;
  let lastDeathAt: number | null = null;
  let isEnding = false;

  function run(number: number): Thread {
    const thread: Thread = {
      worker: options.start(number),
      serving: Promise.withResolvers(),
      drained: Promise.withResolvers(),
      closed: Promise.withResolvers(),
      isServing: false,
      silentLooks: 0,
      detail: undefined,
    };
    running.set(number, thread);
    thread.serving.promise.catch(() => {});
    thread.worker.on("message", (message: FromThread) => hear(thread, message, options));
    thread.worker.on("error", (error) => {
      thread.detail ??= String(error);
    });
    thread.worker.on("exit", (code) => ended(number, thread, thread.detail ?? `it ended with code ${code}`));
    return thread;
  }

  function ended(number: number, thread: Thread, detail: string): void {
    running.delete(number);
    thread.serving.reject(new TvsError("STORE_UNAVAILABLE", `a serving thread did not start: ${detail}`));
    thread.drained.resolve();
    thread.closed.resolve();
    if (!isEnding) died(number, detail);
  }

  function died(number: number, detail: string): void {
    deaths++;
    lastDeathAt = options.clock.now();
    log.error("a serving thread died; its callers have lost their connections", { thread: number, detail });
    const now = performance.now();
    recentDeaths.push(now);
    while ((recentDeaths[0] ?? now) < now - minuteMs) recentDeaths.shift();
    const fatal =
      options.onDeath(number) ?? (recentDeaths.length > maxDeaths ? "the serving threads keep dying" : null);
    if (fatal === null) replace(number);
    else options.onLost(new TvsError("STORE_UNAVAILABLE", fatal));
  }

  function replace(number: number): void {
    const waitMs = replaceMs * 2 ** (recentDeaths.length - 1);
    const timer = setTimeout(() => {
      timers.delete(timer);
      run(number);
    }, waitMs);
    timers.add(timer);
  }

  /** Nothing is replaced from now on. */
  function end(): Thread[] {
    isEnding = true;
    stopLooking();
    for (const timer of timers) clearTimeout(timer);
    return [...running.values()];
  }

  const stopLooking = watchForSilence(running, { everyMs: waits.lookMs, onLost: options.onLost });

  async function close(): Promise<void> {
    await Promise.all(end().map((thread) => closeThread(thread, waits.closeMs)));
  }

  try {
    const first = Array.from({ length: options.threads - 1 }, (_, index) => run(index + 1));
    await Promise.all(first.map(({ serving }) => serving.promise));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    figures: () => ({
      serving: 1 + [...running.values()].filter(({ isServing }) => isServing).length,
      deaths,
      lastDeathAt,
    }),
    shed: () => tell(running, "shed"),
    async drain() {
      const threads = end();
      tell(running, "drain");
      await endsIn(waits.drainMs, Promise.all(threads.map(({ drained }) => drained.promise)));
    },
    close,
  };
}

/**
 * Tells of a thread that hangs. The kernel goes on to give it its share of the connections, which nobody ever answers; and
 * what it has of the database comes back with the end of the process only.
 * @returns ends it
 */
function watchForSilence(
  running: ReadonlyMap<number, Thread>,
  { everyMs, onLost }: { everyMs: number } & Pick<ServingThreadsOptions, "onLost">,
): () => void {
  const timer = setInterval(() => {
    for (const [number, thread] of running) {
      if (!thread.isServing || ++thread.silentLooks <= maxSilentLooks) continue;
      clearInterval(timer);
      log.error("a serving thread hangs", { thread: number });
      return onLost(new TvsError("STORE_UNAVAILABLE", "a serving thread does not answer any more"));
    }
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

function tell(running: ReadonlyMap<number, Thread>, message: ToThread): void {
  for (const { worker } of running.values()) worker.postMessage(message);
}

function hear(
  thread: Thread,
  message: FromThread,
  { onCalls, onLost }: Pick<ServingThreadsOptions, "onCalls" | "onLost">,
): void {
  thread.silentLooks = 0;
  if (message.kind === "alive") return;
  if (message.kind === "serving") {
    thread.isServing = true;
    thread.serving.resolve();
  } else if (message.kind === "calls") {
    onCalls(message.batch);
    thread.worker.postMessage("taken" satisfies ToThread);
  } else if (message.kind === "lost") onLost(new TvsError("STORE_UNAVAILABLE", message.message));
  else if (message.kind === "failed") thread.detail = message.detail;
  else thread[message.kind].resolve();
}

/** The worker is ended when it has closed its connection, or has taken too long for it. */
async function closeThread({ worker, closed }: Thread, closeMs: number): Promise<void> {
  worker.postMessage("close" satisfies ToThread);
  await endsIn(closeMs, closed.promise);
  await worker.terminate();
}
