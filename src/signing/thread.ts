import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Worker } from "node:worker_threads";
import { TvsError } from "../domain/errors.ts";
import { type Job, keyNotLoaded } from "./engine.ts";
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

export type ThreadOptions = {
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
  const side = openMainSide(memory);
  const pending = new Map<number, Pending>();
  let singles = 0;
  let bulks = 0;
  let closing = false;
  let reason = "it ended";
  let alive = true;
  const gone = Promise.withResolvers<Job[]>();

  function publish(slot: number, one: Pending): void {
    pending.set(slot, one);
    side.publish(slot, typeof one === "object" && one.bulk);
  }

  /** Drains the completion ring: settles every job that is done. */
  function collect(): void {
    // What a thread said before its end may arrive after it, when the memory is empty again.
    if (!alive) return;
    for (let slot = side.takeDone(); slot !== undefined; slot = side.takeDone()) {
      const one = pending.get(slot);
      pending.delete(slot);
      if (typeof one === "function") one(side.status(slot));
      else if (one !== undefined) settle(one, slot);
      side.giveBack(slot);
    }
  }

  function settle(job: Job, slot: number): void {
    if (job.bulk) bulks--;
    else singles--;
    const state = side.status(slot);
    if (state === status.done) job.resolve(side.signature(slot));
    else job.reject(refusal(state));
  }

  function command(what: number, key: number, bytes: Uint8Array = new Uint8Array()): Promise<number> {
    if (!alive) return Promise.resolve(status.done);
    const { promise, resolve } = Promise.withResolvers<number>();
    publish(side.writeCommand(what, key, bytes), resolve);
    return Promise.race([promise, gone.promise.then(() => status.done)]);
  }

  const thread: Thread = {
    version,
    signatureMs,
    busy: (bulk) => (bulk ? bulks : singles),
    hasRoom: (bulk) => (bulk ? bulks < bulkRoom : singles < singleRoom),
    submit(job, key) {
      if (job.bulk) bulks++;
      else singles++;
      publish(side.writeJob(job, key), job);
      // What is done by now needs no wake-up of its own.
      if (side.isDone()) collect();
    },
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
      side.stop();
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
    side.hear();
    collect();
    onRoom();
  });
  worker.on("error", (error: Error) => {
    reason = error.message;
  });
  worker.on("exit", () => {
    collect();
    const unfinished = [...pending.values()].filter((one) => typeof one === "object");
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

/** The main thread's side of a shared queue: it fills slots, and puts their numbers into the rings of jobs. */
type MainSide = {
  /** Writes a job into a free slot. @returns the slot, which nobody sees before it is published */
  writeJob(job: Job, key: number): number;
  writeCommand(what: number, key: number, bytes: Uint8Array): number;
  publish(slot: number, isBulk: boolean): void;
  /** Whether a slot is done that was not taken yet. */
  isDone(): boolean;
  takeDone(): number | undefined;
  status(slot: number): number;
  signature(slot: number): string;
  giveBack(slot: number): void;
  /** Takes note of the thread's message: the next thing that is done is worth another one. */
  hear(): void;
  /** Tells the thread to end. */
  stop(): void;
};

function openMainSide(memory: SharedArrayBuffer): MainSide {
  const shared = openSharedQueue(memory);
  const { words } = shared;
  const all = Array.from({ length: slotCount }, (_, slot) => slot);
  const inputs = all.map((slot) => shared.input(slot));
  const outputs = all.map((slot) => {
    const { byteOffset, length } = shared.output(slot);
    return Buffer.from(memory, byteOffset, length);
  });
  const free = [...all];
  const encoder = new TextEncoder();
  let doneHead = 0;

  function takeSlot(): { slot: number; input: Uint8Array } {
    const slot = free.pop();
    const input = inputs[slot ?? -1];
    if (slot === undefined || input === undefined)
      throw new RangeError("the signing thread has no free slot");
    return { slot, input };
  }

  function describe(
    slot: number,
    { what, key, length }: { what: number; key: number; length: number },
  ): void {
    shared.kind[slot] = what;
    shared.key[slot] = key;
    shared.length[slot] = length;
  }

  function ringBell(): void {
    Atomics.add(words, word.bell, 1);
    // A working thread looks by itself; waking costs a system call.
    if (Atomics.load(words, word.sleeping) === 1) Atomics.notify(words, word.bell);
  }

  const isDone = () => doneHead !== Atomics.load(words, word.doneTail);

  return {
    writeJob(job, key) {
      const { slot, input } = takeSlot();
      const { read, written } = encoder.encodeInto(job.input, input);
      const fits = read === job.input.length;
      // A profile can be longer than a slot: then only its hash crosses over.
      if (!fits) input.set(createHash("sha256").update(job.input).digest());
      describe(slot, { what: fits ? kind.sign : kind.signHash, key, length: written });
      return slot;
    },
    writeCommand(what, key, bytes) {
      const { slot, input } = takeSlot();
      input.set(bytes);
      describe(slot, { what, key, length: bytes.length });
      return slot;
    },
    publish(slot, isBulk) {
      const tail = isBulk ? word.bulkTail : word.singleTail;
      const ring = isBulk ? shared.bulk : shared.single;
      ring[Atomics.load(words, tail) & ringMask] = slot;
      Atomics.add(words, tail, 1);
      ringBell();
    },
    isDone,
    takeDone() {
      if (!isDone()) return undefined;
      const slot = shared.done[doneHead & ringMask];
      doneHead = (doneHead + 1) | 0;
      return slot;
    },
    status: (slot) => shared.status[slot] ?? status.failed,
    signature: (slot) => outputs[slot]?.toString("base64url", 0, shared.length[slot]) ?? "",
    giveBack: (slot) => void free.push(slot),
    hear: () => void Atomics.store(words, word.signalled, 0),
    stop() {
      Atomics.store(words, word.stop, 1);
      ringBell();
    },
  };
}
