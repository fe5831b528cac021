import { Superseded } from "../../domain/configuration.ts";
import { isTvsError } from "../../domain/errors.ts";
import { isRevision } from "../conditions.ts";
import { databaseNow } from "../server/served.ts";
import type { Driver, SqlStatement } from "./driver.ts";

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
export function takeLease({ name, nodeId }: Omit<Lease, "fence">, forMs: number): SqlStatement {
  return { sql: take, args: [name, nodeId, forMs] };
}

/** Fails by a missing name, and the batch with it, unless the lease is still the node's under its fence. */
const failUnlessHeld = `INSERT INTO leases (name, node_id, fence, expires_at) SELECT NULL, '', 0, 0
  WHERE NOT EXISTS (SELECT 1 FROM leases WHERE name = ? AND node_id = ? AND fence = ?)`;

/**
 * A driver for the holder of a lease: what it writes is written only while nobody has taken the lease over. A node that
 * was paused in the middle of its work and wakes up after its successor has begun writes nothing any more
 * (decision D12.2).
 */
export function fenced(driver: Driver, { name, nodeId, fence }: Lease): Driver {
  const guard: SqlStatement = { sql: failUnlessHeld, args: [name, nodeId, fence] };
  return {
    ...driver,
    async batch(statements, waitMs) {
      const [, ...rows] = await driver.batch([guard, ...statements], waitMs);
      return rows;
    },
  };
}

/** Fails by a missing value, and the batch with it, unless the revision still is the one that it was judged by. */
const failUnlessRevision = `INSERT INTO revision (id, value) SELECT 2, NULL WHERE NOT ${isRevision}`;

/**
 * A driver for what a caller changes: it is changed only while all that the caller was judged by is still so, its
 * credential and its terms among it (decision D4.8). Its batches throw {@link Superseded} when it is not.
 * @param revision of the snapshot that the caller was judged by
 */
export function atRevision(driver: Driver, revision: number): Driver {
  const guard: SqlStatement = { sql: failUnlessRevision, args: [revision] };
  return {
    ...driver,
    async batch(statements, waitMs) {
      const [, ...rows] = await driver.batch([guard, ...statements], waitMs).catch((error) => {
        const isMoved = isTvsError(error, "STORE_CONSTRAINT") && error.detail?.includes("revision.value");
        throw isMoved ? new Superseded() : error;
      });
      return rows;
    },
  };
}
