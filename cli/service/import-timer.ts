/** The register of an installed service remembers the timer that imports into it. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { readConfig } from "../../src/config.ts";
import { type ImportTimer, readTimer } from "../../src/domain/import/source.ts";
import { settingsOfRegister, withOperator } from "../open.ts";
import { becomeOwner } from "../register/data-owner.ts";
import { rememberTimer } from "../register/import-watch.ts";
import { serviceSettings } from "../register/register.ts";
import { note } from "../terminal/output.ts";

/**
 * Remembers the timer in the register of a service, where it is at hand; else the timer's first run does. From here on
 * root acts as who owns the register, so this comes last.
 * @param root below which the service is installed
 * @param timer null to forget it
 */
export async function rememberImportTimer(
  user: string,
  root: string,
  timer: Omit<ImportTimer, "since"> | null,
): Promise<void> {
  const file = join(root, `etc/tvs/${user}.env`);
  if (!existsSync(file)) return;
  try {
    const { environment } = serviceSettings({}, { TVS_SERVICE_SETTINGS: file });
    const { TVS_DATA: dataDir, TVS_DATABASE: database } = environment;
    // Below another root a database elsewhere is another machine's.
    if (dataDir === undefined || (root !== "/" && database !== undefined)) return;
    const config = readConfig({}, { ...environment, TVS_DATA: join(root, dataDir) });
    becomeOwner(config);
    const stored = await settingsOfRegister(config);
    if (stored === null || (timer === null && readTimer(stored) === null)) return;
    await withOperator(config, ({ settings, clock }) => rememberTimer(settings, timer, clock));
  } catch (error) {
    const doing =
      timer === null ? "forget that a timer imports" : "remember the timer; its first run does that";
    note(`the register could not ${doing}: ${(error as Error).message}`);
  }
}
