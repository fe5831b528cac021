import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Driver, type Row, statement, type Value } from "../../../src/store/driver/driver.ts";
import { openEmbedded } from "../../../src/store/driver/embedded.ts";
import { makeRegister } from "../../harness/service.ts";

const folder = new URL("../../../src/store/driver/migrations/", import.meta.url);

/** Makes the database of an earlier program, which had only the first `version` migrations. */
export async function migrateTo(driver: Driver, version: number): Promise<void> {
  await driver.batch([
    statement(`CREATE TABLE schema_migrations (
              version INTEGER PRIMARY KEY, sha256 TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`),
  ]);
  const names = readdirSync(folder).sort().slice(0, version);
  for (const [index, name] of names.entries()) {
    const text = readFileSync(new URL(name, folder), "utf8");
    const parts = text
      .replace(/^\s*--.*$/gm, "")
      .split(/;[ \t]*$/m)
      .filter((sql) => sql.trim() !== "");
    const digest = createHash("sha256").update(text).digest("hex");
    const noted = statement("INSERT INTO schema_migrations VALUES (?, ?, 0)", [index + 1, digest]);
    await driver.batch([noted, ...parts.map((sql) => statement(sql))]);
  }
}

/**
 * Makes the register of an earlier program in a data folder: with keys that its master key opens, and nothing else.
 * @param elsewhere an empty database that it is made in, and not in the folder's file
 */
export async function makeOldRegister(dataDir: string, version: number, elsewhere?: Driver): Promise<void> {
  await makeRegister(dataDir);
  const file = join(dataDir, "tvs.db");
  const made = await openEmbedded({ file });
  const tables = ["settings", "signing_keys"];
  const rows = await Promise.all(tables.map((table) => made.query(`SELECT * FROM ${table}`)));
  await made.close();
  for (const name of readdirSync(dataDir)) if (name.startsWith("tvs.db")) rmSync(join(dataDir, name));
  const driver = elsewhere ?? (await openEmbedded({ file }));
  await migrateTo(driver, version);
  for (const [index, table] of tables.entries())
    await driver.batch((rows[index] ?? []).map((row) => insertion(table, row)));
  await driver.close();
}

function insertion(table: string, row: Row) {
  const names = Object.keys(row);
  const values = Object.values(row).map((value) =>
    value instanceof ArrayBuffer ? new Uint8Array(value) : value,
  );
  const places = names.map(() => "?").join(", ");
  return statement(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${places})`, values as Value[]);
}
