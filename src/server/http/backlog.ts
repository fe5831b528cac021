/**
 * What waits in the memory of one thread for clients: requests that are not answered yet, and answers that are not taken.
 * Each connection's is small by other limits; this bounds the sum.
 */
import { log } from "../../log.ts";

/** A connection, as far as it is looked at here. */
type Holder = {
  readonly socket: { destroy(): void };
  /** Kept here, as is the next. */
  heldBytes: number;
  /** Requests that wait until earlier ones of the same connection are answered. */
  waiting: number;
  /** Since when it has a request; null while it has none. */
  readonly requestSinceMs: number | null;
};

export type Backlog = {
  join(holder: Holder): void;
  /** Takes off what a connection holds; from then on it holds nothing. */
  leave(holder: Holder): void;
  /** Adds to what a connection holds; negative when it holds less. */
  hold(holder: Holder, bytes: number): void;
  /** Adds to how many requests of a connection wait. @returns how many wait in all */
  wait(holder: Holder, requests: 1 | -1): number;
};

/** Room is made beyond what is needed, or each further byte would look through all connections. */
const relievedShare = 7 / 8;
/** How often an operator is told. */
const warnEveryMs = 60_000;

/**
 * A backlog of at most so many bytes. Beyond them the connections end that held the most for the longest, which those
 * of clients that take their answers are the last to be.
 */
export function createBacklog(maxBytes: number): Backlog {
  const holders = new Set<Holder>();
  let heldBytes = 0;
  let waiting = 0;
  let warnedAtMs = Number.NEGATIVE_INFINITY;

  function leave(holder: Holder): void {
    if (!holders.delete(holder)) return;
    heldBytes -= holder.heldBytes;
    waiting -= holder.waiting;
    holder.heldBytes = 0;
    holder.waiting = 0;
  }

  function relieve(): void {
    const nowMs = performance.now();
    const weight = (holder: Holder) => holder.heldBytes * (nowMs - (holder.requestSinceMs ?? nowMs));
    const heaviest = [...holders].map((holder) => ({ holder, weight: weight(holder) }));
    heaviest.sort((one, other) => other.weight - one.weight);
    let closed = 0;
    for (const { holder } of heaviest) {
      if (heldBytes <= maxBytes * relievedShare) break;
      leave(holder);
      holder.socket.destroy();
      closed++;
    }
    if (nowMs - warnedAtMs < warnEveryMs) return;
    warnedAtMs = nowMs;
    log.warn("connections were closed: too much waited for clients that do not read", { closed });
  }

  return {
    join: (holder) => void holders.add(holder),
    leave,
    hold(holder, bytes) {
      if (!holders.has(holder)) return;
      holder.heldBytes += bytes;
      heldBytes += bytes;
      if (heldBytes > maxBytes) relieve();
    },
    wait(holder, requests) {
      if (!holders.has(holder)) return waiting;
      holder.waiting += requests;
      waiting += requests;
      return waiting;
    },
  };
}
