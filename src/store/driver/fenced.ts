import { TvsError } from "../../domain/errors.ts";
import { databaseNow } from "../server/served.ts";
import { type Driver, type Statement, statement } from "./driver.ts";

/** Who may do what a lease is for. The fence tells its holders apart: it is another number with each of them. */
export type Lease = { readonly name: string; readonly nodeId: string; readonly fence: number };

const take = `INSERT INTO leases (name, node_id, fence, expires_at) VALUES (?1, ?2, 1, ${databaseNow} + ?3)
  ON CONFLICT (name) DO UPDATE SET fence = fence + (node_id <> excluded.node_id), node_id = excluded.node_id,
    expires_at = excluded.expires_at
  WHERE node_id = excluded.node_id OR expires_at NOT BETWEEN ${databaseNow} AND excluded.expires_at RETURNING fence`;

/**
 * Takes or renews a lease; returns its fence, and nothing while another node holds it. One that ends later than a lease
 * may, because the database's clock was set back, holds nobody up.
 */
export function takeLease({ name, nodeId }: Omit<Lease, "fence">, forMs: number): Statement {
  return { sql: take, args: [name, nodeId, forMs] };
}

const selectHeld = "SELECT 1 FROM leases WHERE name = ? AND node_id = ? AND fence = ?";

/**
 * A driver for the holder of a lease: what it writes is written only while nobody has taken the lease over. A node that
 * was paused in the middle of its work and wakes up after its successor has begun writes nothing any more
 * (decision D12.2).
 */
export function fenced(driver: Driver, { name, nodeId, fence }: Lease): Driver {
  const write: Driver["write"] = (work, waitMs) =>
    driver.write(async (tx) => {
      const [held = []] = await tx.batch([statement(selectHeld, [name, nodeId, fence])]);
      if (held.length === 0) throw new TvsError("STORE_CONSTRAINT", "another node has taken the lease");
      return work(tx);
    }, waitMs);
  return { ...driver, write, batch: (statements, waitMs) => write((tx) => tx.batch(statements), waitMs) };
}
