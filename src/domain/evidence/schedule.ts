/** When the tree is built and signed for: what whoever keeps house does again and again (decision D13.2). */

import type { Clock } from "../clock.ts";
import { repeat } from "../serial.ts";
import { type EvidenceBuilder, isSignable, leavesOfCommit } from "./builder.ts";
import type { EvidenceStore, LogProgress } from "./evidence.ts";

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
  let stopped = false;

  function isDue(progress: LogProgress): boolean {
    const sinceMs = clock.now() - (progress.signedAt ?? 0);
    return isSignable(progress) && (sinceMs >= signMs || sinceMs < 0);
  }

  async function look(): Promise<void> {
    for (;;) {
      const progress = await store.progress();
      if (stopped || progress === null) return;
      const startedAt = performance.now();
      if (progress.waiting >= leavesOfCommit) await builder.append();
      else if (isDue(progress)) await builder.sign();
      else return;
      // A log that is begun over many attestations takes minutes: half of the time belongs to the callers.
      await new Promise((done) => setTimeout(done, performance.now() - startedAt));
    }
  }

  const stop = repeat(look, { everyMs: lookMs, onError });
  return async () => {
    stopped = true;
    await stop();
    const progress = await store.progress().catch(() => null);
    if (progress !== null && isSignable(progress)) await builder.sign().catch(onError);
  };
}

/** Keeps the head beside the database, whoever signs. @returns stops it */
export function startFollowing({
  builder,
  onError,
}: Pick<Scheduled, "builder" | "onError">): () => Promise<void> {
  return repeat(builder.follow, { everyMs: followMs, onError });
}
