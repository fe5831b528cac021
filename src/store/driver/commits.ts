import { setImmediate as nextTurn } from "node:timers/promises";
import { isTvsError, TvsError } from "../../domain/errors.ts";
import { serverWaitMs } from "../server/remote.ts";
import type { Driver, Row, Statement, Transaction } from "./driver.ts";

/** Writes of one kind, which are made together in a transaction; told apart by identity. */
export type GroupedWrite<T, R> = {
  /** @returns a result for each item, in order */
  write(tx: Transaction, items: readonly T[]): Promise<readonly R[]>;
  /** How many usual writes one is worth, by its rows; 1 where it is left out. */
  weigh?(item: T): number;
};

/** One write of the service is committed whole, or not at all. */
export type Commit = {
  /** Statements of their own. */
  (statements: readonly Statement[]): Promise<Row[][]>;
  /** A write that is made together with the others of its kind in the same transaction. */
  inGroup<T, R>(kind: GroupedWrite<T, R>, item: T): Promise<R>;
};

export type CommitOptions = {
  /** The weight of a commit at which it takes no further act. */
  readonly maxWeight?: number;
  /** The weight of the acts that wait, beyond which further ones are refused: they are in memory. */
  readonly maxQueued?: number;
  /** Resolves when the signatures are made that will end in further acts; undefined when there are none. */
  readonly moreComing?: (() => Promise<unknown> | undefined) | undefined;
  /** Told how many acts shared a commit, and for how many milliseconds it kept everybody else from committing. */
  readonly onGroup?: ((acts: number, heldMs: number) => void) | undefined;
};

type Act = {
  readonly kind: GroupedWrite<unknown, unknown>;
  readonly item: unknown;
  readonly weight: number;
  readonly queuedAtMs: number;
  resolve(result: unknown): void;
  reject(error: unknown): void;
};

/**
 * Most of what a commit costs does not depend on what is in it. So acts gather while their thread still signs, for this
 * long: nobody waits who is alone.
 */
const usualGatherMs = 5;
/**
 * A commit in place keeps its thread until it is on the disk. Where the disk is slow, acts gather for this many times as
 * long as the last one took, so that most of the time is left for signing; and a thread that would have to wait for
 * another one's commit signs on.
 */
const gatherPerCommit = 2;
const longestGatherMs = 50;
/**
 * Beyond it an act becomes hardly cheaper: in place, where a commit keeps its thread from answering, and on a server,
 * where one is some milliseconds' way and the acts of all of them share the next.
 */
const defaultMaxWeight = { embedded: 64, remote: 128 } as const;

/** Statements one after another, as they are. */
const inOrder: GroupedWrite<readonly Statement[], Row[][]> = {
  weigh: (statements) => statements.length,
  async write(tx, items) {
    const rows = await tx.batch(items.flat());
    let offset = 0;
    return items.map((item) => {
      offset += item.length;
      return rows.slice(offset - item.length, offset);
    });
  },
};

/**
 * Group commit: acts that are made in one turn of the event loop, that gather while their thread signs, or that arrive
 * while a commit is on its way to a server, share a commit, so that its cost is divided among all calls in flight and an
 * idle service still answers at once.
 *
 * An act that violates a constraint must not take its neighbours with it: when a group fails for that
 * reason, its acts are committed one by one and only the guilty one is told.
 */
export function createCommits(driver: Driver, options: CommitOptions = {}): Commit {
  const { maxWeight = defaultMaxWeight[driver.kind], maxQueued = 20_000, onGroup } = options;
  const { moreComing = () => undefined } = options;
  let queue: Act[] = [];
  let queuedWeight = 0;
  let running = false;
  let tookMs = 0;

  function gatherMs(): number {
    if (driver.kind === "remote") return usualGatherMs;
    if (driver.isBusy()) return longestGatherMs;
    return Math.min(longestGatherMs, Math.max(usualGatherMs, gatherPerCommit * tookMs));
  }

  /** The first act is taken however much it weighs. */
  function takeGroup(): Act[] {
    let weight = 0;
    let count = 0;
    while (count < queue.length && (count === 0 || weight < maxWeight)) weight += queue[count++]?.weight ?? 0;
    const group = queue.slice(0, count);
    queue = queue.slice(count);
    queuedWeight -= weight;
    return group;
  }

  /** Acts that waited while others could not be committed have waited as long, and are not made to do so again. */
  function refuseFirst(count: number, error: TvsError): void {
    const refused = queue.slice(0, count);
    queue = queue.slice(count);
    for (const { reject, weight } of refused) {
      queuedWeight -= weight;
      reject(error);
    }
  }

  /** @throws TvsError STORE_UNAVAILABLE when it does not come in time */
  function takeTurn(): Promise<() => void> | undefined {
    const waitedMs = performance.now() - (queue[0]?.queuedAtMs ?? 0);
    return driver.takeTurn(Math.max(0, serverWaitMs.serving - waitedMs));
  }

  /** The group is taken when its turn has come: until then, acts gather in it. */
  async function commitNext(): Promise<void> {
    const turn = takeTurn();
    const giveBack = turn === undefined ? () => {} : await turn;
    try {
      const group = takeGroup();
      const behind = queue.length;
      const startedAt = performance.now();
      const failure = await commitGroup(driver, group);
      if (isTvsError(failure, "STORE_BUSY") || isTvsError(failure, "STORE_UNAVAILABLE"))
        refuseFirst(behind, failure);
      tookMs = performance.now() - startedAt;
      onGroup?.(group.length, driver.heldMs() ?? 0);
    } finally {
      giveBack();
    }
  }

  async function drain(): Promise<void> {
    // The runtime tells of each socket by itself, so calls that came together are all there when this turn is over. On the
    // way to a server nothing is held up meanwhile.
    if (driver.kind === "embedded") await nextTurn();
    for (;;) {
      await gather(() => (queuedWeight < maxWeight ? moreComing() : undefined), gatherMs());
      const askedAtMs = performance.now();
      // Whoever came while the turn was waited for has not waited as long.
      const waiting = () => queue.filter(({ queuedAtMs }) => queuedAtMs <= askedAtMs).length;
      await commitNext().catch((error) => refuseFirst(waiting(), error));
      if (queue.length === 0) break;
      // A commit in place is no pause for whoever else waits for this thread.
      await nextTurn();
    }
    running = false;
  }

  function inGroup<T, R>(kind: GroupedWrite<T, R>, item: T): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      if (queuedWeight >= maxQueued) {
        reject(new TvsError("OVERLOADED", "too many calls are waiting for the disk; try again shortly"));
        return;
      }
      const weight = kind.weigh?.(item) ?? 1;
      queue.push({ kind, item, weight, queuedAtMs: performance.now(), resolve, reject } as Act);
      queuedWeight += weight;
      if (!running) {
        running = true;
        queueMicrotask(drain);
      }
    });
  }

  return Object.assign((statements: readonly Statement[]) => inGroup(inOrder, statements), { inGroup });
}

/**
 * Waits while signatures are made whose calls will end in further acts.
 * @param moreComing as in {@link CommitOptions}; undefined also when the group is full
 * @param mostMs how long it waits at most, in milliseconds
 */
async function gather(moreComing: () => Promise<unknown> | undefined, mostMs: number): Promise<void> {
  const startedAt = performance.now();
  let more = moreComing();
  if (more === undefined) return;
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, mostMs);
  for (; more !== undefined && performance.now() - startedAt < mostMs; more = moreComing()) {
    await Promise.race([more, late.promise]);
    // By the end of this turn, the calls that were signed have asked for their commits.
    await nextTurn();
  }
  clearTimeout(timer);
}

/** @returns why none of the group is known to be committed */
async function commitGroup(driver: Driver, group: readonly Act[]): Promise<unknown> {
  try {
    const written = await driver.write((tx) => writeAll(tx, group), waitMsOf(driver, group));
    for (const [act, result] of written) act.resolve(result);
  } catch (error) {
    if (group.length > 1 && isTvsError(error, "STORE_CONSTRAINT")) {
      for (const act of group) await commitGroup(driver, [act]);
      return undefined;
    }
    for (const act of group) act.reject(error);
    return error;
  }
  return undefined;
}

async function writeAll(tx: Transaction, group: readonly Act[]): Promise<[Act, unknown][]> {
  const written: [Act, unknown][] = [];
  for (const [kind, acts] of Map.groupBy(group, ({ kind }) => kind)) {
    const results = await kind.write(
      tx,
      acts.map(({ item }) => item),
    );
    for (const [index, act] of acts.entries()) written.push([act, results[index]]);
  }
  return written;
}

/**
 * For how long a server is waited for: an act's time counts from when it was asked for, behind other commits too.
 * @throws TvsError STORE_UNAVAILABLE when that time is over, and then nothing was sent
 */
function waitMsOf(driver: Driver, group: readonly Act[]): number | undefined {
  if (driver.kind !== "remote") return undefined;
  const waitedMs = performance.now() - (group[0]?.queuedAtMs ?? 0);
  if (waitedMs < serverWaitMs.serving) return serverWaitMs.serving - waitedMs;
  throw new TvsError("STORE_UNAVAILABLE", "the database is too slow; try again");
}
