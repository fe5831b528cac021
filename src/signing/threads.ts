/** The signer threads: each receives a key id and hashes, and returns signatures. */

import { parentPort, type Worker } from "node:worker_threads";
import type { Clock } from "../domain/clock.ts";
import { configureLog, log } from "../logger.ts";
import { concatenateBytes } from "../partner/bytes.ts";
import { laneCount } from "./crypto-mb.ts";
import { hashLength, type SigningInput } from "./engine.ts";
import { type OpensslOptions, openOpenssl } from "./openssl.ts";
import type { SignedGroup, SigningHelper } from "./queue.ts";

type Key = readonly [kid: string, pkcs8: Uint8Array<ArrayBuffer>];

/** A message to a signer thread. The thread answers each `sign`, in order, with a {@link SignerReply}. */
type SignerRequest =
  | { readonly kind: "load"; readonly kid: string; readonly pkcs8: Uint8Array<ArrayBuffer> }
  | { readonly kind: "keep"; readonly kids: ReadonlySet<string> }
  /** The SHA-256 hashes to sign with this key in one call: at most eight, in one array. */
  | { readonly kind: "sign"; readonly kid: string; readonly hashes: Uint8Array };

/** A message from a signer thread: first `ready`, and then each signed group with its signatures in one array. */
type SignerReply = "ready" | { readonly signatures: Uint8Array; readonly signatureMs: number };

export type SignerThreadOptions = {
  readonly count: number;
  start(data: OpensslOptions): Worker;
  readonly data: OpensslOptions;
  readonly clock: Clock;
  /** Makes copies of the keys for a new thread. The copies' memory moves into the thread. */
  keys(): readonly Key[];
};

/** The groups that a thread has at a time. Two wait, so that the thread signs while a commit blocks the main thread. */
const groupsOfThread = 3;
/** The pause between a thread's death and its next start, in milliseconds: a start that fails is not repeated quickly. */
const restartMs = 1_000;

/**
 * Makes signer threads. Each starts only when signatures wait for it, because an idle thread takes 8 MB. A thread that
 * died is started again, and the queue itself makes the dead thread's unmade signatures.
 */
export function createSignerThreads(options: SignerThreadOptions) {
  const died = { deaths: 0, lastDeathAt: null as number | null };

  function onDeath(detail: string): void {
    died.deaths++;
    died.lastDeathAt = options.clock.now();
    log.error("a signer thread died; other threads make its signatures", { detail });
  }

  const threads = Array.from({ length: options.count }, () => createThread(options, onDeath));
  const ready = () => threads.filter(({ isReady }) => isReady());
  return {
    helpers: threads satisfies readonly SigningHelper[],
    /** Loads a key into each running thread. @param copy makes a copy of the key, which is moved into a thread */
    load(kid: string, copy: () => Uint8Array<ArrayBuffer>): void {
      for (const thread of ready()) thread.load([kid, copy()]);
    },
    keep: (kids: ReadonlySet<string>) => {
      for (const thread of ready()) thread.keep(kids);
    },
    figures: () => ({ running: ready().length, ...died }),
    async close(): Promise<void> {
      await Promise.all(threads.map(({ end }) => end()));
    },
  };
}

function createThread({ start, data, keys }: SignerThreadOptions, onDeath: (detail: string) => void) {
  let worker: Worker | null = null;
  let isReady = false;
  let mayStartAtMs = 0;
  const inHand: (PromiseWithResolvers<SignedGroup> & { readonly count: number })[] = [];

  function die(detail: string): void {
    mayStartAtMs = Math.max(mayStartAtMs, performance.now() + restartMs);
    if (mayStartAtMs < Number.POSITIVE_INFINITY) onDeath(detail);
  }

  function run(): Worker {
    const started = start(data);
    let detail = "the thread ended";
    // A late message of an ended thread must not answer a group of the next thread.
    started.on("message", (reply) => worker === started && hear(reply));
    started.on("error", (error) => {
      detail = String(error);
    });
    started.on("exit", () => {
      isReady = false;
      worker = null;
      die(detail);
      for (const { reject } of inHand.splice(0)) reject(new Error(detail));
    });
    return started;
  }

  function hear(reply: SignerReply): void {
    if (reply === "ready") {
      isReady = true;
      for (const key of keys()) load(key);
      return;
    }
    const { count, resolve } = inHand.shift() ?? {};
    if (count) resolve?.({ ...reply, signatures: cut(reply.signatures, reply.signatures.length / count) });
  }

  const order = (given: SignerRequest, moved: ArrayBuffer[] = []) => worker?.postMessage(given, moved);
  const load = ([kid, pkcs8]: Key) => order({ kind: "load", kid, pkcs8 }, [pkcs8.buffer]);

  return {
    isReady: () => isReady,
    load,
    keep: (kids: ReadonlySet<string>) => order({ kind: "keep", kids }),
    // Groups are large, because a message to the thread costs a tenth of a signature's time.
    groupSize: laneCount,
    /** Starts the thread, if it does not run. @returns how many groups the thread can have at a time */
    slots(): number {
      try {
        if (performance.now() >= mayStartAtMs) worker ??= run();
      } catch (error) {
        die(String(error));
      }
      return isReady ? groupsOfThread : 0;
    },
    sign(kid: string, messages: readonly Pick<SigningInput, "hash">[]): Promise<SignedGroup> {
      const group = Promise.withResolvers<SignedGroup>();
      inHand.push({ ...group, count: messages.length });
      order({ kind: "sign", kid, hashes: concatenateBytes(messages.map(({ hash }) => hash)) });
      return group.promise;
    },
    async end(): Promise<void> {
      mayStartAtMs = Number.POSITIVE_INFINITY;
      await worker?.terminate();
    },
  };
}

/** Cuts an array into parts of `size` bytes. Eight separate arrays would take twice as long to copy between threads. */
function cut(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: bytes.length / size }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

/** Runs a signer thread: it answers the main thread's messages. An error ends the thread. */
export async function runSignerThread(data: OpensslOptions): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("this runs in a worker thread only");
  configureLog((line) => process.stderr.write(line), "warning");
  const engine = await openOpenssl(data);

  const reply = (made: SignerReply) => port.postMessage(made);
  port.on("message", (order: SignerRequest) => {
    if (order.kind === "load") return void engine.load(order.kid, order.pkcs8);
    if (order.kind === "keep") return engine.keep(order.kids);
    const startedAt = performance.now();
    const made = engine.sign(
      order.kid,
      cut(order.hashes, hashLength).map((hash) => ({ hash })),
    );
    reply({ signatures: concatenateBytes(made), signatureMs: (performance.now() - startedAt) / made.length });
  });
  reply("ready");
}
