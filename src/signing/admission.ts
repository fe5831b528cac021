import { TvsError } from "../domain/errors.ts";

/** The signatures that are asked for and not made yet, behind which further ones would wait. */
export type Load = {
  /** Threads that make them. */
  readonly threads: number;
  /** Counts more of this thread's, or fewer. */
  count(bulk: boolean, change: number): void;
  /** How many there are of single checks, or of batches, in all threads. */
  waiting(bulk: boolean): number;
};

/** The load of a signer that shares with nobody. */
export function createLoad(threads: number): Load {
  const waiting = { single: 0, bulk: 0 };
  return {
    threads,
    count(bulk, change) {
      waiting[bulk ? "bulk" : "single"] += change;
    },
    waiting: (bulk) => waiting[bulk ? "bulk" : "single"],
  };
}

/** The bound on how long a signature waits. */
export type Admission = ReturnType<typeof createAdmission>;

/** How long a call may have to wait until its first signature is begun, in milliseconds. */
const waitAtMostMs = 2_000;
/** The part that a new measurement has in the moving average. */
const weight = 1 / 16;
/** A single measurement counts for this many times the average at most: a pause of the machine is not its speed. */
const outlier = 4;

/**
 * Work is admitted by the time it would wait, and not by its number, so that a fast machine takes more than a slow
 * one: the signatures that go before it, times what one takes this thread just now, over the threads that make them.
 * A single check waits for single checks only, a batch for everything. A call is refused as a whole, before
 * anything of it is signed (decision D2.9).
 * @param signatureMs how long a signature took when the engine proved itself
 */
export function createAdmission(load: Load, signatureMs: number) {
  let averageMs = signatureMs;
  return {
    /**
     * Lets a call in, and counts its signatures.
     * @throws TvsError OVERLOADED, and then nothing is counted
     */
    admit(count: number, bulk: boolean): void {
      const before = load.waiting(false) + (bulk ? load.waiting(true) : 0);
      if ((before * averageMs) / load.threads > waitAtMostMs) {
        throw new TvsError("OVERLOADED", "more signatures are asked for than can be made; try again");
      }
      load.count(bulk, count);
    },
    /** So many of those that were let in wait no more. */
    leave: (count: number, bulk: boolean) => load.count(bulk, -count),
    /** Learns from a signature how long one takes. */
    learn(ms: number): void {
      averageMs += (Math.min(ms, outlier * averageMs) - averageMs) * weight;
    },
  };
}
