import DataLoader from "dataloader";
import { TvsError } from "../../domain/errors.ts";
import type { Row } from "../driver/driver.ts";

/** Sends reads in one request. @returns for each its rows, or why it failed by itself */
type Send<Q> = (queries: readonly Q[], waitMs: number) => Promise<(Row[] | Error)[]>;

type Read<Q> = { readonly query: Q; readonly askedAtMs: number };

/** Of the lookups of a turn each is one text of the answer: far more than a node ever has in hand fit. */
const maxTogether = 128;

/**
 * Reads of one thread over a server: while a request is on its way, the next ones gather and go together, because a
 * second request under way halves what gathers, and each costs the server as much as many reads. A read is never
 * answered by a request that was sent before it was asked, so it sees what was committed before it.
 *
 * The time of a read counts from when it was asked (decision D12.3): it spends a part of it behind the request before
 * its own, and no caller waits longer for that.
 * @param waitMs for how long a read waits at most
 */
export function gatherReads<Q>(send: Send<Q>, waitMs: number): (query: Q) => Promise<Row[]> {
  let underWay: Promise<unknown> = Promise.resolve();
  let last: Promise<unknown> = Promise.resolve();

  async function sendAll(reads: readonly Read<Q>[]): Promise<(Row[] | Error)[]> {
    const leftMs = waitMs - (performance.now() - (reads[0]?.askedAtMs ?? 0));
    // Behind a request that nobody answered it has waited as long.
    if (leftMs <= 0) throw new TvsError("STORE_UNAVAILABLE", "the database does not answer in time");
    return send(
      reads.map(({ query }) => query),
      leftMs,
    );
  }

  const loader = new DataLoader<Read<Q>, Row[]>(
    (reads) => {
      const sent = sendAll(reads);
      underWay = sent.catch(() => {});
      return sent;
    },
    {
      cache: false,
      maxBatchSize: maxTogether,
      batchScheduleFn(dispatch) {
        last = last.then(() => {
          dispatch();
          return underWay;
        });
      },
    },
  );
  return (query) => loader.load({ query, askedAtMs: performance.now() });
}
