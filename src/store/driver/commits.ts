import { setImmediate as nextTurn } from "node:timers/promises";
import { isTvsError, TvsError } from "../../domain/errors.ts";
import { serverWaitMs } from "../server/remote.ts";
import type { Driver, Row, Statement, Transaction } from "./driver.ts";

/** A kind of write. Writes of a kind share statements in a transaction. */
export type GroupedWrite<T, R> = {
  /** @returns a result for each item, in order */
  write(tx: Transaction, items: readonly T[]): Promise<readonly R[]>;
  /** The number of usual writes that cost as much as this item; 1 by default. */
  weigh?(item: T): number;
};

/** Commits a write whole, or not at all. `inGroup` shares statements with other writes of its kind. */
export type Commit = ReturnType<typeof createCommits>;

export type CommitOptions = {
  /** The weight at which a commit is full. */
  readonly maxWeight?: number;
  /** The weight of waiting writes at which further writes are refused. */
  readonly maxQueued?: number;
  /** Resolves when the signatures of further writes are made; undefined when there are none. */
  readonly moreComing?: (() => Promise<unknown> | undefined) | undefined;
  /** Called after each commit with the number of writes in it. */
  readonly onGroup?: ((writes: number) => void) | undefined;
};

type QueuedWrite = Omit<PromiseWithResolvers<unknown>, "promise"> & {
  readonly kind: GroupedWrite<unknown, unknown>;
  readonly item: unknown;
  readonly weight: number;
  readonly queuedAtMs: number;
};

/** Most of a commit's cost does not depend on its size, so writes gather this long while signatures are made. */
const usualGatherMs = 5;
/** A commit to a file blocks the event loop. The next writes gather for this many times its duration. */
const gatherPerCommit = 2;
const longestGatherMs = 50;
/** Above this weight writes become hardly cheaper, and a commit to a file blocks the event loop for longer. */
const defaultMaxWeight = { embedded: 64, remote: 128 } as const;

const inOrder: GroupedWrite<readonly Statement[], Row[][]> = {
  weigh: (statements) => statements.length,
  async write(tx, items) {
    const rows = await tx.finish(items.flat());
    return items.map((item) => rows.splice(0, item.length));
  },
};

/**
 * Commits in groups. Writes share a commit if they are queued in one turn of the event loop, while signatures are made,
 * or while a server commits. After a violated constraint, the writes of the group are committed one by one.
 */
export function createCommits(driver: Driver, options: CommitOptions = {}) {
  const { maxWeight = defaultMaxWeight[driver.kind], maxQueued = 20_000, moreComing, onGroup } = options;
  const queue: QueuedWrite[] = [];
  let [queuedWeight, tookMs, isRunning] = [0, 0, false];

  function take(count: number): QueuedWrite[] {
    const taken = queue.splice(0, count);
    for (const { weight } of taken) queuedWeight -= weight;
    return taken;
  }

  /** Commits the first write however much it weighs, and the next writes while they fit. */
  async function commitNext(): Promise<void> {
    let [weight, count] = [0, 0];
    while (count < queue.length && (count === 0 || weight < maxWeight)) weight += queue[count++]?.weight ?? 0;
    const group = take(count);
    const waiting = queue.length;
    const startedAtMs = performance.now();
    const failure = await commitGroup(driver, group);
    // Writes that were queued before the failure have waited as long for the lock or the server.
    if (isTvsError(failure, "STORE_BUSY") || isTvsError(failure, "STORE_UNAVAILABLE"))
      for (const { reject } of take(waiting)) reject(failure);
    tookMs = performance.now() - startedAtMs;
    onGroup?.(group.length);
  }

  async function drain(): Promise<void> {
    // The runtime reports each socket separately: calls that arrive together are queued by the end of this turn.
    if (driver.kind === "embedded") await nextTurn();
    for (;;) {
      const slowMs = driver.kind === "embedded" ? Math.min(longestGatherMs, gatherPerCommit * tookMs) : 0;
      await gather(
        () => (queuedWeight < maxWeight ? moreComing?.() : undefined),
        Math.max(usualGatherMs, slowMs),
      );
      await commitNext();
      if (queue.length === 0) break;
      // A commit in place blocks the event loop.
      await nextTurn();
    }
    isRunning = false;
  }

  function inGroup<T, R>(kind: GroupedWrite<T, R>, item: T): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      if (queuedWeight >= maxQueued)
        throw new TvsError("OVERLOADED", "too many calls are waiting for the disk; try again shortly");
      const weight = kind.weigh?.(item) ?? 1;
      queue.push({ kind, item, weight, queuedAtMs: performance.now(), resolve, reject } as QueuedWrite);
      queuedWeight += weight;
      if (isRunning) return;
      isRunning = true;
      queueMicrotask(drain);
    });
  }

  return Object.assign((statements: readonly Statement[]) => inGroup(inOrder, statements), { inGroup });
}

/** Waits while the signatures of further writes are made, unless the group is full. */
async function gather(moreComing: () => Promise<unknown> | undefined, atMostMs: number): Promise<void> {
  const startedAtMs = performance.now();
  let more = moreComing();
  if (more === undefined) return;
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, atMostMs);
  for (; more !== undefined && performance.now() - startedAtMs < atMostMs; more = moreComing()) {
    await Promise.race([more, late.promise]);
    // At the end of this turn, the signed calls have queued their writes.
    await nextTurn();
  }
  clearTimeout(timer);
}

/** @returns the failure of the whole group; undefined when a write was committed or failed alone */
async function commitGroup(driver: Driver, group: readonly QueuedWrite[]): Promise<unknown> {
  try {
    const written = await driver.write((tx) => writeAll(tx, group), waitMsOf(driver, group));
    for (const [{ resolve }, result] of written) resolve(result);
    return undefined;
  } catch (error) {
    const isOneGuilty = group.length > 1 && isTvsError(error, "STORE_CONSTRAINT");
    if (isOneGuilty) for (const one of group) await commitGroup(driver, [one]);
    else for (const { reject } of group) reject(error);
    return isOneGuilty ? undefined : error;
  }
}

async function writeAll(tx: Transaction, group: readonly QueuedWrite[]): Promise<[QueuedWrite, unknown][]> {
  const written: [QueuedWrite, unknown][] = [];
  const kinds = [...Map.groupBy(group, ({ kind }) => kind)];
  for (const [kind, queued] of kinds) {
    const items = queued.map(({ item }) => item);
    const isLast = kind === kinds.at(-1)?.[0];
    const results = await kind.write(isLast ? tx : { ...tx, finish: tx.batch }, items);
    written.push(...queued.map((one, index): [QueuedWrite, unknown] => [one, results[index]]));
  }
  return written;
}

/** The time left for a server, counted from the queueing. @throws TvsError STORE_UNAVAILABLE before anything is sent */
function waitMsOf(driver: Driver, group: readonly QueuedWrite[]): number | undefined {
  if (driver.kind !== "remote") return undefined;
  const waitedMs = performance.now() - (group[0]?.queuedAtMs ?? 0);
  if (waitedMs < serverWaitMs.serving) return serverWaitMs.serving - waitedMs;
  throw new TvsError("STORE_UNAVAILABLE", "the database is too slow; try again");
}
