import { service } from "../domain/changes.ts";
import { retentionTagSetting } from "../domain/evidence/retention-mark.ts";
import {
  initSettings,
  issuerToldName,
  type SettingsStore,
  statusListName,
  unreadableCertificateName,
} from "../domain/settings.ts";
import { createRecorder } from "./changes.ts";
import type { Driver } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

/** The setting with which a database remembers its master key (Secrets.check): which register it is. */
export const masterKeyCheckName = "master_key_check";
const upsert = `INSERT INTO settings (name, value) VALUES (?, ?)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value <> excluded.value`;

/** Settings whose value may be told to whoever asks who set it: short, and neither sealed nor about people. */
const toldSettings = [
  ...["issuer", "time_zone", "allow_private_webhooks", "keep_attestations", "hold_webhooks"],
  statusListName,
  ...Object.values(initSettings),
];
/** What the program notes beside a setting, and nobody sets. */
const ownNotes = [issuerToldName, retentionTagSetting, unreadableCertificateName];

/**
 * What is remembered by name, and the number that tells a running service to read again.
 * @param acting in whose name it is changed
 */
export function createSettingsStore(driver: Driver, acting = service): SettingsStore {
  const recorded = createRecorder(acting);
  const recordedSetting = (name: string, value: string) =>
    recorded({
      ...{ action: "set", kind: "setting", id: name },
      detail: toldSettings.includes(name) ? value : null,
    });

  return {
    async read() {
      const rows = await driver.query("SELECT name, value FROM settings");
      const values = new Map(rows.map((row) => [text(row, "name"), text(row, "value")]));
      return values;
    },
    async write(values) {
      const statements = Object.entries(values).flatMap(([name, value]) => [
        { sql: upsert, args: [name, value] },
        ...(ownNotes.includes(name) ? [] : [recordedSetting(name, value)]),
      ]);
      await driver.batch(statements);
    },
    async writeFirst(name, value) {
      const [, rows] = await driver.batch([
        {
          sql: "INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING",
          args: [name, value],
        },
        { sql: "SELECT value FROM settings WHERE name = ?", args: [name] },
      ]);
      return rows?.[0] === undefined ? value : text(rows[0], "value");
    },
    async revision() {
      driver.renew();
      const [row] = await driver.query("SELECT value FROM revision WHERE id = 1");
      return row === undefined ? 0 : integer(row, "value");
    },
  };
}
