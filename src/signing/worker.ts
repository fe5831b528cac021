import { Buffer } from "node:buffer";
import { platform, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import { knownInput, knownKey, proveSigning } from "./known-answer.ts";
import { type Libcrypto, type LoadedKey, openLibcrypto } from "./libcrypto.ts";
import {
  kind,
  openSharedQueue,
  ringMask,
  type SharedQueue,
  slotCount,
  status,
  word,
} from "./shared-queue.ts";

/** What a signing thread is started with. */
export type SigningWorkerData = { readonly memory: SharedArrayBuffer; readonly library: string };
/** The first message of a signing thread: that it can sign, and how fast, or why it cannot. */
export type SigningWorkerGreeting =
  | { readonly version: string; readonly signatureMs: number }
  | { readonly failure: string };

/** The niceness of signing threads: enough that the scheduler lets the event loop in, and far from the background. */
const niceness = 5;
/** While both wait, every fourth signature is a batch's: single checks go first, and batches still move. */
const bulkEvery = 4;
/**
 * One wake-up of the main thread stands for at most this many signatures, and for no more than half of those that
 * still wait: while it acts, this thread has as much to do. Each wake-up finds its caches cold.
 */
const signalAtMost = 16;

/** The signing thread: proves that OpenSSL signs as it must, then works until it is told to stop. */
export async function runSigningWorker({ memory, library }: SigningWorkerData): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("the signing loop runs in a worker thread only");
  const say = (greeting: SigningWorkerGreeting) => port.postMessage(greeting);
  let libcrypto: Libcrypto;
  try {
    libcrypto = await openLibcrypto(library);
    say({ version: libcrypto.version, signatureMs: await tryOut(libcrypto) });
  } catch (error) {
    say({ failure: error instanceof Error ? error.message : String(error) });
    return;
  }
  standBack();
  work(openSharedQueue(memory), libcrypto, () => port.postMessage(null));
}

/**
 * Signing fills the cores; what it is fed by, and whom it answers to, needs little of them, but at once. On Linux a
 * niceness belongs to the thread that sets it. It only ranks the threads: on a machine with room nothing is slower.
 */
function standBack(): void {
  if (platform() !== "linux") return;
  try {
    setPriority(0, niceness);
  } catch {
    // A sandbox may forbid it; then the threads share as before.
  }
}

/**
 * Signs the known input with the known key.
 * @returns how long one signature takes, in milliseconds
 * @throws Error when the signature is not the known one
 */
async function tryOut(libcrypto: Libcrypto): Promise<number> {
  const input = new Uint8Array(Buffer.from(knownInput));
  const output = new Uint8Array(256);
  const buffers = libcrypto.bindBuffers(input, output);
  const key = libcrypto.loadKey(knownKey());
  if (key === null) throw new Error("OpenSSL does not read the test key");
  const signatureMs = await proveSigning("OpenSSL", () => {
    const length = buffers.sign(key, input.length, { hashed: false });
    return Buffer.from(output).toString("base64url", 0, length);
  });
  key.free();
  return signatureMs;
}

/** Takes one job after the other, and sleeps without using the processor when there is none. */
function work(shared: SharedQueue, libcrypto: Libcrypto, signal: () => void): void {
  const { words } = shared;
  const act = createActs(shared, libcrypto);
  let turn = 0;
  let unsignalled = 0;

  /** Jobs that wait in a ring after this one. */
  const waiting = (tail: number, head: number) => (Atomics.load(words, tail) - Atomics.load(words, head)) | 0;

  /** @returns the next slot, or -1 */
  function take(isBulk: boolean): number {
    const [tail, head, ring] = isBulk
      ? ([word.bulkTail, word.bulkHead, shared.bulk] as const)
      : ([word.singleTail, word.singleHead, shared.single] as const);
    if (waiting(tail, head) === 0) return -1;
    const slot = ring[Atomics.load(words, head) & ringMask] as number;
    Atomics.add(words, head, 1);
    return slot;
  }

  function finish(slot: number, left: number): void {
    shared.done[Atomics.load(words, word.doneTail) & ringMask] = slot;
    Atomics.add(words, word.doneTail, 1);
    unsignalled++;
    if (unsignalled < Math.min(signalAtMost, left >> 1)) return;
    unsignalled = 0;
    if (Atomics.exchange(words, word.signalled, 1) === 0) signal();
  }

  while (Atomics.load(words, word.stop) === 0) {
    const bell = Atomics.load(words, word.bell);
    let isBulk = turn % bulkEvery === bulkEvery - 1;
    let slot = take(isBulk);
    if (slot === -1) {
      isBulk = !isBulk;
      slot = take(isBulk);
    }
    if (slot === -1) {
      Atomics.store(words, word.sleeping, 1);
      // Returns at once when the bell was rung since it was read.
      Atomics.wait(words, word.bell, bell);
      Atomics.store(words, word.sleeping, 0);
      continue;
    }
    turn++;
    act.run(slot);
    finish(slot, isBulk ? waiting(word.bulkTail, word.bulkHead) : waiting(word.singleTail, word.singleHead));
  }
  act.freeAll();
}

/** The operations that a slot can ask for. */
type Acts = {
  run(slot: number): void;
  freeAll(): void;
};

function createActs(shared: SharedQueue, libcrypto: Libcrypto): Acts {
  const keys = new Map<number, LoadedKey>();
  // The addresses of the slots are worked out once; the arrays are kept, as their addresses must stay good.
  const slots = Array.from({ length: slotCount }, (_, slot) => {
    const input = shared.input(slot);
    const output = shared.output(slot);
    return { input, output, buffers: libcrypto.bindBuffers(input, output) };
  });

  function sign(slot: number, hashed: boolean): number {
    const key = keys.get(shared.key[slot] as number);
    if (key === undefined) return status.noKey;
    const length = slots[slot]?.buffers.sign(key, shared.length[slot] as number, { hashed }) ?? 0;
    shared.length[slot] = length;
    return length === 0 ? status.failed : status.done;
  }

  function load(slot: number): number {
    const pkcs8 = slots[slot]?.input.subarray(0, shared.length[slot]);
    const key = pkcs8 === undefined ? null : libcrypto.loadKey(pkcs8);
    pkcs8?.fill(0);
    if (key === null) return status.failed;
    keys.set(shared.key[slot] as number, key);
    return status.done;
  }

  function free(id: number): number {
    keys.get(id)?.free();
    return keys.delete(id) ? status.done : status.noKey;
  }

  function act(slot: number): number {
    switch (shared.kind[slot]) {
      case kind.sign:
        return sign(slot, false);
      case kind.signHash:
        return sign(slot, true);
      case kind.loadKey:
        return load(slot);
      case kind.freeKey:
        return free(shared.key[slot] as number);
      default:
        // The memory is not what it was: whatever else it holds must not be signed.
        throw new Error("a signing job of an unknown kind");
    }
  }

  return {
    run(slot) {
      shared.status[slot] = act(slot);
    },
    freeAll() {
      for (const key of keys.values()) key.free();
      keys.clear();
    },
  };
}
