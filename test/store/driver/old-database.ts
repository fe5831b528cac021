import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { type Driver, statement } from "../../../src/store/driver/driver.ts";

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
