import type { SettingsStore } from "../domain/live.ts";
import type { Driver } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

const upsert = `INSERT INTO settings (name, value) VALUES (?, ?)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value <> excluded.value`;

/** What is remembered by name, and the number that tells a running service to read again. */
export function createSettingsStore(driver: Driver): SettingsStore {
  return {
    async read() {
      const rows = await driver.query("SELECT name, value FROM settings");
      return new Map(rows.map((row) => [text(row, "name"), text(row, "value")]));
    },
    async write(values) {
      await driver.batch(
        Object.entries(values).map(([name, value]) => ({ sql: upsert, args: [name, value] })),
      );
    },
    async revision() {
      driver.renew();
      const [row] = await driver.query("SELECT value FROM revision WHERE id = 1");
      return row === undefined ? 0 : integer(row, "value");
    },
  };
}
