import { TvsError } from "../domain/errors.ts";
import type { Driver, Row, Transaction } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

/** How long the leader's lease lasts: when it is killed, another service leads after that time. */
export const leaseMs = 15_000;

/** Milliseconds since the epoch by the clock of the database: those of the machines that use it may differ. */
const databaseNow = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
const select = `SELECT holder, expires_at, ${databaseNow} AS now FROM leader`;
const leaderTable = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'leader'";

/** The clock of a database on a server; null over a file, where it is this machine's own. */
export async function readDatabaseClock(driver: Driver): Promise<number | null> {
  if (driver.kind === "embedded") return null;
  const [row] = await driver.query(`SELECT ${databaseNow} AS now`);
  return row === undefined ? null : integer(row, "now");
}

/** Who leads the services over a libSQL server (decision D12.2). */
export function createLeaderStore(driver: Driver) {
  return {
    /** Whether somebody has the lease. */
    isHeld: () => isLed((sql) => driver.query(sql)),
    /**
     * Takes or renews the lease.
     * @param holder another id each time that a service begins to lead, so that it cannot go on with what it had in hand before
     * @returns false while another one has it
     */
    take: (holder: string): Promise<boolean> =>
      driver.write(async (tx) => {
        const [[row] = []] = await tx.batch([{ sql: select, args: [] }]);
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

/** Whether a service leads, and so uses, a database that lies on a server; of one that is not a register none does. */
export async function isLed(query: (sql: string) => Promise<Row[]>): Promise<boolean> {
  if ((await query(leaderTable)).length === 0) return false;
  return (await query(select)).some(isCurrent);
}

/** A lease that ends later than one can was given before the database's clock was set back: it keeps nobody waiting. */
function isCurrent(row: Row): boolean {
  const leftMs = integer(row, "expires_at") - integer(row, "now");
  return leftMs >= 0 && leftMs <= leaseMs;
}

/**
 * A driver whose transactions first read that the lease is still its holder's. A service that stood still and wakes up
 * when another one leads writes nothing of what it had in hand.
 */
export function asLeader(driver: Driver, holder: string): Driver {
  const write = <R>(work: (tx: Transaction) => Promise<R>, waitMs?: number): Promise<R> =>
    driver.write(async (tx) => {
      const [rows = []] = await tx.batch([{ sql: "SELECT 1 FROM leader WHERE holder = ?", args: [holder] }]);
      if (rows.length === 0) throw new TvsError("REFUSED", "another service leads now");
      return work(tx);
    }, waitMs);
  return { ...driver, write, batch: (statements, waitMs) => write((tx) => tx.finish(statements), waitMs) };
}
