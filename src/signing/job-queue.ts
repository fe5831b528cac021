import { TvsError } from "../domain/errors.ts";

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
export type Lanes<J> = {
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

/** How many may wait in each lane: about a quarter of a second's work of a core. */
const waitAtMost = 1024;

/**
 * Single checks and the items of batches wait in lanes of their own, so that a batch neither stands in front of a
 * single check nor fills the queue for it. Which lane is served how often is the engine's matter.
 * @param accept takes a job over; false when the engine has no room for one of its sort
 */
export function createLanes<J extends Job>(
  accept: (job: J) => boolean,
  options: { waitAtMost?: number | undefined } = {},
): Lanes<J> {
  const limit = options.waitAtMost ?? waitAtMost;
  const single: J[] = [];
  const bulk: J[] = [];

  function pumpLane(lane: J[]): void {
    for (let job = lane[0]; job !== undefined && accept(job); job = lane[0]) lane.shift();
  }

  return {
    add(job) {
      const lane = job.bulk ? bulk : single;
      if (lane.length === 0 && accept(job)) return;
      if (lane.length >= limit) {
        throw new TvsError("OVERLOADED", "more signatures are asked for than can be made; try again");
      }
      lane.push(job);
    },
    pump() {
      if (single.length > 0) pumpLane(single);
      if (bulk.length > 0) pumpLane(bulk);
    },
    putBack(jobs) {
      single.unshift(...jobs.filter((job) => !job.bulk));
      bulk.unshift(...jobs.filter((job) => job.bulk));
    },
    takeAll: () => [...single.splice(0), ...bulk.splice(0)],
  };
}
