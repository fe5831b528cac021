/**
 * What waits in the memory of one thread for clients: requests that are not answered yet, and answers that are not taken.
 * Each connection's is small by other limits; this bounds the sum.
 */
import type { Connection } from "./connection.ts";
import type { ListenLimits } from "./limits.ts";
import { createWarning } from "./warning.ts";

export type Backlog = ReturnType<typeof createBacklog>;

/** Room is made beyond what is needed, or each further byte would look through all connections. */
const relievedShare = 7 / 8;
/**
 * A backlog of at most `maxHeldBytes`. Beyond them the connections end that held the most for the longest, which those
 * of clients that take their answers are the last to be.
 */
export function createBacklog(
  limits: Pick<ListenLimits, "maxHeldBytes" | "maxWaitingRequests" | "busyRequests">,
) {
  const connections = new Set<Connection>();
  let heldBytes = 0;
  let waiting = 0;
  /** Of connections that ended: it takes memory yet, and there would be ever more if others took its place at once. */
  let left = { waiting: 0, answering: 0 };
  let answering = 0;
  const warn = createWarning("connections were closed: too much waited for clients that do not read");

  /** Takes off what a connection holds; from then on it holds nothing. Its requests count until the sweep. */
  function leave(connection: Connection): void {
    if (!connections.delete(connection)) return;
    heldBytes -= connection.heldBytes;
    left.waiting += connection.waiting;
    left.answering += connection.answering;
    connection.heldBytes = 0;
    connection.waiting = 0;
    connection.answering = 0;
  }

  function move(connection: Connection, toAnswering: number, toWaiting: number): void {
    if (!connections.has(connection)) return;
    connection.answering += toAnswering;
    answering += toAnswering;
    connection.waiting += toWaiting;
    waiting += toWaiting;
  }

  function relieve(): void {
    const nowMs = performance.now();
    const weight = (connection: Connection) =>
      connection.heldBytes * (nowMs - (connection.requestSinceMs ?? nowMs));
    const heaviest = [...connections].map((connection) => ({ connection, weight: weight(connection) }));
    heaviest.sort((one, other) => other.weight - one.weight);
    let closed = 0;
    for (const { connection } of heaviest) {
      if (heldBytes <= limits.maxHeldBytes * relievedShare) break;
      leave(connection);
      connection.socket.destroy();
      closed++;
    }
    warn({ closed });
  }

  return {
    join: (connection: Connection) => void connections.add(connection),
    leave,
    /** Adds to what a connection holds; negative when it holds less. */
    hold(connection: Connection, bytes: number): void {
      if (!connections.has(connection)) return;
      connection.heldBytes += bytes;
      heldBytes += bytes;
      if (heldBytes > limits.maxHeldBytes) relieve();
    },
    /** A request of a connection waits to be answered. */
    wait: (connection: Connection) => move(connection, 0, 1),
    /** One that waited is being answered. */
    start: (connection: Connection) => move(connection, 1, -1),
    /** One is done; one that was never started waited until now. */
    finish: (connection: Connection, isStarted: boolean) =>
      move(connection, isStarted ? -1 : 0, isStarted ? 0 : -1),
    /** What is held of what may be, and who waits of who may; 1 for all of it. */
    usedShare: () => Math.max(heldBytes / limits.maxHeldBytes, waiting / limits.maxWaitingRequests),
    /** How many requests wait on all connections. */
    countWaiting: () => waiting,
    /** To be called about once a second. */
    sweep(): void {
      waiting -= left.waiting;
      answering -= left.answering;
      left = { waiting: 0, answering: 0 };
    },
    /** Whether so many are being answered that no connection should have several. */
    isBusy: () => answering >= limits.busyRequests,
  };
}
