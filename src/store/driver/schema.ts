import { TvsError } from "../../domain/errors.ts";
import { serverWaitMs } from "../server/remote.ts";
import { openNativeDatabase } from "./connection.ts";
import { bind, type Driver, type Row } from "./driver.ts";
import schema from "./schema.sql" with { type: "text" };

/** The steps of the schema, each one transaction. A released step is never edited; the next file is `schema-2.sql`. */
const steps: readonly string[] = [schema];
export const schemaVersion = steps.length;

const stepsTable = "CREATE TABLE schema_steps (number INTEGER PRIMARY KEY) STRICT";
const readObjects = "SELECT type, name, tbl_name, sql FROM sqlite_master";
/** Reads steps and objects in one statement, because another process may apply a step between two statements. */
const readStepsAndObjects = `SELECT 'step' AS type, number AS name, '' AS tbl_name, '' AS sql FROM schema_steps
  UNION ALL ${readObjects}`;
/** The tables that ANALYZE makes. They affect only the speed of queries, so they do not count as a changed schema. */
const statistics = [
  "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
  "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
];

/** Applies the missing steps. @throws TvsError DATABASE_IN_USE while a service runs, and those of {@link countSteps} */
export async function applySchema(driver: Driver, all = steps): Promise<void> {
  const found = await countSteps(driver, all);
  const isOlder = found > 0 && found < all.length;
  const inUse = "a `tvs serve` of an older program uses the database; stop it first";
  if (isOlder && (await driver.serviceRunning())) throw new TvsError("DATABASE_IN_USE", inUse);
  for (const [index, step] of [...all.entries()].slice(found)) {
    const record = bind("INSERT INTO schema_steps (number) VALUES (?)", [index + 1]);
    try {
      await driver.batch([...statements(step), record], serverWaitMs.schema);
    } catch (error) {
      // Ignores the error if another process has applied the step.
      if ((await countSteps(driver, all)) <= index) throw error;
    }
  }
}

/** Reads the number of applied steps, 0 for an empty database. @throws TvsError DATABASE_TOO_NEW, STORE_CORRUPT */
export async function countSteps(driver: Driver, all = steps): Promise<number> {
  const found = await inspectSchema((sql) => driver.query(sql), all);
  if (found === null) throw new TvsError("STORE_CORRUPT", "this database belongs to another program");
  if (found.difference === null) return found.version;
  const message =
    `the schema of the database was changed by another program: ${found.difference}; ` +
    "find out who can write to it, and restore a backup from before";
  throw new TvsError("STORE_CORRUPT", message);
}

/** Returns true if a register is complete: it has signing keys, which are stored last. */
export async function isRegisterSetUp(driver: Driver): Promise<boolean> {
  const tables = await driver.query("SELECT 1 FROM sqlite_master WHERE name = 'signing_keys'");
  return tables.length > 0 && (await driver.query("SELECT kid FROM signing_keys LIMIT 1")).length > 0;
}

/** Compares the schema with this program's. @returns null for a foreign database @throws TvsError DATABASE_TOO_NEW */
export async function inspectSchema(query: (sql: string) => Row[] | Promise<Row[]>, all = steps) {
  const first = await query(readObjects);
  if (first.length === 0) return { version: 0, difference: null };
  // Only a table with exactly this definition is ours: a view of the same name could run any SQL.
  if (!first.some(({ sql }) => sql === stepsTable)) return null;
  const rows = await query(readStepsAndObjects);
  const version = rows.filter(({ type }) => type === "step").length;
  if (version > all.length) {
    const message = `the register has schema ${version}, this program knows ${all.length}; use the newer tvs that made it, or restore a backup from before`;
    throw new TvsError("DATABASE_TOO_NEW", message);
  }
  const objects = rows.filter(({ type }) => type !== "step");
  return { version, difference: difference(objects, await objectsOf(all.slice(0, version))) };
}

/** Splits SQL into statements at semicolons that end a line, and leaves out comments. */
function statements(text: string) {
  const parts = text.replace(/^\s*--.*\n/gm, "").split(/;[ \t]*$/m);
  return parts.filter((sql) => sql.trim() !== "").map((sql) => bind(sql.trim()));
}

/** Reads the objects that the steps make, in a new database in memory. This takes some three milliseconds. */
async function objectsOf(made: readonly string[]): Promise<Row[]> {
  const db = await openNativeDatabase(":memory:");
  try {
    for (const { sql } of made.flatMap(statements)) db.exec(sql);
    return db.prepare(readObjects).all([]) as Row[];
  } finally {
    db.close();
  }
}

/** Names the first foreign, altered or missing object. @returns null if all definitions are equal, letter by letter */
function difference(found: readonly Row[], expected: readonly Row[]): string | null {
  const missing = new Map(expected.map((object) => [spelled(object), object]));
  for (const object of found) {
    if (object.type === "table" && statistics.includes(String(object.sql))) continue;
    // The object is deleted from `missing`, so that a second equal object is reported as foreign.
    if (missing.delete(spelled(object))) continue;
    const isOurs = expected.some(({ type, name }) => type === object.type && name === object.name);
    return `the ${named(object)} ${isOurs ? "was altered" : "is not one that tvs makes"}`;
  }
  for (const object of missing.values()) return `the ${named(object)} is missing`;
  return null;
}

const spelled = ({ type, name, tbl_name, sql }: Row) => JSON.stringify([type, name, tbl_name, sql]);

/** Names an object for the terminal. Unusual characters of the name, which anybody may have written, become "?". */
function named({ type, name }: Row): string {
  const kind = ["table", "index", "trigger", "view"].includes(String(type)) ? type : "object";
  const safe = String(name).replace(/[^\w.-]/g, "?");
  return `${kind} ${safe.slice(0, 64)}`;
}
