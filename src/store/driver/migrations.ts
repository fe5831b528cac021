import { createHash } from "node:crypto";
import { isTvsError, TvsError } from "../../domain/errors.ts";
import { serverWaitMs } from "../server/remote.ts";
import { type Driver, type Row, type SqlStatement, statement } from "./driver.ts";
import initial from "./migrations/001_initial.sql" with { type: "text" };
import webhooks from "./migrations/002_webhooks.sql" with { type: "text" };
import upkeep from "./migrations/003_attestation_upkeep.sql" with { type: "text" };
import quotaWindows from "./migrations/004_quota_windows.sql" with { type: "text" };
import idempotencyKid from "./migrations/005_idempotency_kid.sql" with { type: "text" };
import revocationOrigin from "./migrations/006_revocation_origin.sql" with { type: "text" };
import fanOut from "./migrations/007_fan_out.sql" with { type: "text" };
import nodes from "./migrations/008_nodes.sql" with { type: "text" };
import evidenceLog from "./migrations/009_evidence_log.sql" with { type: "text" };
import importCodes from "./migrations/010_import_codes.sql" with { type: "text" };
import changes from "./migrations/011_changes.sql" with { type: "text" };
import importFields from "./migrations/012_import_fields.sql" with { type: "text" };
import retentionMark from "./migrations/013_retention_mark.sql" with { type: "text" };
import attestationIndexes from "./migrations/014_attestation_indexes.sql" with { type: "text" };
import statementPeople from "./migrations/015_statements.sql" with { type: "text" };
import statusLists from "./migrations/016_status_lists.sql" with { type: "text" };
import selfService from "./migrations/017_self_service.sql" with { type: "text" };
import hiddenTeachers from "./migrations/018_hidden_teachers.sql" with { type: "text" };
import importLosses from "./migrations/019_import_losses.sql" with { type: "text" };
import { openNative } from "./native.ts";

type Migration = {
  readonly sql: string;
  /** Whether services of the release before may go on beside those of this one: it only adds (decision D12.7). */
  readonly rolls: boolean;
};

/** Numbered from 1, forward only; a migration that has been released is never edited again. */
const migrations: readonly Migration[] = [
  { sql: initial, rolls: false },
  { sql: webhooks, rolls: false },
  { sql: upkeep, rolls: false },
  { sql: quotaWindows, rolls: false },
  { sql: idempotencyKid, rolls: false },
  { sql: revocationOrigin, rolls: false },
  { sql: fanOut, rolls: false },
  { sql: nodes, rolls: false },
  { sql: evidenceLog, rolls: true },
  { sql: importCodes, rolls: true },
  { sql: changes, rolls: true },
  { sql: importFields, rolls: true },
  { sql: retentionMark, rolls: true },
  { sql: attestationIndexes, rolls: false },
  { sql: statementPeople, rolls: true },
  { sql: statusLists, rolls: true },
  { sql: selfService, rolls: false },
  { sql: hiddenTeachers, rolls: false },
  { sql: importLosses, rolls: true },
];

/** The schema that this program makes. */
export const schemaVersion = migrations.length;

/**
 * The definition of the migrations' own table, which stands in every database to the letter, so its white space may
 * not change either.
 */
const ownTable = `TABLE schema_migrations (
              version INTEGER PRIMARY KEY, sha256 TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`;

/** Every object of a database, its own definition included: tables, indexes, triggers and views. */
const readObjects = "SELECT type, name, tbl_name, sql FROM sqlite_master";

/** Statistics that SQLite may keep by itself; they change the plan of a query, never its answer. */
const ownStatistics = [
  "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
  "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
];
const maxNameLength = 64;

/** What a database says of itself, read as one, because another process may be migrating it just now. */
const readAccount = `SELECT 'migration' AS type, version AS name, sha256 AS tbl_name, NULL AS sql
  FROM (SELECT version, sha256 FROM schema_migrations ORDER BY version) UNION ALL ${readObjects}`;

/**
 * Brings the database to this program's schema. Each migration is one transaction, and two processes
 * that start together do not disturb each other: the second finds the number taken and goes on.
 *
 * A trigger of somebody else's could undo what a command has just done, and go on doing so. So the schema is compared
 * with what the migrations make before anything is written.
 * @param found what {@link readSchema} has just found
 * @throws TvsError DATABASE_TOO_NEW when a newer program has migrated it, STORE_CORRUPT when an applied
 *   migration is not the one that this program knows, the schema not the one that the migrations make, or a row in the way,
 *   DATABASE_IN_USE when an older program serves it
 */
export async function migrate(driver: Driver, now: number, found?: number): Promise<void> {
  let version = found ?? (await readSchema(driver));
  const isFresh = version === 0;
  if (isFresh) {
    await driver.batch([statement(`CREATE ${ownTable.replace("TABLE", "TABLE IF NOT EXISTS")}`)]);
    version = await requireOwnSchema(driver);
  } else await refuseOlderService(driver, version);
  while (version < migrations.length) await apply(driver, ++version, { now, isFresh });
}

/**
 * Refuses to change a database under a service of an older program, which knows nothing of what a migration moves into
 * the program; one that only adds leaves that service as it is (decision D12.7).
 * @param version the schema that the database has
 * @throws TvsError DATABASE_IN_USE
 */
export async function refuseOlderService(driver: Driver, version: number): Promise<void> {
  if (migrations.slice(version).every(({ rolls }) => rolls) || !(await driver.serviceRunning())) return;
  const message =
    "the database has to be changed for this program, and a `tvs serve` of an older one uses it; " +
    "stop that service, then try again";
  throw new TvsError("DATABASE_IN_USE", message);
}

/** What every command says of a register of an earlier release that it may not change. */
export function olderSchema(version: number): TvsError {
  const message = `this register has schema ${version}, this program ${schemaVersion}; run tvs upgrade`;
  return new TvsError("DATABASE_TOO_OLD", message);
}

/**
 * Reads what a database is, changing nothing.
 * @returns the number of the newest migration that it has; 0 when it is empty
 * @throws TvsError DATABASE_TOO_NEW, STORE_CORRUPT for a database of another program, or one that somebody else changed
 */
export async function readSchema(driver: Driver): Promise<number> {
  const found = await inspectSchema((sql) => driver.query(sql));
  if (found !== null) return ownVersion(found);
  if ((await driver.query("SELECT 1 FROM sqlite_master LIMIT 1")).length === 0) return 0;
  // Another command may have made the schema between the two reads, whole in one transaction.
  return requireOwnSchema(driver);
}

/**
 * Whether a database holds a register that was made to its end. Its signing keys are what is made last: without them
 * nobody has used it, and the next command that may make a register finishes this one. Nothing is changed.
 */
export async function holdsRegister(driver: Driver): Promise<boolean> {
  const tables = await driver.query(
    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'signing_keys'",
  );
  return tables.length > 0 && (await driver.query("SELECT kid FROM signing_keys LIMIT 1")).length > 0;
}

/**
 * @returns the number of the newest migration that it has
 * @throws TvsError DATABASE_TOO_NEW, STORE_CORRUPT
 */
export async function requireOwnSchema(driver: Driver): Promise<number> {
  return ownVersion(await inspectSchema((sql) => driver.query(sql)));
}

function ownVersion(found: SchemaFound | null): number {
  if (found === null) throw new TvsError("STORE_CORRUPT", "this database belongs to another program");
  if (found.difference === null) return found.version;
  const message =
    `the schema of the database was changed by another program: ${found.difference}; ` +
    "find out who can write to it, and restore a backup from before";
  throw new TvsError("STORE_CORRUPT", message);
}

type SchemaFound = {
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
  if ((await all(`SELECT 1 FROM sqlite_master WHERE sql = 'CREATE ${ownTable}'`)).length === 0) return null;
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
      .flatMap(({ sql }) => statements(sql))
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
    if (sha256 !== digest(migrations[index]?.sql ?? "")) {
      throw new TvsError(
        "STORE_CORRUPT",
        `schema ${index + 1} of the database is not the one this program made`,
      );
    }
  }
}

async function apply(driver: Driver, version: number, { now, isFresh }: { now: number; isFresh: boolean }) {
  const { sql: text = "", rolls = true } = migrations[version - 1] ?? {};
  const record: SqlStatement = {
    sql: "INSERT INTO schema_migrations (version, sha256, applied_at) VALUES (?, ?, ?)",
    args: [version, digest(text), now],
  };
  try {
    const acts = [record, ...statements(text), ...(rolls || isFresh ? [] : [refuseOlder(version)])];
    await driver.batch(acts, serverWaitMs.migration);
  } catch (error) {
    if (!isTvsError(error, "STORE_CONSTRAINT")) throw error;
    // Another process was faster; or a stored row contradicts what the migration makes of it, and then nothing was done.
    const taken = await driver.query("SELECT 1 FROM schema_migrations WHERE version = ?", [version]);
    if (taken.length > 0) return;
    const message = `the database cannot be brought to schema ${version}: what is stored contradicts it`;
    const advice = "nothing of that was changed; restore a backup, or go on with the release that made it";
    throw new TvsError("STORE_CORRUPT", `${message}; ${advice}`, {
      detail: error.detail ?? "",
      cause: error,
    });
  }
}

/** The setting with the oldest schema that a program may know and still use the database. */
export const oldestSchemaName = "oldest_schema";

/** From now on a running program that knows no such schema stops, as soon as it reads its settings again. */
function refuseOlder(version: number): SqlStatement {
  const sql = `INSERT INTO settings (name, value) VALUES (?, ?)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
  return { sql, args: [oldestSchemaName, String(version)] };
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

/**
 * The objects that statements make, found by running them in memory: whoever adds a migration has nothing to note
 * down. It takes some three milliseconds.
 * @throws TvsError STORE_UNAVAILABLE when the database engine cannot be loaded
 */
async function objectsMadeBy(statements: readonly string[]): Promise<Row[]> {
  const db = await openNative(":memory:");
  try {
    for (const sql of statements) db.exec(sql);
    return db.prepare(readObjects).all([]) as Row[];
  } finally {
    db.close();
  }
}

/**
 * How a database differs from what it should hold: by a trigger, a view, a table or an index of somebody else's, one
 * that was altered, or one that is missing. The definitions are compared to the letter.
 * @returns it in words, or null
 */
function schemaDifference(found: readonly Row[], expected: readonly Row[]): string | null {
  const missing = new Map(expected.map((object) => [spelled(object), object]));
  for (const object of found) {
    if (object.type === "table" && ownStatistics.includes(String(object.sql))) continue;
    // Taken out, so that the second of two that are alike is one too many.
    if (missing.delete(spelled(object))) continue;
    const isOurs = expected.some(({ type, name }) => type === object.type && name === object.name);
    return isOurs ? `the ${named(object)} was altered` : `the ${named(object)} is none that tvs makes`;
  }
  for (const object of missing.values()) return `the ${named(object)} is missing`;
  return null;
}

function spelled({ type, name, tbl_name, sql }: Row): string {
  return JSON.stringify([type, name, tbl_name, sql]);
}

/** A foreign name may be anything; it must not draw on the operator's screen. */
function named({ type, name }: Row): string {
  const isKind = ["table", "index", "trigger", "view"].includes(String(type));
  const shown = String(name)
    .replace(/[^\w.-]/g, "?")
    .slice(0, maxNameLength);
  return `${isKind ? type : "object"} ${shown}`;
}
