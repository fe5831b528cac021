import type { Driver } from "./driver.ts";
import { foreignDatabase } from "./migrations.ts";

/**
 * Whether a database holds a register that was made to its end. Its signing keys are what is made last: without them
 * nobody has used it, and the next command that may make a register finishes this one. Nothing is changed.
 * @throws TvsError STORE_CORRUPT for a database of another program
 */
export async function holdsRegister(driver: Driver): Promise<boolean> {
  const tables = await driver.query("SELECT name FROM sqlite_master WHERE type = 'table'");
  const isOurs = tables.some((table) => table.name === "schema_migrations");
  if (tables.length > 0 && !isOurs) throw foreignDatabase();
  if (!tables.some((table) => table.name === "signing_keys")) return false;
  const keys = await driver.query("SELECT kid FROM signing_keys LIMIT 1");
  return keys.length > 0;
}
