import { TvsError } from "../domain/errors.ts";
import type { Driver, Row, Transaction } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

/** How long the leader's lease lasts. After the leader was killed, another service leads within this time. */
export const leaseMs = 15_000;

/** Milliseconds since the epoch by the clock of the database, because the clocks of the nodes may differ. */
const databaseNow = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
const select = `SELECT holder, expires_at, ${databaseNow} AS now FROM leader`;
const leaderTable = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'leader'";

/** Reads the clock of a database server; null for a file, whose clock is this machine's. */
export async function readDatabaseClock(driver: Driver): Promise<number | null> {
  if (driver.kind === "embedded") return null;
  const [row] = await driver.query(`SELECT ${databaseNow} AS now`);
  return row === undefined ? null : integer(row, "now");
}

/** The leader's lease among the services over a libSQL server (decision D12.2). */
export function createLeaderStore(driver: Driver) {
  return {
    /** Whether a service has the lease. */
    isHeld: () => isLed((sql) => driver.query(sql)),
    /**
     * Takes or renews the lease.
     * @param holder a new id for each term, so that a service cannot continue the work of its earlier term
     * @returns false while another holder has the lease
     */
    take: (holder: string): Promise<boolean> =>
      driver.write(async (tx) => {
        const [row] = await tx.query(select);
        if (row !== undefined && text(row, "holder") !== holder && isCurrent(row)) return false;
        const sql = `INSERT INTO leader (id, holder, expires_at) VALUES (1, ?1, ${databaseNow} + ?2)
          ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at`;
        await tx.finish([{ sql, args: [holder, leaseMs] }]);
        return true;
      }),
    /** Gives the lease back. */
    async giveBack(holder: string): Promise<void> {
      await driver.batch([{ sql: "DELETE FROM leader WHERE holder = ?", args: [holder] }]);
    },
  };
}

/** Whether a service leads, and so uses, a database on a server. A database without the table has no leader. */
export async function isLed(query: (sql: string) => Promise<Row[]>): Promise<boolean> {
  if ((await query(leaderTable)).length === 0) return false;
  return (await query(select)).some(isCurrent);
}

/** A lease with more than {@link leaseMs} left is from before the database's clock was set back, and has ended. */
function isCurrent(row: Row): boolean {
  const leftMs = integer(row, "expires_at") - integer(row, "now");
  return leftMs >= 0 && leftMs <= leaseMs;
}

/**
 * Makes a driver whose transactions first check that `holder` has the lease. A leader that was suspended for longer than
 * its lease therefore writes nothing.
 */
export function asLeader(driver: Driver, holder: string): Driver {
  const write = <R>(work: (tx: Transaction) => Promise<R>, waitMs?: number): Promise<R> =>
    driver.write(async (tx) => {
      const held = await tx.query("SELECT 1 FROM leader WHERE holder = ?", [holder]);
      if (held.length === 0) throw new TvsError("REFUSED", "another service leads now");
      return work(tx);
    }, waitMs);
  return { ...driver, write, batch: (statements, waitMs) => write((tx) => tx.finish(statements), waitMs) };
}
