import type { Signer } from "../domain/envelopes.ts";
import { TvsError } from "../domain/errors.ts";
import type { KeyRing } from "../domain/keys.ts";

/** A signer whose keys follow the ring. */
export type LoadedSigner = Signer & {
  /**
   * Unseals the ring's active and pending keys and forgets all others. When one of them cannot be loaded, those
   * that were loaded before stay.
   */
  load(ring: KeyRing): Promise<void>;
};

/** One implementation of signing. */
export type Engine = LoadedSigner & {
  readonly name: "openssl" | "webcrypto";
  /** In words, for the operator: `OpenSSL 3.0.13, 2 threads`. */
  readonly description: string;
  /** Forgets the keys and ends what it started. */
  close(): Promise<void>;
};

/** The error for a kid that is not in the ring, or has just left it. */
export function keyNotLoaded(): TvsError {
  return new TvsError("SIGNER_UNAVAILABLE", "the signing key is not loaded; try again");
}

/** One signature that somebody waits for. */
export type Job = {
  readonly kid: string;
  readonly input: string;
  /** One of many that a batch asks for. */
  readonly bulk: boolean;
  resolve(signature: string): void;
  reject(error: unknown): void;
};

/** The bounded queue before an engine. */
type JobQueue<J> = {
  /**
   * Hands a job over, or keeps it until there is room.
   * @throws TvsError OVERLOADED when too many wait already
   */
  add(job: J): void;
  /** Hands over what there is room for; to be called when there is new room. */
  pump(): void;
  /** Jobs that were handed over and not done: they go first, whatever the bound. */
  putBack(jobs: readonly J[]): void;
  /** Takes all that wait, for another engine. */
  takeAll(): J[];
};

/** How many jobs of each sort may wait: about a quarter of a second's work of a core. */
const waitAtMost = 1024;

/**
 * The queue of jobs before an engine. Single checks and the items of batches wait apart, so that a batch neither
 * stands in front of a single check nor fills the queue for it. How often each sort is served is the engine's matter.
 * @param accept takes a job over; false when the engine has no room for one of its sort
 */
export function createJobQueue<J extends Job>(
  accept: (job: J) => boolean,
  options: { waitAtMost?: number | undefined } = {},
): JobQueue<J> {
  const limit = options.waitAtMost ?? waitAtMost;
  const single: J[] = [];
  const bulk: J[] = [];

  function pumpSort(waiting: J[]): void {
    for (let job = waiting[0]; job !== undefined && accept(job); job = waiting[0]) waiting.shift();
  }

  return {
    add(job) {
      const waiting = job.bulk ? bulk : single;
      if (waiting.length === 0 && accept(job)) return;
      if (waiting.length >= limit) {
        throw new TvsError("OVERLOADED", "more signatures are asked for than can be made; try again");
      }
      waiting.push(job);
    },
    pump() {
      if (single.length > 0) pumpSort(single);
      if (bulk.length > 0) pumpSort(bulk);
    },
    putBack(jobs) {
      single.unshift(...jobs.filter((job) => !job.bulk));
      bulk.unshift(...jobs.filter((job) => job.bulk));
    },
    takeAll: () => [...single.splice(0), ...bulk.splice(0)],
  };
}
