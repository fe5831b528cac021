import { availableParallelism } from "node:os";
import { TvsError } from "../domain/errors.ts";
import { pkcs8Of, type SigningKey } from "../domain/keys.ts";
import type { Secrets } from "../domain/secrets.ts";
import { createSerial } from "../domain/serial.ts";
import { type Engine, keyNotLoaded } from "./engine.ts";
import { createJobQueue, type Job } from "./job-queue.ts";
import { findLibcrypto } from "./libcrypto.ts";
import { type StartSigningWorker, startThread, type Thread } from "./thread.ts";

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

/** Beyond this many threads the rest of the service is the limit. */
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
  /** The loaded keys by kid. An id is never used twice, so a late job cannot meet another key. */
  const keys = new Map<string, { readonly id: number; readonly key: SigningKey }>();
  let nextId = 1;
  let threads: Thread[] = [];
  let deaths: number[] = [];
  let state: "starting" | "open" | "broken" | "closed" = "starting";
  /** The keys change one ring at a time, and a new thread is given them in between. */
  const inTurn = createSerial();

  const queue = createJobQueue((job: Job) => {
    const known = keys.get(job.kid);
    if (known === undefined) {
      job.reject(keyNotLoaded());
      return true;
    }
    const thread = leastBusy(threads, job.bulk);
    if (thread === undefined) return false;
    thread.submit(job, known.id);
    return true;
  }, options);

  const threadOptions = { start: options.start, library, onRoom: queue.pump, onDeath };

  function onDeath(thread: Thread, unfinished: Job[], reason: string): void {
    threads = threads.filter((one) => one !== thread);
    queue.putBack(unfinished);
    replace(reason);
  }

  /** Starts another thread in the place of one that died, or gives up when that keeps happening. */
  function replace(reason: string): void {
    if (state !== "open") return;
    const now = performance.now();
    deaths = [...deaths.filter((at) => now - at < deathsWithinMs), now];
    if (deaths.length > deathsAtMost) {
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
    const thread = await startThread(threadOptions);
    try {
      for (const { id, key } of keys.values()) await give(thread, id, key);
    } catch (error) {
      await thread.close();
      throw error;
    }
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

  async function give(thread: Thread, id: number, key: SigningKey): Promise<void> {
    const pkcs8 = pkcs8Of(key, options.secrets);
    try {
      await thread.loadKey(id, pkcs8);
    } finally {
      pkcs8.fill(0);
    }
  }

  async function load(wanted: readonly SigningKey[]): Promise<void> {
    const fresh = wanted.filter((key) => !keys.has(key.kid)).map((key) => ({ id: nextId++, key }));
    try {
      await Promise.all(
        threads.map(async (thread) => {
          for (const { id, key } of fresh) await give(thread, id, key);
        }),
      );
    } catch (error) {
      await forget(fresh.map(({ id }) => id));
      throw error;
    }
    for (const one of fresh) keys.set(one.key.kid, one);
    const gone = [...keys.values()].filter(({ key }) => wanted.every((one) => one.kid !== key.kid));
    for (const { key } of gone) keys.delete(key.kid);
    await forget(gone.map(({ id }) => id));
  }

  async function forget(ids: readonly number[]): Promise<void> {
    await Promise.all(
      threads.map(async (thread) => {
        for (const id of ids) await thread.freeKey(id);
      }),
    );
  }

  async function closeThreads(): Promise<Job[]> {
    const closing = threads;
    threads = [];
    keys.clear();
    return (await Promise.all(closing.map((thread) => thread.close()))).flat();
  }

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
    load: (ring) => inTurn(() => load([ring.active, ring.pending])),
    sign: (kid, input, signOptions) =>
      new Promise((resolve, reject) => {
        const job = { kid, input, bulk: signOptions?.bulk === true, resolve, reject };
        if (state === "broken") options.takeOver([job]);
        else queue.add(job);
      }),
    async close() {
      state = "closed";
      const waiting = queue.takeAll();
      await inTurn(async () => {});
      for (const job of [...waiting, ...(await closeThreads())]) {
        job.reject(new TvsError("SIGNER_UNAVAILABLE", "the service is being stopped"));
      }
    },
  };
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
