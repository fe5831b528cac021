import { setImmediate as nextTurn } from "node:timers/promises";
import { isTvsError, TvsError } from "../../domain/errors.ts";
import { serverWaitMs } from "../server/remote.ts";
import type { Driver, Row, SqlStatement, Transaction } from "./driver.ts";

/** A writer for one kind of item. One call of `write` stores all items of this kind in a group. */
export type GroupWriter<T, R> = {
  /** Stores items. @returns a result for each item, in order */
  write(tx: Transaction, items: readonly T[]): Promise<readonly R[]>;
  /** The item's cost as a multiple of a usual write's cost; 1 by default. */
  weigh?(item: T): number;
};

/** Commits statements, all or none. `inGroup(kind, item)` queues an item, which `kind.write` stores with others. */
export type GroupCommit = ReturnType<typeof createGroupCommit>;

export type CommitOptions = {
  /** The weight from which a group gets no further write. */
  readonly maxWeight?: number;
  /** The weight of queued writes from which further writes are refused (OVERLOADED). */
  readonly maxQueued?: number;
  /** Returns a promise that resolves when the answers that a commit awaits are signed; undefined if it awaits none. */
  readonly moreComing?: (() => Promise<unknown> | undefined) | undefined;
  /** Called after each commit with the number of its writes. */
  readonly onGroup?: ((writes: number) => void) | undefined;
};

type QueuedWrite = Omit<PromiseWithResolvers<unknown>, "promise"> & {
  readonly kind: GroupWriter<unknown, unknown>;
  readonly item: unknown;
  readonly weight: number;
  readonly queuedAtMs: number;
};

/** While answers are being signed, a commit waits this long for their writes: a larger commit costs hardly more. */
const usualGatherMs = 5;
/** A commit to a file blocks the event loop. The next group is gathered for this many times the commit's duration. */
const gatherPerCommit = 2;
const longestGatherMs = 50;
/** The default weight of a group. Larger groups save little, and a commit to a file blocks the event loop longer. */
const defaultMaxWeight = { embedded: 64, remote: 128 } as const;

const inOrder: GroupWriter<readonly SqlStatement[], Row[][]> = {
  weigh: (statements) => statements.length,
  async write(tx, items) {
    const rows = await tx.finish(items.flat());
    return items.map((item) => rows.splice(0, item.length));
  },
};

/**
 * Creates the group commit. Writes share a commit if they are queued in one turn of the event loop, while answers are
 * being signed, or while a server commits. If a group violates a constraint, its writes are committed one by one.
 */
export function createGroupCommit(driver: Driver, options: CommitOptions = {}) {
  const { maxWeight = defaultMaxWeight[driver.kind], maxQueued = 20_000, moreComing, onGroup } = options;
  const queue: QueuedWrite[] = [];
  let [queuedWeight, tookMs, isRunning] = [0, 0, false];

  function take(count: number): QueuedWrite[] {
    const taken = queue.splice(0, count);
    for (const { weight } of taken) queuedWeight -= weight;
    return taken;
  }

  /** Commits a group: the first write, of any weight, and further writes until the group weighs `maxWeight`. */
  async function commitNext(): Promise<void> {
    let [weight, count] = [0, 0];
    while (count < queue.length && (count === 0 || weight < maxWeight)) weight += queue[count++]?.weight ?? 0;
    const group = take(count);
    const waiting = queue.length;
    const startedAtMs = performance.now();
    const failure = await commitGroup(driver, group);
    // Writes that were queued before the failure have waited for the same lock or server, so they fail too.
    if (isTvsError(failure, "STORE_BUSY") || isTvsError(failure, "STORE_UNAVAILABLE"))
      for (const { reject } of take(waiting)) reject(failure);
    tookMs = performance.now() - startedAtMs;
    onGroup?.(group.length);
  }

  async function drain(): Promise<void> {
    // The runtime reads one socket after another. When this turn ends, all calls that came together are queued.
    if (driver.kind === "embedded") await nextTurn();
    for (;;) {
      const slowMs = driver.kind === "embedded" ? Math.min(longestGatherMs, gatherPerCommit * tookMs) : 0;
      const more = () => (queuedWeight < maxWeight ? moreComing?.() : undefined);
      await gather(more, Math.max(usualGatherMs, slowMs));
      await commitNext();
      if (queue.length === 0) break;
      // A commit to a file has blocked the event loop, so other events are handled before the next commit.
      await nextTurn();
    }
    isRunning = false;
  }

  function inGroup<T, R>(kind: GroupWriter<T, R>, item: T): Promise<R> {
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

  return Object.assign((statements: readonly SqlStatement[]) => inGroup(inOrder, statements), { inGroup });
}

/** Waits while answers are being signed whose writes can join the group, unless the group is full. */
async function gather(moreComing: () => Promise<unknown> | undefined, atMostMs: number): Promise<void> {
  const startedAtMs = performance.now();
  let more = moreComing();
  if (more === undefined) return;
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, atMostMs);
  for (; more !== undefined && performance.now() - startedAtMs < atMostMs; more = moreComing()) {
    await Promise.race([more, late.promise]);
    // At the end of this turn of the event loop, the signed calls have queued their writes.
    await nextTurn();
  }
  clearTimeout(timer);
}

/** Commits a group. @returns the error of the whole group; undefined if a write was committed or failed alone */
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

/** Returns how many ms a group may still wait for a server; undefined for a file. @throws TvsError STORE_UNAVAILABLE */
function waitMsOf(driver: Driver, group: readonly QueuedWrite[]): number | undefined {
  if (driver.kind !== "remote") return undefined;
  const waitedMs = performance.now() - (group[0]?.queuedAtMs ?? 0);
  if (waitedMs < serverWaitMs.serving) return serverWaitMs.serving - waitedMs;
  throw new TvsError("STORE_UNAVAILABLE", "the database is too slow; try again");
}
