import { createHash } from "node:crypto";
import { isTvsError, TvsError } from "../../domain/errors.ts";
import type { Driver, Row, SqlStatement } from "./driver.ts";
import initial from "./migrations/001_initial.sql" with { type: "text" };
import webhooks from "./migrations/002_webhooks.sql" with { type: "text" };
import upkeep from "./migrations/003_attestation_upkeep.sql" with { type: "text" };
import quotaWindows from "./migrations/004_quota_windows.sql" with { type: "text" };
import idempotencyKid from "./migrations/005_idempotency_kid.sql" with { type: "text" };
import revocationOrigin from "./migrations/006_revocation_origin.sql" with { type: "text" };
import fanOut from "./migrations/007_fan_out.sql" with { type: "text" };
import { objectsMadeBy, readObjects, schemaDifference } from "./schema.ts";

/** Numbered from 1, forward only; a migration that has been released is never edited again. */
const migrations: readonly string[] = [
  initial,
  webhooks,
  upkeep,
  quotaWindows,
  idempotencyKid,
  revocationOrigin,
  fanOut,
];

/** The schema that this program makes. */
export const schemaVersion = migrations.length;

/** Stands in every database to the letter, so its white space may not change either. */
const ownTable = `TABLE schema_migrations (
              version INTEGER PRIMARY KEY, sha256 TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`;

/** What a database says of itself, read as one, because another process may be migrating it just now. */
const readAccount = `SELECT 'migration' AS type, version AS name, sha256 AS tbl_name, NULL AS sql
  FROM (SELECT version, sha256 FROM schema_migrations ORDER BY version) UNION ALL ${readObjects}`;

/**
 * Brings the database to this program's schema. Each migration is one transaction, and two processes
 * that start together do not disturb each other: the second finds the number taken and goes on.
 *
 * A trigger of somebody else's could undo what a command has just done, and go on doing so. So the schema is compared
 * with what the migrations make before anything is written.
 * @throws TvsError DATABASE_TOO_NEW when a newer program has migrated it, STORE_CORRUPT when an applied
 *   migration is not the one that this program knows, or the schema not the one that the migrations make
 */
export async function migrate(driver: Driver, now: number): Promise<void> {
  if ((await driver.query(readObjects)).length === 0)
    await driver.batch([{ sql: `CREATE ${ownTable.replace("TABLE", "TABLE IF NOT EXISTS")}`, args: [] }]);
  for (let version = (await requireOwnSchema(driver)) + 1; version <= migrations.length; version++) {
    await apply(driver, version, now);
  }
}

/**
 * @returns the number of the newest migration that it has
 * @throws TvsError DATABASE_TOO_NEW, STORE_CORRUPT
 */
export async function requireOwnSchema(driver: Driver): Promise<number> {
  const found = await inspectSchema((sql) => driver.query(sql));
  if (found === null) throw foreignDatabase();
  if (found.difference === null) return found.version;
  const message =
    `the schema of the database was changed by another program: ${found.difference}; ` +
    "find out who can write to it, and restore a backup from before";
  throw new TvsError("STORE_CORRUPT", message);
}

export function foreignDatabase(): TvsError {
  return new TvsError("STORE_CORRUPT", "this database belongs to another program");
}

export type SchemaFound = {
  /** Number of the newest migration that it has. */
  readonly version: number;
  /** In words, how the schema differs from what the migrations up to that one make; null when it does not. */
  readonly difference: string | null;
};

/**
 * Compares a database with what this program would have made of it.
 * @param all runs one reading statement on it
 * @returns null for a database of another program
 * @throws TvsError DATABASE_TOO_NEW, STORE_CORRUPT when an applied migration is not the one that this program knows
 */
export async function inspectSchema(
  all: (sql: string) => Row[] | Promise<Row[]>,
): Promise<SchemaFound | null> {
  // Before it is read from: a view of that name could be anything.
  if (!(await all(readObjects)).some(({ sql }) => sql === `CREATE ${ownTable}`)) return null;
  const account = await all(readAccount);
  const applied = account.filter(({ type }) => type === "migration");
  refuseForeignMigrations(applied.map(({ tbl_name }) => String(tbl_name)));
  const objects = account.filter(({ type }) => type !== "migration");
  const version = applied.length;
  return { version, difference: schemaDifference(objects, await objectsAt(version)) };
}

const derived = new Map<number, Promise<Row[]>>();

/** The objects of a database with so many migrations. */
function objectsAt(version: number): Promise<Row[]> {
  const texts = [
    `CREATE ${ownTable}`,
    ...migrations
      .slice(0, version)
      .flatMap(statements)
      .map(({ sql }) => sql),
  ];
  const objects = derived.get(version) ?? objectsMadeBy(texts);
  derived.set(version, objects);
  return objects;
}

/**
 * @param applied digests of the applied migrations, in order
 * @throws TvsError DATABASE_TOO_NEW, STORE_CORRUPT
 */
function refuseForeignMigrations(applied: readonly string[]): void {
  if (applied.length > migrations.length) {
    const message =
      `the database has schema ${applied.length}, this program knows ${migrations.length}: ` +
      "a newer tvs has used it; run that one, or restore a backup from before the upgrade";
    throw new TvsError("DATABASE_TOO_NEW", message);
  }
  for (const [index, sha256] of applied.entries()) {
    if (sha256 !== digest(migrations[index] ?? "")) {
      throw new TvsError(
        "STORE_CORRUPT",
        `schema ${index + 1} of the database is not the one this program made`,
      );
    }
  }
}

async function apply(driver: Driver, version: number, now: number): Promise<void> {
  const text = migrations[version - 1] ?? "";
  const record: SqlStatement = {
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
function statements(text: string): SqlStatement[] {
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
