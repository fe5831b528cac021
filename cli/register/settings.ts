/** Makes command options from the table of settings (`src/domain/settings.ts`), and reads the settings in force. */

import { dirname, join } from "node:path";
import type { Config } from "../../src/config.ts";
import type { ApiKeyKind } from "../../src/domain/credentials.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { defaultPolicy, type Policy, parsePolicy } from "../../src/domain/policy.ts";
import {
  initialIssuer,
  isIssuerSet,
  optionNameOf,
  readSettings,
  type SettingRow,
  type Settings,
  serveSettings,
  sharedSettings,
} from "../../src/domain/settings.ts";
import { defaultSite, type SiteDetails } from "../../src/domain/site.ts";
import type { SettingsStore } from "../../src/store/settings.ts";
import { type ArgDefinitions, option, toggle } from "../command.ts";
import { readSmallFile } from "../safe/input-file.ts";

export const serveArgs: ArgDefinitions = Object.fromEntries(
  Object.entries<SettingRow>({ ...serveSettings, ...sharedSettings }).map(([name, { hint }]) => [
    optionNameOf(name),
    hint === undefined ? toggle() : option(hint),
  ]),
);

/**
 * Reads the settings in force. A command's option takes precedence over the stored value, which replaces the default.
 * @param defaultIssuer the issuer if none was ever set, such as the URL at which a starting service listens; null if
 *   an issuer must have been set
 * @throws TvsError CONFIG_INVALID, INPUT_UNREADABLE
 */
export async function readSettingsInForce(
  stored: ReadonlyMap<string, string>,
  config: Config,
  defaultIssuer?: string | null,
): Promise<Settings> {
  const isSet = isIssuerSet(stored);
  if (config.issuer === undefined && !isSet && defaultIssuer === null) {
    const message =
      "a service that others reach needs its public URL, the issuer of every envelope: " +
      "--issuer https://verify.example.gov (TVS_ISSUER)";
    throw new TvsError("CONFIG_INVALID", message);
  }
  const remembered = readSettings(stored, {
    issuer: initialIssuer,
    timeZone: sharedSettings.timeZone.usual,
    policy: defaultPolicy,
    allowPrivateWebhooks: false,
    statusList: config.sandbox,
    site: defaultSite,
  });
  const usual = isSet ? remembered.issuer : (defaultIssuer ?? remembered.issuer);
  return {
    issuer: config.issuer ?? usual,
    timeZone: config.timeZone ?? remembered.timeZone,
    policy: config.policy === undefined ? remembered.policy : readPolicyFile(config.policy),
    allowPrivateWebhooks: config.allowPrivateWebhooks ?? remembered.allowPrivateWebhooks,
    statusList: config.statusList ?? remembered.statusList,
    site: config.site === undefined ? remembered.site : await readSiteFile(config.site),
  };
}

/** Reads whether a database is live or a sandbox, which its first command stores. @throws TvsError REFUSED */
export async function readKeyKind(settings: SettingsStore, { sandbox }: Config): Promise<ApiKeyKind> {
  const stored =
    (await settings.read()).get("environment") ??
    (await settings.writeFirst("environment", sandbox ? "sandbox" : "live"));
  if (sandbox && stored !== "sandbox") {
    throw new TvsError("REFUSED", "this is a live database; a sandbox needs a database of its own");
  }
  return stored === "sandbox" ? "test" : "live";
}

/** Reads a site file and the logo that it names. @throws TvsError INPUT_UNREADABLE, CONFIG_INVALID */
async function readSiteFile(file: string): Promise<SiteDetails> {
  if (file === "none") return defaultSite;
  // Loads the parser only here, because most commands have no site file.
  const { parseSiteFile } = await import("../../src/domain/site-file.ts");
  const text = readSmallFile(file, `the site file ${file}`).toString("utf8");
  return parseSiteFile(text, (name) =>
    readSmallFile(join(dirname(file), name), `the logo ${name} beside ${file}`),
  );
}

/** Reads a policy file. @throws TvsError INPUT_UNREADABLE, CONFIG_INVALID */
export function readPolicyFile(file: string): Policy {
  return parsePolicy(readSmallFile(file, `the policy file ${file}`).toString("utf8"));
}
