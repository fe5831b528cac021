import { serviceActor } from "../domain/changes.ts";
import { ConflictError } from "../domain/configuration.ts";
import { retentionMacSettingName } from "../domain/evidence/retention.ts";
import {
  holdWebhooksSettingName,
  issuerIsSetSettingName,
  namesOfLoggedSettings,
  unreadableCertificateSettingName,
} from "../domain/settings.ts";
import { createChangeRecorder } from "./changes.ts";
import { bind, type Driver, type Row, type Transaction } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

/** The setting with the check value of the master key that made the register (`Secrets.check`). */
export const masterKeyCheckSettingName = "master_key_check";
const upsert = `INSERT INTO settings (name, value) VALUES (?, ?)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
const insertFirst = "INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING";
const selectNamed = "SELECT name, value FROM settings WHERE name IN (SELECT value FROM json_each(?))";
/** SQL for the revision. Triggers raise it with each change of settings, partners, credentials and signing keys. */
export const selectRevisionSql = "SELECT value FROM revision WHERE id = 1";

/** Settings whose values the list of changes shows, because they are short, not encrypted and not personal. */
const shown = [...namesOfLoggedSettings, holdWebhooksSettingName];
/** Settings that the program writes without an operator, so that the list of changes leaves them out. */
const unlistedSettings = [issuerIsSetSettingName, retentionMacSettingName, unreadableCertificateSettingName];

export type SettingsStore = ReturnType<typeof createSettingsStore>;

/** Creates the store of settings and of the revision. @param acting the recorded author of changes */
export function createSettingsStore(driver: Driver, acting = serviceActor) {
  const recorded = createChangeRecorder(acting);
  const recordedSetting = (name: string, value: string) =>
    recorded({ action: "set", kind: "setting", id: name, detail: shown.includes(name) ? value : null });

  return {
    async read() {
      return valuesByName(await driver.query("SELECT name, value FROM settings"));
    },
    write(values: Readonly<Record<string, string>>) {
      return driver.write(async (tx) => {
        const before = valuesByName(await tx.query(selectNamed, [JSON.stringify(Object.keys(values))]));
        const changed = Object.entries(values).filter(([name, value]) => before.get(name) !== value);
        const listed = changed.filter(([name]) => !unlistedSettings.includes(name));
        const records = listed.map(([name, value]) => recordedSetting(name, value));
        await tx.finish([...changed.map((setting) => bind(upsert, setting)), ...records]);
      });
    },
    /** Writes a value if the setting has none. @returns the stored value, which another process may have written */
    async writeFirst(name: string, value: string) {
      const select = bind("SELECT value FROM settings WHERE name = ?", [name]);
      const [, [row] = []] = await driver.batch([bind(insertFirst, [name, value]), select]);
      return row === undefined ? value : text(row, "value");
    },
    /** Reads the revision, which rises with each change of rows that a service keeps in memory. */
    async revision() {
      const [row] = await driver.query(selectRevisionSql);
      return row === undefined ? 0 : integer(row, "value");
    },
  };
}

const valuesByName = (rows: readonly Row[]) =>
  new Map(rows.map((row) => [text(row, "name"), text(row, "value")]));

/**
 * Requires that the configuration has not changed since the caller's authentication (decision D4.8).
 * @param revision the configuration's revision when the caller was authenticated
 * @throws ConflictError
 */
export async function requireRevision(tx: Transaction, revision: number): Promise<void> {
  const [now = {}] = await tx.query(selectRevisionSql);
  if (integer(now, "value") !== revision) throw new ConflictError();
}
