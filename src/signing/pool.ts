import { availableParallelism } from "node:os";
import { TvsError } from "../domain/errors.ts";
import { pkcs8Of, type SigningKey } from "../domain/keys.ts";
import type { Secrets } from "../domain/secrets.ts";
import { createSerial } from "../domain/serial.ts";
import { createJobQueue, type Engine, type Job, keyNotLoaded } from "./engine.ts";
import { findLibcrypto } from "./libcrypto.ts";
import { type StartSigningWorker, startThread, type Thread, type ThreadOptions } from "./thread.ts";

type PoolOptions = {
  readonly secrets: Secrets;
  readonly start: StartSigningWorker;
  /** Path of libcrypto; without it, where distributions put it. */
  readonly library?: string | undefined;
  readonly threadCount?: number | undefined;
  readonly waitAtMost?: number | undefined;
  /** A thread died and is being replaced. */
  onReplaced?(reason: string): void;
  /** Threads die faster than it makes sense to replace them; said once. */
  onBroken(reason: string): void;
  /** Takes what a broken pool was asked and has not signed. */
  takeOver(jobs: readonly Job[]): void;
};

/** Threads at most: beyond it the rest of the service is the limit. */
const threadsAtMost = 16;
const deathsAtMost = 3;
const deathsWithinMs = 60_000;

export type Pool = Engine & {
  /** How long one signature takes a thread, in milliseconds, measured at the start. */
  readonly signatureMs: number;
  /** The threads that live, for tests of what happens when one dies. */
  threads(): readonly Thread[];
};

/**
 * The pool of threads that sign through the machine's OpenSSL.
 * @throws Error with the reason when OpenSSL cannot be used here
 */
export async function openPool(options: PoolOptions): Promise<Pool> {
  const library = options.library ?? findLibcrypto();
  if (library === undefined) throw new Error("there is no libcrypto.so.3 on this machine");
  const threadCount = options.threadCount ?? Math.max(1, Math.min(threadsAtMost, availableParallelism()));
  const keys = createPoolKeys(options.secrets);
  let threads: Thread[] = [];
  const dieTooOften = countDeaths();
  let state: "starting" | "open" | "broken" | "closed" = "starting";
  /** The keys change one ring at a time, and a new thread is given them in between. */
  const inTurn = createSerial();

  const queue = createJobQueue((job: Job) => handOver(job, keys.idOf(job.kid), threads), options);
  const threadOptions = { start: options.start, library, onRoom: queue.pump, onDeath };

  function onDeath(thread: Thread, unfinished: Job[], reason: string): void {
    threads = threads.filter((one) => one !== thread);
    queue.putBack(unfinished);
    replace(reason);
  }

  /** Starts another thread in the place of one that died, or gives up when that keeps happening. */
  function replace(reason: string): void {
    if (state !== "open") return;
    if (dieTooOften()) {
      breakDown(reason);
      return;
    }
    options.onReplaced?.(reason);
    queue.pump();
    void inTurn(addThread).catch((error) => replace(error instanceof Error ? error.message : String(error)));
  }

  function breakDown(reason: string): void {
    if (state !== "open") return;
    state = "broken";
    options.onBroken(reason);
    options.takeOver(queue.takeAll());
    void closeThreads().then(options.takeOver);
  }

  const isOver = () => state === "broken" || state === "closed";

  async function addThread(): Promise<void> {
    if (isOver()) return;
    const thread = await startWithKeys(threadOptions, keys);
    if (isOver()) {
      await thread.close();
      return;
    }
    if (!thread.isAlive()) {
      if (state === "starting") throw new Error("a signing thread ended at its start");
      return;
    }
    threads.push(thread);
    queue.pump();
  }

  async function closeThreads(): Promise<Job[]> {
    const closing = threads;
    threads = [];
    keys.clear();
    return (await Promise.all(closing.map((thread) => thread.close()))).flat();
  }

  const signOne = (asked: Omit<Job, "resolve" | "reject">) =>
    new Promise<string>((resolve, reject) => {
      const job = { ...asked, resolve, reject };
      if (state === "broken") options.takeOver([job]);
      else queue.add(job);
    });

  const started = await Promise.allSettled(Array.from({ length: threadCount }, addThread));
  const [first] = threads;
  const failure = started.find((one) => one.status === "rejected");
  if (first === undefined || failure !== undefined) {
    await closeThreads();
    throw failure?.reason ?? new Error("the signing threads ended at their start");
  }
  state = "open";

  return {
    name: "openssl",
    description: `OpenSSL ${first.version}, ${threadCount} ${threadCount === 1 ? "thread" : "threads"}`,
    signatureMs: Math.min(...threads.map((thread) => thread.signatureMs)),
    threads: () => threads,
    load: (ring) => inTurn(() => keys.change(threads, [ring.active, ring.pending])),
    sign: (kid, inputs, signOptions) =>
      Promise.all(inputs.map((input) => signOne({ kid, input, bulk: signOptions?.bulk === true }))),
    async close() {
      state = "closed";
      const waiting = queue.takeAll();
      await inTurn(async () => {});
      refuseAll([...waiting, ...(await closeThreads())]);
    },
  };
}

/** The keys that the threads of a pool hold. */
type PoolKeys = {
  /** The number by which the threads know a key. None is used twice, so a late job cannot meet another key. */
  idOf(kid: string): number | undefined;
  /** Gives a new thread all keys. */
  giveAll(thread: Thread): Promise<void>;
  /** Makes these the keys of all threads; when a thread refuses one, those from before stay. */
  change(threads: readonly Thread[], wanted: readonly SigningKey[]): Promise<void>;
  clear(): void;
};

type PoolKey = { readonly id: number; readonly key: SigningKey };

function createPoolKeys(secrets: Secrets): PoolKeys {
  const keys = new Map<string, PoolKey>();
  let nextId = 1;

  async function give(thread: Thread, all: Iterable<PoolKey>): Promise<void> {
    for (const { id, key } of all) {
      const pkcs8 = pkcs8Of(key, secrets);
      try {
        await thread.loadKey(id, pkcs8);
      } finally {
        pkcs8.fill(0);
      }
    }
  }

  return {
    idOf: (kid) => keys.get(kid)?.id,
    giveAll: (thread) => give(thread, keys.values()),
    async change(threads, wanted) {
      const fresh = wanted.filter((key) => !keys.has(key.kid)).map((key) => ({ id: nextId++, key }));
      try {
        await Promise.all(threads.map((thread) => give(thread, fresh)));
      } catch (error) {
        await free(threads, fresh);
        throw error;
      }
      for (const one of fresh) keys.set(one.key.kid, one);
      const gone = [...keys.values()].filter(({ key }) => wanted.every((one) => one.kid !== key.kid));
      for (const { key } of gone) keys.delete(key.kid);
      await free(threads, gone);
    },
    clear: () => keys.clear(),
  };
}

async function free(threads: readonly Thread[], gone: readonly PoolKey[]): Promise<void> {
  await Promise.all(
    threads.map(async (thread) => {
      for (const { id } of gone) await thread.freeKey(id);
    }),
  );
}

async function startWithKeys(options: ThreadOptions, keys: PoolKeys): Promise<Thread> {
  const thread = await startThread(options);
  try {
    await keys.giveAll(thread);
    return thread;
  } catch (error) {
    await thread.close();
    throw error;
  }
}

function refuseAll(jobs: readonly Job[]): void {
  for (const job of jobs) job.reject(new TvsError("SIGNER_UNAVAILABLE", "the service is being stopped"));
}

/** Counts one death at each call. @returns whether there were too many of late */
function countDeaths(): () => boolean {
  let deaths: number[] = [];
  return () => {
    const now = performance.now();
    deaths = [...deaths.filter((at) => now - at < deathsWithinMs), now];
    return deaths.length > deathsAtMost;
  };
}

/** @returns false when no thread has room for one of its sort */
function handOver(job: Job, key: number | undefined, threads: readonly Thread[]): boolean {
  const thread = leastBusy(threads, job.bulk);
  if (key === undefined) job.reject(keyNotLoaded());
  else if (thread === undefined) return false;
  else thread.submit(job, key);
  return true;
}

/** The thread that has the fewest jobs of one sort among those that have room for one more. */
function leastBusy(threads: readonly Thread[], bulk: boolean): Thread | undefined {
  let best: Thread | undefined;
  for (const thread of threads) {
    if (!thread.hasRoom(bulk)) continue;
    if (best === undefined || thread.busy(bulk) < best.busy(bulk)) best = thread;
  }
  return best;
}
