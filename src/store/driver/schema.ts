import type { Row } from "./driver.ts";
import { openNative } from "./native.ts";

/** Every object of a database, its own definition included: tables, indexes, triggers and views. */
export const readObjects = "SELECT type, name, tbl_name, sql FROM sqlite_master";

/** Statistics that SQLite may keep by itself; they change the plan of a query, never its answer. */
const ownStatistics = [
  "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
  "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
];
const maxNameLength = 64;

/**
 * The objects that statements make, found by running them in memory: whoever adds a migration has nothing to note
 * down. It takes some three milliseconds.
 * @throws TvsError STORE_UNAVAILABLE when the database engine cannot be loaded
 */
export async function objectsMadeBy(statements: readonly string[]): Promise<Row[]> {
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
export function schemaDifference(found: readonly Row[], expected: readonly Row[]): string | null {
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
