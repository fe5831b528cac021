/**
 * What waits in the memory of one thread for clients: requests that are not answered yet, and answers that are not taken.
 * Each connection's is small by other limits; this bounds the sum.
 */
import { log } from "../logger.ts";
import type { ListenLimits } from "./http-server.ts";

/** A connection, as far as it is looked at here. */
type Holder = {
  readonly socket: { destroy(): void };
  /** Kept here, as are the next. */
  heldBytes: number;
  answering: number;
  /** Requests that wait until earlier ones of the same connection are answered. */
  waiting: number;
  /** Since when it has a request; null while it has none. */
  readonly requestSinceMs: number | null;
};

export type Backlog = {
  join(holder: Holder): void;
  /** Takes off what a connection holds; from then on it holds nothing. Its requests count until the sweep. */
  leave(holder: Holder): void;
  /** Adds to what a connection holds; negative when it holds less. */
  hold(holder: Holder, bytes: number): void;
  /** A request of a connection waits to be answered. */
  wait(holder: Holder): void;
  /** One that waited is being answered. */
  start(holder: Holder): void;
  /** One is done; one that was never started waited until now. */
  finish(holder: Holder, isStarted: boolean): void;
  /** How many requests wait on all connections. */
  countWaiting(): number;
  /** Whether so many are being answered that no connection should have several. */
  isBusy(): boolean;
  /** To be called about once a second. */
  sweep(): void;
};

/** Room is made beyond what is needed, or each further byte would look through all connections. */
const relievedShare = 7 / 8;
/** How often an operator is told. */
const warnEveryMs = 60_000;

/**
 * A backlog of at most `maxHeldBytes`. Beyond them the connections end that held the most for the longest, which those
 * of clients that take their answers are the last to be.
 */
export function createBacklog(limits: Pick<ListenLimits, "maxHeldBytes" | "busyRequests">): Backlog {
  const holders = new Set<Holder>();
  let heldBytes = 0;
  let waiting = 0;
  /** Of connections that ended: it takes memory yet, and there would be ever more if others took its place at once. */
  let left = { waiting: 0, answering: 0 };
  let answering = 0;
  let warnedAtMs = Number.NEGATIVE_INFINITY;

  function leave(holder: Holder): void {
    if (!holders.delete(holder)) return;
    heldBytes -= holder.heldBytes;
    left.waiting += holder.waiting;
    left.answering += holder.answering;
    holder.heldBytes = 0;
    holder.waiting = 0;
    holder.answering = 0;
  }

  function move(holder: Holder, toAnswering: number, toWaiting: number): void {
    if (!holders.has(holder)) return;
    holder.answering += toAnswering;
    answering += toAnswering;
    holder.waiting += toWaiting;
    waiting += toWaiting;
  }

  function relieve(): void {
    const nowMs = performance.now();
    const weight = (holder: Holder) => holder.heldBytes * (nowMs - (holder.requestSinceMs ?? nowMs));
    const heaviest = [...holders].map((holder) => ({ holder, weight: weight(holder) }));
    heaviest.sort((one, other) => other.weight - one.weight);
    let closed = 0;
    for (const { holder } of heaviest) {
      if (heldBytes <= limits.maxHeldBytes * relievedShare) break;
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
      if (heldBytes > limits.maxHeldBytes) relieve();
    },
    wait: (holder) => move(holder, 0, 1),
    start: (holder) => move(holder, 1, -1),
    finish: (holder, isStarted) => move(holder, isStarted ? -1 : 0, isStarted ? 0 : -1),
    countWaiting: () => waiting,
    sweep() {
      waiting -= left.waiting;
      answering -= left.answering;
      left = { waiting: 0, answering: 0 };
    },
    isBusy: () => answering >= limits.busyRequests,
  };
}
