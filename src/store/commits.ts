import { isTvsError, TvsError } from "../domain/errors.ts";
import type { Driver, Row, Statement } from "./driver.ts";

/** One act of the service: statements that are committed together, or not at all. */
export type Commit = (statements: readonly Statement[]) => Promise<Row[][]>;

type Act = { statements: readonly Statement[]; resolve(rows: Row[][]): void; reject(error: unknown): void };

/**
 * Group commit: acts that arrive while a commit is on its way to the disk share the next one, so that
 * the cost of a sync is divided among all calls in flight and an idle service still answers at once.
 *
 * An act that violates a constraint must not take its neighbours with it: when a group fails for that
 * reason, its acts are committed one by one and only the guilty one is told.
 *
 * @param limits `maxActs` in one commit, `maxQueued` acts waiting before further ones are refused
 */
export function createCommits(driver: Driver, limits: { maxActs?: number; maxQueued?: number } = {}): Commit {
  const { maxActs = 256, maxQueued = 20_000 } = limits;
  let queue: Act[] = [];
  let running = false;

  async function drain(): Promise<void> {
    running = true;
    while (queue.length > 0) {
      const group = queue.slice(0, maxActs);
      queue = queue.slice(maxActs);
      await commitGroup(driver, group);
    }
    running = false;
  }

  return (statements) =>
    new Promise((resolve, reject) => {
      if (queue.length >= maxQueued) {
        reject(new TvsError("OVERLOADED", "too many calls are waiting for the disk; try again shortly"));
        return;
      }
      queue.push({ statements, resolve, reject });
      // A microtask later, so that acts made in the same turn of the event loop already share a commit.
      if (!running) {
        running = true;
        queueMicrotask(drain);
      }
    });
}

async function commitGroup(driver: Driver, group: readonly Act[]): Promise<void> {
  try {
    const rows = await driver.batch(group.flatMap((act) => act.statements));
    let offset = 0;
    for (const act of group) {
      act.resolve(rows.slice(offset, offset + act.statements.length));
      offset += act.statements.length;
    }
  } catch (error) {
    if (group.length > 1 && isTvsError(error, "STORE_CONSTRAINT")) {
      for (const act of group) await commitGroup(driver, [act]);
    } else {
      for (const act of group) act.reject(error);
    }
  }
}
