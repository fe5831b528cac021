/** How long a commit may hold the write lock while others write, and while nobody does. */
const sharedCommitMs = 12;
const aloneCommitMs = 250;
/** A service that wrote within this time is taken to be at work. */
const othersQuietMs = 5_000;
const firstRows = 200;
const minRows = 20;
const maxRowsShared = 400;

/**
 * How many rows the next commit takes, and how long to rest before it.
 *
 * Big commits are cheaper by half: random index pages are written once for many rows. But a service
 * waits for the lock meanwhile. So the import takes what it can get while nobody else writes, and from the
 * first foreign commit on keeps its own short and leaves the lock free for as long as it held it.
 */
export type Pace = {
  rows(): number;
  readonly alone: boolean;
  /** @param commit how long it took and how many rows it had; `at` is a monotonic time, in milliseconds */
  committed(commit: { rows: number; tookMs: number; at: number; othersWrote: boolean }): void;
  /** The time at which the next commit may begin. */
  notBefore(): number;
};

export function createPace(maxRows: number): Pace {
  let rows = Math.min(firstRows, maxRows);
  let othersSeenAt = Number.NEGATIVE_INFINITY;
  let alone = true;
  let restUntil = Number.NEGATIVE_INFINITY;

  return {
    rows: () => rows,
    get alone() {
      return alone;
    },
    committed({ rows: written, tookMs, at, othersWrote }) {
      if (othersWrote) othersSeenAt = at;
      alone = at - othersSeenAt > othersQuietMs;
      restUntil = alone ? at : at + tookMs;
      const target = alone ? aloneCommitMs : sharedCommitMs;
      const limit = alone ? maxRows : Math.min(maxRows, maxRowsShared);
      // At most twice as many as before: one fast commit is no proof.
      const wanted = Math.min(written * 2, (written * target) / Math.max(tookMs, 0.1));
      rows = Math.max(Math.min(minRows, limit), Math.min(limit, Math.floor(wanted)));
    },
    notBefore: () => restUntil,
  };
}
