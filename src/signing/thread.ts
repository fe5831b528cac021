import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Worker } from "node:worker_threads";
import { TvsError } from "../domain/errors.ts";
import { keyNotLoaded } from "./engine.ts";
import type { Job } from "./job-queue.ts";
import {
  bulkRoom,
  inputBytes,
  kind,
  newQueueMemory,
  openSharedQueue,
  ringMask,
  singleRoom,
  slotCount,
  status,
  word,
} from "./shared-queue.ts";
import type { SigningWorkerData, SigningWorkerGreeting } from "./worker.ts";

/** Starts a thread of the program that runs the signing loop. */
export type StartSigningWorker = (data: SigningWorkerData) => Worker;

/** One signing thread, seen from the main thread. */
export type Thread = {
  readonly version: string;
  /** Milliseconds that one signature takes. */
  readonly signatureMs: number;
  /** Jobs that it has in hand. */
  busy(bulk: boolean): number;
  hasRoom(bulk: boolean): boolean;
  submit(job: Job, key: number): void;
  /** @throws TvsError SIGNER_UNAVAILABLE when OpenSSL does not take the key; returns when the thread is gone */
  loadKey(key: number, pkcs8: Uint8Array): Promise<void>;
  freeKey(key: number): Promise<void>;
  isAlive(): boolean;
  /** Ends the thread after the job in hand. @returns those it had not begun */
  close(): Promise<Job[]>;
  /** Ends it at once, as a fault would. */
  terminate(): void;
};

type ThreadOptions = {
  readonly start: StartSigningWorker;
  readonly library: string;
  /** There is room again. */
  onRoom(): void;
  /** The thread is gone though nobody closed it; `unfinished` are the jobs it had. */
  onDeath(thread: Thread, unfinished: Job[], reason: string): void;
};

/** What a slot is used for: a job, or a command about a key, whose outcome somebody awaits. */
type Pending = Job | ((state: number) => void);

const startWithinMs = 5_000;
const closeWithinMs = 2_000;

/**
 * Starts a thread and waits until it has proved that it signs.
 * @throws Error with the reason why it cannot
 */
export async function startThread(options: ThreadOptions): Promise<Thread> {
  const memory = newQueueMemory();
  const worker = options.start({ memory, library: options.library });
  try {
    const greeting = await greetingOf(worker);
    if ("failure" in greeting) throw new Error(greeting.failure);
    return createThread(worker, memory, greeting, options);
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}

function greetingOf(worker: Worker): Promise<SigningWorkerGreeting> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error("the signing thread does not start")), startWithinMs);
    const settle = (act: () => void) => {
      clearTimeout(late);
      worker.removeAllListeners();
      act();
    };
    worker.on("message", (greeting: SigningWorkerGreeting) => settle(() => resolve(greeting)));
    worker.on("error", (error: Error) => settle(() => reject(error)));
    worker.on("exit", () => settle(() => reject(new Error("the signing thread ended at its start"))));
  });
}

function createThread(
  worker: Worker,
  memory: SharedArrayBuffer,
  { version, signatureMs }: { version: string; signatureMs: number },
  { onRoom, onDeath }: ThreadOptions,
): Thread {
  const shared = openSharedQueue(memory);
  const { words } = shared;
  const slots = Array.from({ length: slotCount }, (_, slot) => ({
    input: shared.input(slot),
    output: Buffer.from(memory, shared.output(slot).byteOffset, shared.output(slot).length),
  }));
  const free = slots.map((_, slot) => slot);
  const pending = new Array<Pending | undefined>(slotCount).fill(undefined);
  const encoder = new TextEncoder();
  let singles = 0;
  let bulks = 0;
  let doneHead = 0;
  let closing = false;
  let reason = "it ended";
  let alive = true;
  const gone = Promise.withResolvers<Job[]>();

  function publish(slot: number, isBulk: boolean): void {
    const [tail, ring] = isBulk
      ? ([word.bulkTail, shared.bulk] as const)
      : ([word.singleTail, shared.single] as const);
    ring[Atomics.load(words, tail) & ringMask] = slot;
    Atomics.add(words, tail, 1);
    ringBell();
  }

  function ringBell(): void {
    Atomics.add(words, word.bell, 1);
    // A working thread looks by itself; waking costs a system call.
    if (Atomics.load(words, word.sleeping) === 1) Atomics.notify(words, word.bell);
  }

  /** Drains the completion ring: settles every job that is done. */
  function collect(): void {
    // What a thread said before its end may arrive after it, when the memory is empty again.
    if (!alive) return;
    for (; doneHead !== Atomics.load(words, word.doneTail); doneHead = (doneHead + 1) | 0) {
      const slot = shared.done[doneHead & ringMask] as number;
      const one = pending[slot] as Pending;
      const state = shared.status[slot] as number;
      pending[slot] = undefined;
      free.push(slot);
      if (typeof one === "function") {
        one(state);
        continue;
      }
      if (one.bulk) bulks--;
      else singles--;
      if (state === status.done) one.resolve(signatureIn(slot));
      else one.reject(refusal(state));
    }
  }

  function signatureIn(slot: number): string {
    return (slots[slot] as { output: Buffer }).output.toString("base64url", 0, shared.length[slot]);
  }

  function write(slot: number, job: Job, key: number): void {
    const { input } = slots[slot] as { input: Uint8Array };
    const { read, written } = encoder.encodeInto(job.input, input);
    const fits = read === job.input.length;
    shared.key[slot] = key;
    shared.kind[slot] = fits ? kind.sign : kind.signHash;
    shared.length[slot] = written;
    // A profile can be longer than a slot: then only its hash crosses over.
    if (!fits) input.set(createHash("sha256").update(job.input).digest());
  }

  function submit(job: Job, key: number): void {
    const slot = free.pop() as number;
    write(slot, job, key);
    pending[slot] = job;
    if (job.bulk) bulks++;
    else singles++;
    publish(slot, job.bulk);
    // What is done by now needs no wake-up of its own.
    if (Atomics.load(words, word.doneTail) !== doneHead) collect();
  }

  function command(what: number, key: number, bytes: Uint8Array = new Uint8Array()): Promise<number> {
    if (!alive) return Promise.resolve(status.done);
    const slot = free.pop() as number;
    const { input } = slots[slot] as { input: Uint8Array };
    input.set(bytes);
    shared.kind[slot] = what;
    shared.key[slot] = key;
    shared.length[slot] = bytes.length;
    const outcome = new Promise<number>((resolve) => {
      pending[slot] = resolve;
    });
    publish(slot, false);
    return Promise.race([outcome, gone.promise.then(() => status.done)]);
  }

  const thread: Thread = {
    version,
    signatureMs,
    busy: (bulk) => (bulk ? bulks : singles),
    hasRoom: (bulk) => (bulk ? bulks < bulkRoom : singles < singleRoom),
    submit,
    async loadKey(key, pkcs8) {
      if (pkcs8.length > inputBytes || (await command(kind.loadKey, key, pkcs8)) !== status.done) {
        throw new TvsError("SIGNER_UNAVAILABLE", "OpenSSL does not read the signing key");
      }
    },
    async freeKey(key) {
      await command(kind.freeKey, key);
    },
    isAlive: () => alive,
    async close() {
      closing = true;
      Atomics.store(words, word.stop, 1);
      ringBell();
      const late = setTimeout(() => void worker.terminate(), closeWithinMs);
      const unfinished = await gone.promise;
      clearTimeout(late);
      return unfinished;
    },
    terminate() {
      reason = "it was terminated";
      void worker.terminate();
    },
  };

  worker.on("message", () => {
    Atomics.store(words, word.signalled, 0);
    collect();
    onRoom();
  });
  worker.on("error", (error: Error) => {
    reason = error.message;
  });
  worker.on("exit", () => {
    collect();
    const unfinished = pending.filter((one) => typeof one === "object");
    // Whatever it was doing, no key and no input stays behind.
    new Uint8Array(memory).fill(0);
    alive = false;
    gone.resolve(unfinished);
    if (!closing) onDeath(thread, unfinished, reason);
  });
  return thread;
}

function refusal(state: number): TvsError {
  if (state === status.noKey) return keyNotLoaded();
  return new TvsError("SIGNER_UNAVAILABLE", "OpenSSL could not sign; try again");
}
