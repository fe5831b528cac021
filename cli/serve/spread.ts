/**
 * Whether one thread has all connections, and the others only sign for it, or all of them have their share.
 *
 * Where few call, one is better by half: what waits at once is committed together, no other thread's commit empties its
 * page cache, and signatures come in groups. So the first has them all, until its processor, its commits or its places
 * are nearly spent. A client notices `Connection: close` in one answer.
 */
import { readFileSync } from "node:fs";
import type { Listener } from "../../src/http/listen.ts";
import { openSteering, type Steering } from "../../src/http/port-steering.ts";
import { createWarning } from "../../src/http/warning.ts";
import { log } from "../../src/logger.ts";

/** Shares of what there is, 1 for all of it, since the last look. */
export type Load = {
  /** The processor time that the main thread took, of one processor. */
  readonly mainCpu: number;
  /** What all threads took, of one processor. */
  readonly allCpu: number;
  /** The time for which the database was locked by a commit. */
  readonly commits: number;
  /** What the main thread's listener has of the connections and the memory that it may have. */
  readonly places: number;
};

type SpreadOptions = {
  readonly threads: number;
  readonly listener: Pick<Listener, "port" | "tlsPort" | "shed" | "usedShare">;
  /** Has the further threads' connections end. */
  shedOthers(): void;
  /** For how long commits have locked the database, in milliseconds since the start. */
  commitMs(): number;
};

const lookMs = 500;
/** From here on the thread has no rest to speak of, or its connections no room; two looks of it are no accident. */
const busy = { cpu: 0.93, commits: 0.8, places: 0.5, looks: 2 };
/**
 * What one thread may have in hand: it costs less than at all of them, because others sign for it and none of them empties
 * its cache. Where that was wrong, twice as many looks are asked for the next time.
 */
const quiet = { cpu: 1.6, commits: 0.75, places: 0.25, looks: 10, mostLooks: 1_200 };

/** Says, from look to look, who is to have the connections; the first, to begin with. */
export function createSpreadJudge(threads: number): (load: Load) => "first" | "all" {
  let to: "first" | "all" = "first";
  let [looks, looksAtFirst, patience] = [0, 0, quiet.looks / 2];

  function afterFirst({ mainCpu, commits, places }: Load): void {
    looksAtFirst++;
    const isBusy = mainCpu >= busy.cpu || commits >= busy.commits || places >= busy.places;
    looks = isBusy ? looks + 1 : 0;
    if (looks < busy.looks) return;
    to = "all";
    looks = 0;
    patience = looksAtFirst > patience ? quiet.looks : Math.min(quiet.mostLooks, patience * 2);
  }

  /** The main thread has its part of the connections. */
  function afterAll({ allCpu, commits, places }: Load): void {
    const isQuiet = allCpu <= quiet.cpu && commits <= quiet.commits && places * threads <= quiet.places;
    looks = isQuiet ? looks + 1 : 0;
    if (looks < patience) return;
    to = "first";
    looks = 0;
    looksAtFirst = 0;
  }

  return (load) => {
    if (to === "first") afterFirst(load);
    else afterAll(load);
    return to;
  };
}

/**
 * Begins with all connections at the main thread, which calls this before any other listens, and deals them out to all
 * while it is busy. Where the system cannot, the kernel deals them out all the time.
 * @returns ends it
 */
export async function watchSpread(options: SpreadOptions): Promise<() => void> {
  const { listener } = options;
  const ports = [listener.port, listener.tlsPort].filter((port) => port !== null);
  const steering = readCpuMs() === null ? null : await openSteering(ports);
  if (steering === null) return () => {};
  steering("first");
  const timer = setInterval(createLook(steering, createMeasure(options), options), lookMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** One look. What fails in a timer would end the process: connections stay where they are, and the next look tries again. */
export function createLook(
  steering: Steering,
  measure: () => Load,
  options: Pick<SpreadOptions, "threads" | "shedOthers"> & { readonly listener: Pick<Listener, "shed"> },
): () => void {
  const judge = createSpreadJudge(options.threads);
  const warn = createWarning("connections cannot be dealt out to other threads");
  let to: "first" | "all" = "first";
  return () => {
    try {
      const load = measure();
      const next = judge(load);
      if (next === to) return;
      turn(steering, next, options);
      to = next;
      log.debug("connections", { to, ...load });
    } catch (error) {
      warn({ detail: String(error) });
    }
  };
}

/** From now on others get the new connections, and those that there are end. */
function turn(
  steering: Steering,
  to: "first" | "all",
  { listener, shedOthers }: Parameters<typeof createLook>[2],
): void {
  steering(to);
  if (to === "all") listener.shed();
  else shedOthers();
}

function createMeasure({ listener, commitMs }: SpreadOptions): () => Load {
  const read = () => {
    const { user, system } = process.cpuUsage();
    const allMs = (user + system) / 1_000;
    return { nowMs: performance.now(), mainMs: readCpuMs() ?? 0, allMs, commitMs: commitMs() };
  };
  let before = read();
  return () => {
    const [from, now] = [before, read()];
    before = now;
    const share = (name: "mainMs" | "allMs" | "commitMs") =>
      (now[name] - from[name]) / (now.nowMs - from.nowMs);
    const places = listener.usedShare();
    return { mainCpu: share("mainMs"), allCpu: share("allMs"), commits: share("commitMs"), places };
  };
}

/** The processor time of this thread so far, in milliseconds; null where the system does not tell. */
function readCpuMs(): number | null {
  try {
    const [nanoseconds = ""] = readFileSync("/proc/thread-self/schedstat", "utf8").split(" ");
    return Number(nanoseconds) / 1e6;
  } catch {
    return null;
  }
}
