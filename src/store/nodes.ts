import { isClockWrong, type Node, type NodeStore, nodeTimes } from "../domain/nodes.ts";
import type { Driver, Row, Statement } from "./driver/driver.ts";
import { type Lease, takeLease } from "./driver/fenced.ts";
import { flag, integer, integerOrNull, text, textOrNull } from "./driver/rows.ts";
import { databaseNow, isLiveNode } from "./server/served.ts";

/** The lease of whoever does what one node does for all of them: sweep, upkeep of the evidence log, pruning. */
const housekeeping = "housekeeping";

const upsert = `INSERT INTO nodes (node_id, host, url, version, started_at, seen_at, clock_ahead_ms, pending_kid,
    console_port)
  VALUES (?1, ?2, ?3, ?4, ${databaseNow}, ${databaseNow}, ?5, ?6, ?7)
  ON CONFLICT (node_id) DO UPDATE SET seen_at = excluded.seen_at, clock_ahead_ms = excluded.clock_ahead_ms,
    pending_kid = excluded.pending_kid, console_port = excluded.console_port`;

/** Over a file a lease has no end: its holder does not renew it, and the next one has the file's lock. */
const isHeld = { remote: `expires_at >= ${databaseNow}`, embedded: "TRUE" };
const selectFrom = (kind: Driver["kind"]) => `SELECT *, ${isLiveNode[kind]} AS is_live, ${databaseNow} AS now,
    EXISTS (SELECT 1 FROM leases WHERE name = '${housekeeping}' AND leases.node_id = nodes.node_id
      AND ${isHeld[kind]}) AS keeps_house
  FROM nodes ORDER BY node_id`;

/** The lease of the housekeeping, as the node of an id holds it under a fence. */
export function housekeepingLease(nodeId: string, fence: number): Lease {
  return { name: housekeeping, nodeId, fence };
}

/** Ends what leases a node has, for the next one to take. */
function giveBack(nodeId: string): Statement {
  return { sql: "UPDATE leases SET expires_at = 0 WHERE node_id = ?", args: [nodeId] };
}

/** Who serves the database. Over a file nobody does whose lock is not held, and who holds it is seen by that. */
export function createNodeStore(driver: Driver): NodeStore {
  const isFile = driver.kind === "embedded";
  const select = selectFrom(driver.kind);
  const nowOf = ([row]: readonly Row[] = []) => (isFile || row === undefined ? null : integer(row, "now"));

  return {
    async beat({ nodeId, host, url, version, clockAheadMs, pendingKid, consolePort }) {
      const [, lease, rows = []] = await driver.batch([
        { sql: upsert, args: [nodeId, host, url, version, clockAheadMs, pendingKid, consolePort] },
        isClockWrong(clockAheadMs)
          ? giveBack(nodeId)
          : takeLease({ name: housekeeping, nodeId }, nodeTimes.leaseMs),
        { sql: select, args: [] },
      ]);
      const held = lease?.[0];
      return {
        nodes: rows.map((row) => nodeOf(row, { mayLive: true, isFile })),
        fence: held === undefined ? null : integer(held, "fence"),
        now: nowOf(rows),
      };
    },
    async leave(nodeId) {
      await driver.batch([{ sql: "DELETE FROM nodes WHERE node_id = ?", args: [nodeId] }, giveBack(nodeId)]);
    },
    async removeOthers(nodeId) {
      await driver.batch([
        { sql: "DELETE FROM nodes WHERE node_id <> ?", args: [nodeId] },
        { sql: "UPDATE leases SET expires_at = 0 WHERE node_id <> ?", args: [nodeId] },
      ]);
    },
    async list() {
      const mayLive = !isFile || (await driver.serviceRunning());
      return (await driver.query(select)).map((row) => nodeOf(row, { mayLive, isFile }));
    },
    async forget(goneForMs) {
      // Over a file there is one, which says nothing while it lives.
      if (isFile) return;
      const sql = `DELETE FROM nodes WHERE seen_at NOT BETWEEN ${databaseNow} - ?1 AND ${databaseNow} + ?1`;
      await driver.batch([{ sql, args: [goneForMs] }]);
    },
    async now() {
      return isFile ? null : nowOf(await driver.query(`SELECT ${databaseNow} AS now`));
    },
  };
}

function nodeOf(row: Row, { mayLive, isFile }: { mayLive: boolean; isFile: boolean }): Node {
  const isLive = mayLive && flag(row, "is_live");
  return {
    nodeId: text(row, "node_id"),
    host: text(row, "host"),
    url: text(row, "url"),
    version: text(row, "version"),
    startedAt: integer(row, "started_at"),
    seenAt: integer(row, isFile && isLive ? "now" : "seen_at"),
    state: isLive ? "live" : "gone",
    clockAheadMs: integer(row, "clock_ahead_ms"),
    pendingKid: textOrNull(row, "pending_kid"),
    consolePort: integerOrNull(row, "console_port"),
    keepsHouse: isLive && flag(row, "keeps_house"),
  };
}
