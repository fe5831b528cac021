import { service } from "../domain/changes.ts";
import { ConflictError } from "../domain/configuration.ts";
import { retentionTagSetting } from "../domain/evidence/retention.ts";
import {
  holdWebhooksName,
  issuerSetName,
  shownSettings,
  unreadableCertificateName,
} from "../domain/settings.ts";
import { createRecorder } from "./changes.ts";
import { type Driver, statement, type Transaction } from "./driver/driver.ts";
import { integer, text } from "./driver/rows.ts";

/** The setting with which a database remembers its master key (Secrets.check): which register it is. */
export const masterKeyCheckName = "master_key_check";
const upsert = `INSERT INTO settings (name, value) VALUES (?, ?)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
const insertFirst = "INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING";
const selectNamed = "SELECT name, value FROM settings WHERE name IN (SELECT value FROM json_each(?))";
/** Moves with every change of settings, partners, credentials and signing keys. */
export const selectRevision = "SELECT value FROM revision WHERE id = 1";

/** Settings whose value a list of changes may show: short, and neither sealed nor about people. */
const shown = [...shownSettings, holdWebhooksName];
/** What the program notes beside a setting, and nobody sets. */
const ownNotes = [issuerSetName, retentionTagSetting, unreadableCertificateName];

export type SettingsStore = ReturnType<typeof createSettingsStore>;

/** Settings by name, and their revision. @param acting in whose name they are changed */
export function createSettingsStore(driver: Driver, acting = service) {
  const recorded = createRecorder(acting);
  const recordedSetting = (name: string, value: string) =>
    recorded({ action: "set", kind: "setting", id: name, detail: shown.includes(name) ? value : null });

  return {
    async read() {
      const rows = await driver.query("SELECT name, value FROM settings");
      return new Map(rows.map((row) => [text(row, "name"), text(row, "value")]));
    },
    write(values: Readonly<Record<string, string>>) {
      return driver.write(async (tx) => {
        const [rows = []] = await tx.batch([statement(selectNamed, [JSON.stringify(Object.keys(values))])]);
        const before = new Map(rows.map((row) => [text(row, "name"), text(row, "value")]));
        const changed = Object.entries(values).filter(([name, value]) => before.get(name) !== value);
        await tx.batch(
          changed.flatMap(([name, value]) => [
            statement(upsert, [name, value]),
            ...(ownNotes.includes(name) ? [] : [recordedSetting(name, value)]),
          ]),
        );
      });
    },
    /** Writes a value, if the setting has none. @returns the stored value, which may be another process's */
    async writeFirst(name: string, value: string) {
      const select = statement("SELECT value FROM settings WHERE name = ?", [name]);
      const [, [row] = []] = await driver.batch([statement(insertFirst, [name, value]), select]);
      return row === undefined ? value : text(row, "value");
    },
    /** Moves with every change that a service keeps in memory; later reads see the change. */
    async revision() {
      const [row] = await driver.query(selectRevision);
      return row === undefined ? 0 : integer(row, "value");
    },
  };
}

/**
 * Requires that the configuration has not changed since the caller was authenticated (decision D4.8).
 * @param revision of the snapshot that the caller was authenticated by
 * @throws ConflictError
 */
export async function requireRevision(tx: Transaction, revision: number): Promise<void> {
  const [[now = {}] = []] = await tx.batch([statement(selectRevision)]);
  if (integer(now, "value") !== revision) throw new ConflictError();
}
