import { TvsError } from "../domain/errors.ts";
import type { Driver, Row, Transaction } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

/** The length of the leader's lease, in ms. If the leader is killed, another node becomes leader within this time. */
export const leaderLeaseMs = 15_000;

/** SQL for the time of the database's clock, in ms since the epoch. The clocks of the nodes may differ. */
const databaseNow = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
const select = `SELECT holder, expires_at, ${databaseNow} AS now FROM leader`;
const leaderTable = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'leader'";

/** Reads a libSQL server's clock, in ms since the epoch. @returns null for a file, which has no clock of its own */
export async function readDatabaseClock(driver: Driver): Promise<number | null> {
  if (driver.kind === "embedded") return null;
  const [row] = await driver.query(`SELECT ${databaseNow} AS now`);
  return row === undefined ? null : integer(row, "now");
}

/** Creates the store of the leader's lease. The nodes of a libSQL server compete for the lease (decision D12.2). */
export function createLeaderStore(driver: Driver) {
  return {
    /** Returns true if a node has the lease now. */
    isHeld: () => hasLeader((sql) => driver.query(sql)),
    /**
     * Acquires or renews the lease.
     * @param holder an id that is new each time a node becomes leader, so that work of an earlier lease is refused
     * @returns false while another holder has the lease
     */
    take: (holder: string): Promise<boolean> =>
      driver.write(async (tx) => {
        const [row] = await tx.query(select);
        if (row !== undefined && text(row, "holder") !== holder && isCurrent(row)) return false;
        const sql = `INSERT INTO leader (id, holder, expires_at) VALUES (1, ?1, ${databaseNow} + ?2)
          ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at`;
        await tx.finish([{ sql, args: [holder, leaderLeaseMs] }]);
        return true;
      }),
    /** Releases the lease. */
    async giveBack(holder: string): Promise<void> {
      await driver.batch([{ sql: "DELETE FROM leader WHERE holder = ?", args: [holder] }]);
    },
  };
}

/** Returns true if a node has the lease, and so uses the database. A database without the table `leader` has no leader. */
export async function hasLeader(query: (sql: string) => Promise<Row[]>): Promise<boolean> {
  if ((await query(leaderTable)).length === 0) return false;
  return (await query(select)).some(isCurrent);
}

/** Returns true if a lease is valid. A lease with more than {@link leaderLeaseMs} left is not: the clock was set back. */
function isCurrent(row: Row): boolean {
  const leftMs = integer(row, "expires_at") - integer(row, "now");
  return leftMs >= 0 && leftMs <= leaderLeaseMs;
}

/**
 * Makes a driver whose transactions first check that `holder` has the lease. A leader that was suspended for longer
 * than its lease can then write nothing.
 */
export function createLeaderDriver(driver: Driver, holder: string): Driver {
  const write = <R>(work: (tx: Transaction) => Promise<R>, waitMs?: number): Promise<R> =>
    driver.write(async (tx) => {
      const held = await tx.query("SELECT 1 FROM leader WHERE holder = ?", [holder]);
      if (held.length === 0) throw new TvsError("REFUSED", "another service leads now");
      return work(tx);
    }, waitMs);
  return { ...driver, write, batch: (statements, waitMs) => write((tx) => tx.finish(statements), waitMs) };
}
