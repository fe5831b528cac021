import { TvsError } from "../../domain/errors.ts";
import type { Row } from "./driver.ts";

/** Sends reads in one request. @returns for each its rows, or why it failed by itself */
type Send<Q> = (queries: readonly Q[], waitMs: number) => Promise<(Row[] | Error)[]>;

type GatherOptions = {
  /** For how long a read waits at most, from when it was asked, in milliseconds. */
  readonly waitMs: number;
  /** How many go together. */
  readonly maxTogether?: number;
  /** How many requests may be under way. */
  readonly maxUnderWay?: number;
};

type Read<Q> = {
  readonly query: Q;
  readonly askedAtMs: number;
  resolve(rows: Row[]): void;
  reject(error: unknown): void;
};

/** One after another: a second request under way halves what gathers, and each costs the server as much as many reads. */
const usualUnderWay = 1;
/** Of the lookups of a turn each is one text of the answer: far more than a node ever has in hand fit. */
const usualTogether = 128;

/**
 * Reads of one thread over a server: while a request is on its way, the next ones gather and go together. A read is
 * never answered by a request that was sent before it was asked, so it sees what was committed before it.
 *
 * The time of a read counts from when it was asked (decision D12.3): it spends a part of it behind the request before
 * its own, and no caller waits longer for that.
 */
export function gatherReads<Q>(send: Send<Q>, options: GatherOptions): (query: Q) => Promise<Row[]> {
  const { waitMs, maxTogether = usualTogether, maxUnderWay = usualUnderWay } = options;
  let queue: Read<Q>[] = [];
  let underWay = 0;

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      const reads = queue.slice(0, maxTogether);
      queue = queue.slice(maxTogether);
      const behind = queue.length;
      try {
        const waited = performance.now() - (reads[0]?.askedAtMs ?? 0);
        const results = await send(
          reads.map(({ query }) => query),
          waitMs - waited,
        );
        for (const [place, { resolve, reject }] of reads.entries()) {
          const result = results[place];
          if (Array.isArray(result)) resolve(result);
          else reject(result ?? new TvsError("STORE_UNAVAILABLE", "the database gave no answer"));
        }
      } catch (error) {
        // What waited behind it has waited as long.
        const refused = [...reads, ...queue.slice(0, behind)];
        queue = queue.slice(behind);
        for (const { reject } of refused) reject(error);
      }
    }
    underWay--;
  }

  return (query) =>
    new Promise((resolve, reject) => {
      queue.push({ query, askedAtMs: performance.now(), resolve, reject });
      if (underWay >= maxUnderWay) return;
      underWay++;
      // A microtask later, so that the reads of one turn of the event loop already share a request.
      queueMicrotask(drain);
    });
}
