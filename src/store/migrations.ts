import { createHash } from "node:crypto";
import { isTvsError, TvsError } from "../domain/errors.ts";
import type { Driver, Row, Statement } from "./driver.ts";
import initial from "./migrations/001_initial.sql" with { type: "text" };
import webhooks from "./migrations/002_webhooks.sql" with { type: "text" };
import upkeep from "./migrations/003_attestation_upkeep.sql" with { type: "text" };
import quotaWindows from "./migrations/004_quota_windows.sql" with { type: "text" };
import idempotencyKid from "./migrations/005_idempotency_kid.sql" with { type: "text" };

/** Numbered from 1, forward only; a migration that has been released is never edited again. */
const migrations: readonly string[] = [initial, webhooks, upkeep, quotaWindows, idempotencyKid];

/** The schema that this program makes. */
export const schemaVersion = migrations.length;

/**
 * Brings the database to this program's schema. Each migration is one transaction, and two processes
 * that start together do not disturb each other: the second finds the number taken and goes on.
 * @throws TvsError DATABASE_TOO_NEW when a newer program has migrated it, STORE_CORRUPT when an applied
 *   migration is not the one that this program knows
 */
export async function migrate(driver: Driver, now: number): Promise<void> {
  const applied = await appliedMigrations(driver);
  refuseForeignSchema(applied);
  for (let version = applied.length + 1; version <= migrations.length; version++) {
    await apply(driver, version, now);
  }
}

async function appliedMigrations(driver: Driver): Promise<Row[]> {
  const tables = await driver.query("SELECT name FROM sqlite_master WHERE type = 'table'");
  if (tables.some((table) => table.name === "schema_migrations")) {
    return driver.query("SELECT version, sha256 FROM schema_migrations ORDER BY version");
  }
  if (tables.length > 0) throw new TvsError("STORE_CORRUPT", "this database belongs to another program");
  await driver.batch([
    {
      sql: `CREATE TABLE IF NOT EXISTS schema_migrations (
              version INTEGER PRIMARY KEY, sha256 TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`,
      args: [],
    },
  ]);
  return driver.query("SELECT version, sha256 FROM schema_migrations ORDER BY version");
}

/**
 * @param applied rows of `schema_migrations`, in order
 * @throws TvsError DATABASE_TOO_NEW, STORE_CORRUPT
 */
export function refuseForeignSchema(applied: readonly Row[]): void {
  if (applied.length > migrations.length) {
    const message =
      `the database has schema ${applied.length}, this program knows ${migrations.length}: ` +
      "a newer tvs has used it; run that one, or restore a backup from before the upgrade";
    throw new TvsError("DATABASE_TOO_NEW", message);
  }
  for (const [index, row] of applied.entries()) {
    if (row.sha256 !== digest(migrations[index] ?? "")) {
      throw new TvsError(
        "STORE_CORRUPT",
        `schema ${index + 1} of the database is not the one this program made`,
      );
    }
  }
}

async function apply(driver: Driver, version: number, now: number): Promise<void> {
  const text = migrations[version - 1] ?? "";
  const record: Statement = {
    sql: "INSERT INTO schema_migrations (version, sha256, applied_at) VALUES (?, ?, ?)",
    args: [version, digest(text), now],
  };
  try {
    await driver.batch([record, ...statements(text)]);
  } catch (error) {
    // Another process was faster; anything else that is wrong shows itself at the next statement.
    if (!isTvsError(error, "STORE_CONSTRAINT")) throw error;
  }
}

/** Splits at semicolons that end a line. */
function statements(text: string): Statement[] {
  return text
    .replace(/^\s*--.*$/gm, "")
    .split(/;[ \t]*$/m)
    .map((sql) => sql.trim())
    .filter((sql) => sql !== "")
    .map((sql) => ({ sql, args: [] }));
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
