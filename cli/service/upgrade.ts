/** `tvs upgrade`: a register of an earlier release is brought to this program's schema, after a backup. */

import { lstatSync } from "node:fs";
import words from "../../data/commands.json" with { type: "json" };
import type { Config } from "../../src/config.ts";
import { systemClock } from "../../src/domain/clock.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { inspectBackup, makeBackup, withImmutable } from "../../src/store/driver/backup.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { migrate, refuseOlderService, schemaVersion } from "../../src/store/driver/migrations.ts";
import { command, configOf } from "../command.ts";
import { withOperator } from "../open.ts";
import { noBackupArg } from "../serve/options.ts";
import { hint, print, readable } from "../terminal/output.ts";

type Upgraded = Awaited<ReturnType<typeof upgradeRegister>>;

export const upgradeCommand = command({
  ...words.upgrade,
  args: noBackupArg,
  async run({ args }) {
    const config = configOf(args);
    let upgraded: Upgraded = { from: schemaVersion, to: schemaVersion, backup: null };
    const whenOlder = async (driver: Driver, from: number) => {
      upgraded = await upgradeRegister(driver, { config, from, isBackedUp: args["no-backup"] !== true });
    };
    await withOperator(config, async () => {}, { whenOlder });
    print(args, upgraded, () => readable(upgradeText(upgraded, config)));
    if (upgraded.backup !== null)
      hint(args, `tvs restore ${upgraded.backup} --force, by the earlier release, takes it back`);
  },
});

function upgradeText({ from, to, backup }: Upgraded, { database }: Config): string {
  if (from === to) return `The register has schema ${to}, as this program has: nothing was changed.`;
  const server = "; tvs help libsql says how a libSQL server is backed up";
  const before = backup === null ? "no backup was made" : `as it was before it is kept as ${backup}`;
  return `The register was brought from schema ${from} to ${to}; ${before}${database.kind === "server" ? server : ""}.`;
}

/**
 * Brings a register of an earlier release to this program's schema. Of a file a backup is made first, beside it.
 * @param from its schema
 * @returns both schemas, and what the register was before: null where no backup was made
 * @throws TvsError DATABASE_IN_USE while an older service uses it that could not go on, REFUSED where the backup cannot
 *   be made, STORE_*
 */
export async function upgradeRegister(
  driver: Driver,
  { config, from, isBackedUp }: { config: Config; from: number; isBackedUp: boolean },
) {
  await refuseOlderService(driver, from);
  const { database } = config;
  const isFile = database.kind === "file";
  const backup = isFile && isBackedUp ? await backUpBefore(driver, database.file, from) : null;
  await migrate(driver, systemClock.now(), from);
  return { from, to: schemaVersion, backup };
}

/**
 * Keeps a register as it is before its upgrade. There is one such file for a schema, so that a start that fails again
 * and again fills no disk.
 */
async function backUpBefore(driver: Driver, file: string, from: number): Promise<string> {
  const place = `${file.replace(/\.db$/, "")}-before-${schemaVersion}.db`;
  const isThere = lstatSync(place, { throwIfNoEntry: false }) !== undefined;
  try {
    // One of an older schema is of an upgrade that was cut off on its way: it alone is what was there before, unless the
    // register was put back and used since.
    const isKept =
      isThere && (await inspectBackup(place)).schema < from && (await isUnchanged(driver, place));
    if (!isKept) await makeBackup(driver, place, isThere);
    return place;
  } catch (cause) {
    if (!isTvsError(cause)) throw cause;
    const problem = `no backup could be made before the upgrade: ${cause.message}`;
    throw new TvsError("REFUSED", `${problem}; --no-backup upgrades without one`, { cause });
  }
}

/** What no migration writes: who was asked about, which records and partners changed, and who may ask. */
const newest = `SELECT json_array((SELECT max(id) FROM attestations), (SELECT max(id) FROM history),
  (SELECT json_group_array(partner_id) FROM partners)) AS newest`;

/** Whether nobody has used a register since a backup of it, whose schema may be older. */
async function isUnchanged(driver: Driver, backup: string): Promise<boolean> {
  const [now] = await driver.query(newest);
  return withImmutable(backup, (all) => all(newest)[0]?.newest === now?.newest);
}
