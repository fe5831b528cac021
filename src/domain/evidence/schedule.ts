/** When the tree is built and signed for: what the leader does again and again (decision D13.2). */

import type { EvidenceStore } from "../../store/evidence/evidence.ts";
import type { Clock } from "../clock.ts";
import { actAndRest, repeat } from "../serial.ts";
import { type EvidenceBuilder, isSignable, leavesOfCommit } from "./builder.ts";
import type { LogProgress } from "./evidence.ts";

/** How often is looked whether there are new attestations. */
const lookMs = 1_000;
/** The most that an answered envelope waits for a checkpoint that covers it, but for a look. */
const signMs = 30_000;
/** How often a node looks what others have signed: until then it answers over a database that was put back. */
const followMs = 500;

type Scheduled = {
  readonly builder: EvidenceBuilder;
  readonly store: EvidenceStore;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
};

/**
 * Builds the tree behind the attestations and signs for it, until it is stopped; a last checkpoint then covers what is
 * there.
 * @returns stops it
 */
export function startBuilding({ builder, store, clock, onError }: Scheduled): () => Promise<void> {
  let lookedAt = Number.NEGATIVE_INFINITY;

  /** A checkpoint of a time to come is one of a clock that was set back since: then it counts when this last signed. */
  function isDue(progress: LogProgress): boolean {
    const now = clock.now();
    const sinceMs = now - (progress.signedAt ?? 0);
    const isDue = sinceMs >= signMs || (sinceMs < 0 && Math.abs(now - lookedAt) >= signMs);
    if (isSignable(progress) && isDue) lookedAt = now;
    return isSignable(progress) && isDue;
  }

  async function look(isStopped: () => boolean): Promise<void> {
    for (;;) {
      const progress = await store.progress();
      if (isStopped() || progress === null) return;
      // A log that is begun over many attestations takes minutes.
      if (progress.waiting >= leavesOfCommit) await actAndRest(() => builder.append(), clock);
      else if (isDue(progress)) await actAndRest(() => builder.sign(), clock);
      else return;
    }
  }

  const stop = repeat(look, { everyMs: lookMs, onError, clock });
  return async () => {
    await stop();
    const progress = await store.progress().catch(() => null);
    if (progress !== null && isSignable(progress)) await builder.sign().catch(onError);
  };
}

/** Keeps the head beside the database, whoever signs. @returns stops it */
export function startFollowing({ builder, clock, onError }: Omit<Scheduled, "store">) {
  return repeat(builder.follow, { everyMs: followMs, onError, clock });
}
