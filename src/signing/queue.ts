import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { TvsError } from "../domain/errors.ts";
import type { Engine, SigningInput } from "./engine.ts";

type Call = {
  readonly kid: string;
  readonly inputs: readonly string[];
  /** Signatures of single checks are made before those of batches. */
  readonly kind: "single" | "bulk";
  readonly signatures: string[];
  readonly settled: PromiseWithResolvers<string[]>;
  /** How many signatures a thread has begun or made, in the order of the inputs, and how many are not yet made. */
  taken: number;
  left: number;
};

/** Signatures with one key that a thread makes in one call of its engine. */
type Group = { readonly kid: string; readonly jobs: { readonly call: Call; readonly index: number }[] };

/** While single checks and batches wait, every fourth signature is a batch's, so that batches are not starved. */
const bulkEvery = 4;
/** From so many unmade signatures of batches on, the threads stay busy while a commit waits for the next batches. */
const deepQueue = 256;

/** Keeps the calls that wait for signatures: single checks and batches, each in the order of their arrival. */
function createCalls() {
  const open = new Set<Call>();
  const waiting: Record<Call["kind"], Call[]> = { single: [], bulk: [] };
  const left = { single: 0, bulk: 0 };
  let [untaken, taken] = [0, 0];

  function next(): Call | undefined {
    const [single, bulk] = [waiting.single[0], waiting.bulk[0]];
    return taken % bulkEvery === bulkEvery - 1 ? (bulk ?? single) : (single ?? bulk);
  }

  return {
    /** How many signatures no thread has begun. */
    untaken: () => untaken,
    /** How many signatures of single checks, and of batches, are not yet made. */
    left,
    add(asked: Pick<Call, "kid" | "inputs" | "kind">): Promise<string[]> {
      const { length } = asked.inputs;
      const settled = Promise.withResolvers<string[]>();
      const call = { ...asked, signatures: new Array(length), settled, taken: 0, left: length };
      open.add(call);
      waiting[call.kind].push(call);
      left[call.kind] += length;
      untaken += length;
      return settled.promise;
    },
    /** Takes up to `size` signatures that no thread has begun, all with the first one's key. */
    take(size: number): Group {
      const kid = next()?.kid ?? "";
      const jobs: Group["jobs"] = [];
      for (let call = next(); call?.kid === kid && jobs.length < size; call = next()) {
        jobs.push({ call, index: call.taken++ });
        untaken--;
        taken++;
        if (call.taken === call.inputs.length) waiting[call.kind].shift();
      }
      return { kid, jobs };
    },
    settle({ jobs }: Group, signatures: readonly Uint8Array[]): void {
      for (const [at, { call, index }] of jobs.entries()) {
        if (!open.has(call)) continue;
        call.signatures[index] = Buffer.from(signatures[at] as Uint8Array).toString("base64url");
        left[call.kind]--;
        if (--call.left > 0) continue;
        open.delete(call);
        call.settled.resolve(call.signatures);
      }
    },
    /** Rejects whole calls, and drops those of their signatures that no thread has begun. */
    fail(calls: Iterable<Call>, error: unknown): void {
      for (const call of calls) {
        if (!open.delete(call)) continue;
        untaken -= call.inputs.length - call.taken;
        left[call.kind] -= call.left;
        waiting[call.kind] = waiting[call.kind].filter((one) => one !== call);
        call.settled.reject(error);
      }
    },
    open: (): readonly Call[] => [...open],
  };
}

/** The signatures of one group, and the milliseconds that each of them took. */
export type SignedGroup = { readonly signatures: readonly Uint8Array[]; readonly signatureMs: number };

/** A signer outside the queue's own thread, such as a signer thread. */
export type SigningHelper = {
  /** The most signatures in one group. */
  readonly groupSize: number;
  /** How many groups it may have at a time; 0 while it cannot sign. */
  slots(): number;
  /** @throws Error if it could not sign; the queue then signs the group in its own thread, if it can */
  sign(kid: string, messages: readonly SigningInput[]): Promise<SignedGroup>;
};

export type QueueOptions = Pick<Engine, "groupSize" | "signatureMs"> & {
  readonly helpers: readonly SigningHelper[];
  /** Signs in the queue's own thread; null if only helpers sign. */
  readonly inPlace: ((kid: string, messages: readonly SigningInput[]) => Uint8Array[]) | null;
  /** How many threads make signatures now. A thread that has not started, or cannot, shortens no wait. */
  parallel(): number;
};

/** A group of at least this many signatures takes no longer than the same signatures one by one. */
export const minGroupSize = 4;
/** A call is refused if its first signature would begin later than this, in milliseconds. */
const waitAtMostMs = 2_000;
/** The weight of a new measurement in the average; `outlier` times the average caps it, because the machine may pause. */
const [weight, outlier] = [1 / 16, 4];

/**
 * Makes the queue of a service's signatures. Idle helpers make waiting signatures. The others, and one that waits alone,
 * are made in the queue's own thread ("in place"): one group in each turn of the event loop, which also has to serve I/O.
 */
export function createSigningQueue({ helpers, inPlace, groupSize, parallel, signatureMs }: QueueOptions) {
  const calls = createCalls();
  const hands = helpers.map((helper) => ({ helper, groups: 0, signatures: 0 }));
  let averageMs = signatureMs;
  let isScheduled = false;

  const takeGroup = (size: number) =>
    calls.take(calls.untaken() >= minGroupSize * Math.min(parallel(), 2) ? size : 1);

  function settle(group: Group, { signatures, signatureMs: ms }: SignedGroup): void {
    averageMs += (Math.min(ms, outlier * averageMs) - averageMs) * weight;
    calls.settle(group, signatures);
  }

  /** Signs a group in place. If only helpers sign, the group's calls fail with `helperError` instead. */
  function signHere(group: Group, helperError?: unknown): void {
    const startedAt = performance.now();
    try {
      if (inPlace === null) throw helperError;
      const signatures = inPlace(group.kid, messagesOf(group));
      settle(group, { signatures, signatureMs: (performance.now() - startedAt) / signatures.length });
    } catch (error) {
      calls.fail(new Set(group.jobs.map(({ call }) => call)), error);
    }
  }

  async function handOver(hand: (typeof hands)[number], group: Group): Promise<void> {
    hand.groups++;
    hand.signatures += group.jobs.length;
    try {
      settle(group, await hand.helper.sign(group.kid, messagesOf(group)));
    } catch (error) {
      signHere(group, error);
    }
    hand.groups--;
    hand.signatures -= group.jobs.length;
    handOut(true);
  }

  /**
   * Gives waiting signatures to the least busy helpers: with `toIdle` even the last ones to idle helpers, otherwise all
   * but one group. A busy helper gets at most its share of all unmade signatures, so that all threads finish together.
   */
  function handOut(toIdle: boolean): void {
    while (calls.untaken() > (toIdle ? 0 : groupSize)) {
      const [hand] = hands
        .filter(({ helper, groups }) => groups < helper.slots())
        .sort((one, other) => one.signatures - other.signatures);
      if (hand === undefined) return;
      const isIdle = toIdle && hand.groups === 0;
      if (!isIdle && calls.untaken() <= groupSize) return;
      const share = (calls.left.single + calls.left.bulk) / parallel();
      const room = Math.round((share - hand.signatures) / groupSize) * groupSize;
      if (!isIdle && room < 1) return;
      void handOver(hand, takeGroup(Math.min(Math.max(1, room), hand.helper.groupSize)));
    }
  }

  function turn(): void {
    isScheduled = false;
    const isAlone = calls.left.single + calls.left.bulk === 1;
    if (inPlace === null || !isAlone) handOut(true);
    if (inPlace === null || calls.untaken() === 0) return;
    signHere(takeGroup(groupSize));
    wake();
  }

  function wake(): void {
    if (isScheduled || calls.untaken() === 0) return;
    isScheduled = true;
    setImmediate(turn);
  }

  return {
    /**
     * Signs a call's inputs. A single check is queued behind single checks only, a batch behind all calls (decision D2.9).
     * @returns the signatures, base64url, in the order of the inputs
     * @throws TvsError OVERLOADED, before any of the inputs is signed, if the wait would be too long; SIGNER_UNAVAILABLE
     */
    async sign(kid: string, inputs: readonly string[], bulk: boolean): Promise<string[]> {
      if (inputs.length === 0) return [];
      const before = calls.left.single + (bulk ? calls.left.bulk : 0);
      if ((before * averageMs) / parallel() > waitAtMostMs)
        throw new TvsError("OVERLOADED", "more signatures are asked for than can be made; try again");
      const signatures = calls.add({ kid, inputs, kind: bulk ? "bulk" : "single" });
      handOut(false);
      // wake() schedules turn() by setImmediate: all calls of this turn of the event loop are queued before it runs.
      wake();
      return signatures;
    },
    /** @returns a promise that resolves when all calls that wait now are settled; undefined if none waits */
    whenSettled: () => settled(calls.open()),
    /** The same for the calls for which a commit should wait: single checks, and batches if many of them wait. */
    whenGathered() {
      const isDeep = calls.left.bulk >= deepQueue;
      return settled(calls.open().filter(({ kind }) => kind === "single" || isDeep));
    },
    close: () => calls.fail(calls.open(), new TvsError("SIGNER_UNAVAILABLE", "the service is being stopped")),
  };
}

function settled(calls: readonly Call[]): Promise<unknown> | undefined {
  return calls.length === 0 ? undefined : Promise.allSettled(calls.map((call) => call.settled.promise));
}

function messagesOf({ jobs }: Group): SigningInput[] {
  return jobs.map(({ call, index }) => {
    const input = call.inputs[index] as string;
    return { input, hash: hash("sha256", input, "buffer") };
  });
}
