/** What `tvs doctor` says of the nodes: who is gone, whose clock is wrong, who stayed behind. */

import {
  clockAhead,
  clockBoundsMs,
  describeClock,
  type Node,
  type NodeStore,
} from "../../src/domain/nodes.ts";
import { nodesWithout } from "../../src/domain/rotation.ts";
import { type Check, fail, ok, warn } from "./check.ts";

type Seen = { readonly nodes: readonly Node[]; readonly pendingKid: string | undefined };

/** Checks the nodes as they stand in the database; where none serves, there is nothing to compare. */
export function judgeNodes({ nodes, pendingKid }: Seen): Check[] {
  const live = nodes.filter(({ state }) => state === "live");
  if (live.length === 0) return [judgeGone(nodes)];
  return [judgeGone(nodes), judgeVersions(live), judgeClocks(live), judgeLoaded(live, pendingKid)];
}

function judgeGone(nodes: readonly Node[]): Check {
  const name = "nodes";
  const gone = nodes.filter(({ state }) => state === "gone");
  const live = `${nodes.filter(({ state }) => state === "live").length} live`;
  if (gone.length === 0) return ok(name, live);
  const advice =
    "find out why in the log there, and start it again; a machine that was taken away is forgotten after a day, and of " +
    "a restored copy that is expected";
  return warn(name, `${live}, ${gone.length} gone without an end: ${urls(gone)}`, advice);
}

function judgeVersions(live: readonly Node[]): Check {
  const name = "node-versions";
  const byVersion = [...Map.groupBy(live, ({ version }) => version)];
  if (byVersion.length === 1) return ok(name, `all run ${byVersion[0]?.[0]}`);
  const found = byVersion.map(([version, those]) => `${version} at ${urls(those)}`).join("; ");
  return warn(name, found, "finish the rolling upgrade: put the newest version on every machine");
}

function judgeClocks(live: readonly Node[]): Check {
  const name = "node-clocks";
  const wrong = live.filter(({ clockAheadMs }) => Math.abs(clockAheadMs) > clockBoundsMs.warned);
  if (wrong.length === 0) return ok(name, `every clock is within ${clockBoundsMs.warned / 1_000} s`);
  const found = wrong.map(
    ({ url, clockAheadMs }) => `${url} is ${describeClock(clockAheadMs)} the database's`,
  );
  const isRefused = wrong.some(({ clockAheadMs }) => Math.abs(clockAheadMs) > clockBoundsMs.refused);
  const advice = "set the clock there (timedatectl, chronyc tracking); beyond 30 s partners are refused";
  return (isRefused ? fail : warn)(name, found.join("; "), advice);
}

function judgeLoaded(live: readonly Node[], pendingKid: string | undefined): Check {
  const name = "node-keys";
  const behind = pendingKid === undefined ? [] : nodesWithout(pendingKid, live);
  if (behind.length === 0) return ok(name, "all have loaded the pending key");
  const advice =
    "a node loads a key within a second: if it still has not, look at its log and restart it; tvs keys rotate is " +
    "refused until then";
  return warn(name, `the pending key is not loaded by ${urls(behind)}`, advice);
}

function urls(nodes: readonly Node[]): string {
  return nodes.map(({ url }) => url).join(", ");
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
  const name = "database-clock";
  const off = Math.abs(aheadMs);
  if (off <= clockBoundsMs.warned) return ok(name, "this machine's clock and the database's agree");
  const found = `this machine's clock is ${describeClock(aheadMs)} the database's`;
  const advice = "set the clock that is wrong (timedatectl, chronyc tracking)";
  return off > clockBoundsMs.refused
    ? fail(name, found, `${advice}; until then commands and tvs serve are refused here`)
    : warn(name, found, advice);
}
