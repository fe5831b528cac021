/**
 * Contention for the write lock: nobody else is there, a service that does not write just now, or somebody who does.
 */
export type Contention = "none" | "low" | "high";

/**
 * How long a commit should hold the write lock. A big one is cheaper by the row, because the random pages of the blind
 * indexes are written once for many rows; but whoever else wants to write waits meanwhile.
 */
const targetMs: Readonly<Record<Contention, number>> = { none: 2_000, low: 30, high: 5 };
/**
 * The rest between commits: beside somebody who writes, the lock stays free for so many times as long as it was
 * held.
 */
const restFactor = 2;
/** How long somebody who wrote is taken to be at work. */
const atWorkMs = 5_000;
/** Rows of the first commit: few, because it does not know yet who else is there. */
const firstRows = 20;
const minRows = 10;

/**
 * The batch size of an import: how many rows the next commit takes, and when it may begin. Times are monotonic, in
 * milliseconds.
 */
export type BatchSize = ReturnType<typeof createBatchSize>;

type WrittenBatch = {
  readonly rows: number;
  /** How long it kept others from writing. */
  readonly tookMs: number;
  readonly at: number;
  readonly othersWrote: boolean;
  readonly serviceRuns: boolean;
};

export function createBatchSize(maxRows: number) {
  let rows = Math.min(firstRows, maxRows);
  let contention: Contention = "low";
  let othersSeenAt = Number.NEGATIVE_INFINITY;
  let restUntil = Number.NEGATIVE_INFINITY;

  return {
    rows: () => rows,
    contention: (): Contention => contention,
    /** When the next commit may begin. */
    notBefore: () => restUntil,
    committed({ rows: written, tookMs, at, othersWrote, serviceRuns }: WrittenBatch): void {
      if (othersWrote) othersSeenAt = at;
      const atWork = at - othersSeenAt < atWorkMs;
      contention = atWork ? "high" : serviceRuns ? "low" : "none";
      restUntil = atWork ? at + tookMs * restFactor : at;
      // At most twice as many as before: one fast commit is no proof.
      const fitting = (written * targetMs[contention]) / Math.max(tookMs, 0.1);
      rows = Math.floor(Math.min(maxRows, Math.max(minRows, Math.min(written * 2, fitting))));
    },
  };
}
