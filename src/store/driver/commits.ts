import { isTvsError, TvsError } from "../../domain/errors.ts";
import type { Driver, Row, Statement } from "./driver.ts";

/** The statements of some acts, and how to read each act's result from the rows that they return. */
type Plan<R> = {
  readonly statements: readonly Statement[];
  /** @param rows of every statement, in order. @returns a result for each act, in order */
  results(rows: readonly Row[][]): readonly R[];
};

/** Acts that cost fewer statements together than each alone; told apart by identity. */
export type ActKind<T, R> = { plan(items: readonly T[]): Plan<R> };

/** One act of the service is committed whole, or not at all. */
export type Commit = {
  /** An act of its own statements. */
  (statements: readonly Statement[]): Promise<Row[][]>;
  /** An act that is planned together with the others of its kind in the same commit. */
  inBatch<T, R>(kind: ActKind<T, R>, item: T): Promise<R>;
};

type CommitLimits = {
  /** Acts in one commit. */
  readonly maxActs?: number;
  /** Acts waiting before further ones are refused. */
  readonly maxQueued?: number;
  /** Told how many acts shared a commit. */
  readonly onGroup?: ((acts: number) => void) | undefined;
};

type Act = {
  readonly kind: ActKind<unknown, unknown>;
  readonly item: unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
};

/**
 * A commit costs some ninety microseconds of processor time whatever is in it, and a turn of the event loop. So under
 * load the next one waits, by what the last one carried, until a group has come: nobody waits who is alone.
 */
const pacePerActMs = 0.5;
const maxPaceMs = 5;
/** The shortest time that a timer can wait. */
const minWaitMs = 1;

/** Statements one after another, as they are. */
const inOrder: ActKind<readonly Statement[], Row[][]> = {
  plan: (items) => ({
    statements: items.flat(),
    results(rows) {
      let offset = 0;
      return items.map((item) => {
        offset += item.length;
        return rows.slice(offset - item.length, offset);
      });
    },
  }),
};

/**
 * Group commit: acts that arrive while a commit is on its way to the disk share the next one, so that
 * the cost of a sync is divided among all calls in flight and an idle service still answers at once.
 *
 * An act that violates a constraint must not take its neighbours with it: when a group fails for that
 * reason, its acts are committed one by one and only the guilty one is told.
 */
export function createCommits(
  driver: Driver,
  { maxActs = 256, maxQueued = 20_000, onGroup }: CommitLimits = {},
): Commit {
  let queue: Act[] = [];
  let running = false;

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      const startedAt = performance.now();
      const group = queue.slice(0, maxActs);
      queue = queue.slice(maxActs);
      await commitGroup(driver, group);
      onGroup?.(group.length);
      const restMs = Math.min(maxPaceMs, group.length * pacePerActMs) - (performance.now() - startedAt);
      if (restMs >= minWaitMs && queue.length < maxActs)
        await new Promise((done) => setTimeout(done, restMs));
    }
    running = false;
  }

  function inBatch<T, R>(kind: ActKind<T, R>, item: T): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      if (queue.length >= maxQueued) {
        reject(new TvsError("OVERLOADED", "too many calls are waiting for the disk; try again shortly"));
        return;
      }
      queue.push({ kind, item, resolve, reject } as Act);
      // A microtask later, so that acts made in the same turn of the event loop already share a commit.
      if (!running) {
        running = true;
        queueMicrotask(drain);
      }
    });
  }

  return Object.assign((statements: readonly Statement[]) => inBatch(inOrder, statements), { inBatch });
}

async function commitGroup(driver: Driver, group: readonly Act[]): Promise<void> {
  try {
    const plans = [...byKind(group)].map(([kind, acts]) => ({
      acts,
      plan: kind.plan(acts.map(({ item }) => item)),
    }));
    const rows = await driver.batch(plans.flatMap(({ plan }) => plan.statements));
    let offset = 0;
    for (const { acts, plan } of plans) {
      const results = plan.results(rows.slice(offset, offset + plan.statements.length));
      offset += plan.statements.length;
      for (const [index, act] of acts.entries()) act.resolve(results[index]);
    }
  } catch (error) {
    if (group.length > 1 && isTvsError(error, "STORE_CONSTRAINT")) {
      for (const act of group) await commitGroup(driver, [act]);
    } else {
      for (const act of group) act.reject(error);
    }
  }
}

function byKind(group: readonly Act[]): Map<Act["kind"], Act[]> {
  const kinds = new Map<Act["kind"], Act[]>();
  for (const act of group) {
    const known = kinds.get(act.kind);
    if (known === undefined) kinds.set(act.kind, [act]);
    else known.push(act);
  }
  return kinds;
}
