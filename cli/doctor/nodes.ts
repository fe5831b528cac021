/** What `tvs doctor` says of the nodes besides what the console says of them: their keys, and this machine's clock. */

import { type Check, checkNamed } from "../../src/domain/check.ts";
import {
  clockAhead,
  clockBoundsMs,
  describeClock,
  type Node,
  type NodeStore,
} from "../../src/domain/nodes.ts";
import { nodesWithout } from "../../src/domain/rotation.ts";

/** Judges whether every node could sign with the next key, which a rotation would wait for. */
export function judgeLoaded(nodes: readonly Node[], pendingKid: string): Check {
  const { ok, warn } = checkNamed("node-keys");
  const behind = nodesWithout(pendingKid, nodes);
  if (behind.length === 0) return ok("all have loaded the pending key");
  const advice =
    "a node loads a key within a second: if it still has not, look at its log and restart it; tvs keys rotate is " +
    "refused until then";
  return warn(`the pending key is not loaded by ${behind.map(({ url }) => url).join(", ")}`, advice);
}

/** Compares this machine's clock with the database's, where that is another one's. */
export async function checkDatabaseClock(nodes: Pick<NodeStore, "now">): Promise<Check[]> {
  const before = Date.now();
  const databaseNow = await nodes.now();
  return databaseNow === null
    ? []
    : [judgeDatabaseClock(clockAhead(databaseNow, { before, after: Date.now() }))];
}

/** @param aheadMs by how much this machine's clock is ahead of the database's */
export function judgeDatabaseClock(aheadMs: number): Check {
  const { ok, warn, fail } = checkNamed("database-clock");
  const off = Math.abs(aheadMs);
  if (off <= clockBoundsMs.warned) return ok("this machine's clock and the database's agree");
  const found = `this machine's clock is ${describeClock(aheadMs)} the database's`;
  const advice = "set the clock that is wrong (timedatectl, chronyc tracking)";
  return off > clockBoundsMs.refused
    ? fail(found, `${advice}; until then commands and tvs serve are refused here`)
    : warn(found, advice);
}
