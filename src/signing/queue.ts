import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { TvsError } from "../domain/errors.ts";
import type { Engine, SigningInput } from "./engine.ts";

type Call = {
  readonly kid: string;
  readonly inputs: readonly string[];
  readonly kind: "single" | "bulk";
  readonly signatures: string[];
  readonly settled: PromiseWithResolvers<string[]>;
  /** `taken`: how many signatures threads have begun or made, in the inputs' order. `left`: how many are not made yet. */
  taken: number;
  left: number;
};

/** Signatures with one key that a thread makes in one call of its engine. */
type Group = { readonly kid: string; readonly jobs: { readonly call: Call; readonly index: number }[] };

/** While single checks and batches both wait, every fourth signature is a batch's, so that batches do not starve. */
const bulkEvery = 4;
/** From this many unmade signatures of batches on, a commit also waits for batches: the threads have enough to sign. */
const deepQueue = 256;

/** Makes the lists of calls that wait for signatures: single checks and batches, each in the order of their arrival. */
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
    /** Takes up to `size` signatures that no thread has begun, all with the first signature's key. */
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
    /** Rejects calls, and drops their signatures that no thread has begun. */
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
  /** How many groups the helper can have at a time; 0 while the helper cannot sign. */
  slots(): number;
  /** Signs a group. @throws Error if it cannot; the queue's own thread then signs the group, unless only helpers sign */
  sign(kid: string, messages: readonly SigningInput[]): Promise<SignedGroup>;
};

export type QueueOptions = Pick<Engine, "groupSize" | "signatureMs"> & {
  readonly helpers: readonly SigningHelper[];
  /** Signs in the queue's own thread; null if only helpers sign. */
  readonly inPlace: ((kid: string, messages: readonly SigningInput[]) => Uint8Array[]) | null;
  /** How many threads can sign now. A thread that has not started yet does not shorten a call's wait. */
  parallel(): number;
};

/** A group of at least this many signatures takes no longer than the same signatures one by one. */
export const minGroupSize = 4;
/** A call is refused if its first signature would begin later than this, in milliseconds. */
const waitAtMostMs = 2_000;
/** The weight of a new time in the average. A pause of the machine counts as at most `outlier` times the average. */
const [weight, outlier] = [1 / 16, 4];

/**
 * Makes the queue of a service's signatures. Idle helpers make waiting signatures. The queue's own thread makes the others
 * "in place", also one that waits alone: one group in each turn of the event loop, which also serves I/O.
 */
export function createSigningQueue({ helpers, inPlace, groupSize, parallel, signatureMs }: QueueOptions) {
  const calls = createCalls();
  const states = helpers.map((helper) => ({ helper, groups: 0, signatures: 0 }));
  let averageMs = signatureMs;
  let isScheduled = false;

  const takeGroup = (size: number) =>
    calls.take(calls.untaken() >= minGroupSize * Math.min(parallel(), 2) ? size : 1);

  function settle(group: Group, { signatures, signatureMs: ms }: SignedGroup): void {
    averageMs += (Math.min(ms, outlier * averageMs) - averageMs) * weight;
    calls.settle(group, signatures);
  }

  /** Signs a group in place. If only helpers sign, the group's calls fail with `helperError` instead. */
  function signInPlace(group: Group, helperError?: unknown): void {
    const startedAt = performance.now();
    try {
      if (inPlace === null) throw helperError;
      const signatures = inPlace(group.kid, messagesOf(group));
      settle(group, { signatures, signatureMs: (performance.now() - startedAt) / signatures.length });
    } catch (error) {
      calls.fail(new Set(group.jobs.map(({ call }) => call)), error);
    }
  }

  async function giveGroup(state: (typeof states)[number], group: Group): Promise<void> {
    state.groups++;
    state.signatures += group.jobs.length;
    try {
      settle(group, await state.helper.sign(group.kid, messagesOf(group)));
    } catch (error) {
      signInPlace(group, error);
    }
    state.groups--;
    state.signatures -= group.jobs.length;
    giveToHelpers(true);
  }

  /**
   * Gives waiting signatures to helpers with a free slot, first to the helper with the fewest signatures. A busy helper
   * gets at most its part of all unmade signatures, which are divided equally among the threads. The last `groupSize`
   * signatures stay in the queue for this thread; with `canEmptyQueue`, idle helpers may take these too.
   */
  function giveToHelpers(canEmptyQueue: boolean): void {
    while (calls.untaken() > (canEmptyQueue ? 0 : groupSize)) {
      const [state] = states
        .filter(({ helper, groups }) => groups < helper.slots())
        .sort((one, other) => one.signatures - other.signatures);
      if (state === undefined) return;
      const isIdle = canEmptyQueue && state.groups === 0;
      if (!isIdle && calls.untaken() <= groupSize) return;
      const share = (calls.left.single + calls.left.bulk) / parallel();
      const room = Math.round((share - state.signatures) / groupSize) * groupSize;
      if (!isIdle && room < 1) return;
      void giveGroup(state, takeGroup(Math.min(Math.max(1, room), state.helper.groupSize)));
    }
  }

  function turn(): void {
    isScheduled = false;
    const isAlone = calls.left.single + calls.left.bulk === 1;
    if (inPlace === null || !isAlone) giveToHelpers(true);
    if (inPlace === null || calls.untaken() === 0) return;
    signInPlace(takeGroup(groupSize));
    wake();
  }

  function wake(): void {
    if (isScheduled || calls.untaken() === 0) return;
    isScheduled = true;
    setImmediate(turn);
  }

  const isGathered = ({ kind }: Call) => kind === "single" || calls.left.bulk >= deepQueue;

  return {
    /**
     * Signs a call's inputs. A single check waits only for single checks, a batch for all calls (decision D2.9).
     * @returns the signatures, base64url, in the order of the inputs
     * @throws TvsError OVERLOADED, before any input is signed, if the wait would be too long; SIGNER_UNAVAILABLE
     */
    async sign(kid: string, inputs: readonly string[], bulk: boolean): Promise<string[]> {
      if (inputs.length === 0) return [];
      const before = calls.left.single + (bulk ? calls.left.bulk : 0);
      if ((before * averageMs) / parallel() > waitAtMostMs)
        throw new TvsError("OVERLOADED", "more signatures are asked for than can be made; try again");
      const signatures = calls.add({ kid, inputs, kind: bulk ? "bulk" : "single" });
      giveToHelpers(false);
      // wake() schedules turn() by setImmediate: all calls of this event-loop turn are queued before turn() runs.
      wake();
      return signatures;
    },
    /** Waits until all calls that wait now are settled. @returns undefined if no call waits */
    whenSettled: () => settled(calls.open()),
    /** Like `whenSettled`, for the calls that a commit gathers: all single checks, and batches only if many wait. */
    whenGathered: () => settled(calls.open().filter(isGathered)),
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
