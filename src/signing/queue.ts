import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { TvsError } from "../domain/errors.ts";
import type { Message } from "./engine.ts";

type Call = {
  readonly kid: string;
  readonly inputs: readonly string[];
  /** Single checks go before batches. */
  readonly kind: "single" | "bulk";
  readonly signatures: string[];
  readonly settled: PromiseWithResolvers<string[]>;
  /** How many signatures are begun or made, from the first, and how many are not made. */
  taken: number;
  left: number;
};

/** Signatures by one key that one thread makes in one go. */
type Group = { readonly kid: string; readonly jobs: { readonly call: Call; readonly index: number }[] };

/** While both wait, every fourth signature is a batch's: single checks go first, and batches still move. */
const bulkEvery = 4;

/** The calls whose signatures are not all made: single checks and batches, each in the order of asking. */
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
    /** Signatures that no thread has begun. */
    untaken: () => untaken,
    /** Signatures of single checks, or of batches, that are not made. */
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
    /** Takes up to `size` signatures, all with the key of the first. */
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
    /** Fails whole calls, with the signatures that wait. */
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

/** Signatures of one group, and the milliseconds that each of them took. */
export type Made = { readonly signatures: readonly Uint8Array[]; readonly signatureMs: number };

/** Signs outside the thread of the queue: groups of at most a size, and some at a time; none while it cannot sign. */
export type Helper = {
  readonly groupSize: number;
  slots(): number;
  /** @throws Error when it could not sign; a queue that signs in place then does so */
  sign(kid: string, messages: readonly Message[]): Promise<Made>;
};

export type QueueOptions = {
  readonly helpers: readonly Helper[];
  /** Signs in the thread of the queue; null where only helpers sign. */
  readonly inPlace: ((kid: string, messages: readonly Message[]) => Uint8Array[]) | null;
  /** How many signatures are made together at most. */
  readonly groupSize: number;
  /** How many signatures, or groups, are made at the same time. */
  readonly parallel: number;
  /** How long one signature takes at the start, in milliseconds. */
  readonly signatureMs: number;
};

/** The waiting signatures of each thread from which on a group is as quick as single signatures. */
export const groupFrom = 4;
/** How long a call may have to wait until its first signature is begun, in milliseconds. */
const waitAtMostMs = 2_000;
/** The part that a new measurement has in the moving average. */
const weight = 1 / 16;
/** A measurement counts for at most this many averages: a pause of the machine is not its speed. */
const outlier = 4;

/**
 * Makes the signatures of calls. Waiting signatures go to idle helpers. All others, and a signature that waits alone, are
 * made in place: one group in each turn of the event loop, so that no connection waits for longer.
 */
export function createQueue({ helpers, inPlace, groupSize, parallel, signatureMs }: QueueOptions) {
  const calls = createCalls();
  const hands = helpers.map((helper) => ({ helper, groups: 0, signatures: 0 }));
  let averageMs = signatureMs;
  let isScheduled = false;

  const takeGroup = (size: number) =>
    calls.take(calls.untaken() >= groupFrom * Math.min(parallel, 2) ? size : 1);

  function settle(group: Group, { signatures, signatureMs: ms }: Made): void {
    averageMs += (Math.min(ms, outlier * averageMs) - averageMs) * weight;
    calls.settle(group, signatures);
  }

  /** Signs in place; where only helpers sign, the calls fail with the error of the helper. */
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
   * Hands waiting signatures to the least busy helpers: with `toIdle` all to idle ones, else only those beyond a group. A
   * busy helper gets at most its share of what is not made, in whole groups, so that all threads end together.
   */
  function handOut(toIdle: boolean): void {
    while (calls.untaken() > (toIdle ? 0 : groupSize)) {
      const [hand] = hands
        .filter(({ helper, groups }) => groups < helper.slots())
        .sort((one, other) => one.signatures - other.signatures);
      if (hand === undefined) return;
      const isIdle = toIdle && hand.groups === 0;
      if (!isIdle && calls.untaken() <= groupSize) return;
      const share = (calls.left.single + calls.left.bulk) / parallel;
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
     * Admits a call by the time that it would wait. A single check waits for single checks only, a batch for everything
     * (decision D2.9). @returns the signatures, base64url, in the order of the inputs
     * @throws TvsError OVERLOADED before anything of the call is signed, SIGNER_UNAVAILABLE
     */
    async sign(kid: string, inputs: readonly string[], bulk: boolean): Promise<string[]> {
      if (inputs.length === 0) return [];
      const before = calls.left.single + (bulk ? calls.left.bulk : 0);
      if ((before * averageMs) / parallel > waitAtMostMs)
        throw new TvsError("OVERLOADED", "more signatures are asked for than can be made; try again");
      const signatures = calls.add({ kid, inputs, kind: bulk ? "bulk" : "single" });
      handOut(false);
      // Runs after all calls of this turn of the event loop have been added.
      wake();
      return signatures;
    },
    /** @returns resolves when all calls that are open now are settled; undefined when there are none */
    whenSettled(): Promise<unknown> | undefined {
      const open = calls.open().map(({ settled }) => settled.promise);
      return open.length === 0 ? undefined : Promise.allSettled(open);
    },
    close: () => calls.fail(calls.open(), new TvsError("SIGNER_UNAVAILABLE", "the service is being stopped")),
  };
}

function messagesOf({ jobs }: Group): Message[] {
  return jobs.map(({ call, index }) => {
    const input = call.inputs[index] as string;
    return { input, hash: hash("sha256", input, "buffer") };
  });
}
