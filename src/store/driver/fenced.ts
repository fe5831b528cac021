import { Superseded } from "../../domain/configuration.ts";
import { isTvsError } from "../../domain/errors.ts";
import { isRevision } from "../conditions.ts";
import type { Driver, SqlStatement } from "./driver.ts";

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
