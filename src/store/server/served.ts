import { nodeTimes } from "../../domain/nodes.ts";
import type { Driver, Row } from "../driver/driver.ts";

/** Milliseconds since the epoch by the clock of the database: those of the machines that use it may differ. */
export const databaseNow = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

const nodesTable = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'nodes'";
/** It was seen less than so long ago, and not in a future in which the database's clock was before it was set back. */
const wasJustSeen = `seen_at BETWEEN ${databaseNow} - ${nodeTimes.goneMs} AND ${databaseNow} + ${nodeTimes.goneMs}`;
/**
 * SQL: a node lives. Over a server it goes on saying so. Over a file only its lock says who serves, and whoever takes
 * that takes every other node out: the one row that stands there is its holder's, or of one that was killed.
 */
export const isLiveNode = { remote: wasJustSeen, embedded: "TRUE" } satisfies Record<Driver["kind"], string>;
/** SQL for the ids of the nodes that live, as far as a database of a kind tells. */
export const liveNodeIds = (kind: Driver["kind"]) => `SELECT node_id FROM nodes WHERE ${isLiveNode[kind]}`;

/** Whether a service uses a database that lies on a server. One that is not a register is used by none. */
export async function isServed(query: (sql: string) => Promise<Row[]>): Promise<boolean> {
  const isRegister = (await query(nodesTable)).length > 0;
  return isRegister && (await query(liveNodeIds("remote"))).length > 0;
}
