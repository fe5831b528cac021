import { realpathSync, statSync } from "node:fs";
import type { Config } from "../../src/config.ts";
import {
  type Finding,
  fail,
  type NamedFinding,
  nameChecks,
  ok,
  runHealthChecks,
} from "../../src/domain/checks.ts";
import { createTimeZoneCalendar, isoTime, systemClock } from "../../src/domain/clock.ts";
import { loadCredentialIndex } from "../../src/domain/credentials.ts";
import { checkClockDifference, measureClockDifference } from "../../src/domain/database-clock.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import { keyRingOf, lastKeyChangeAt, type SigningKey } from "../../src/domain/keys.ts";
import { takeReadings } from "../../src/domain/readings.ts";
import { holdWebhooksSettingName, unreadableCertificateSettingName } from "../../src/domain/settings.ts";
import { hasSqliteHeader } from "../../src/store/driver/backup.ts";
import { openConnection } from "../../src/store/driver/connection.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { inspectSchema, isRegisterSetUp } from "../../src/store/driver/schema.ts";
import { readDatabaseClock } from "../../src/store/leader.ts";
import { masterKeyCheckSettingName } from "../../src/store/settings.ts";
import { createStores, openDriver, type Stores } from "../open.ts";
import { hasDatabase, missingRegisterError } from "../register/register.ts";
import { checkEvidenceLog, readOldestAttestation } from "./log.ts";
import { type ClientCertificateFacts, checkSettings, checkWebhookReceivers } from "./service.ts";

/** The largest database, in bytes, whose pages are all checked without `--full`. The check reads the whole file. */
const quickBytes = 256 * 1024 * 1024;
/** Small tables that the service needs. They are checked even in a database that is larger than `quickBytes`. */
const smallTables = "settings partners api_keys certificates signing_keys quota_windows imports".split(" ");
/** A stored time can be this much later than the clock (ms) without a failure, because NTP can set a clock back by seconds. */
const clockToleranceMs = 60_000;

type DatabaseReport = ClientCertificateFacts & {
  readonly checks: readonly NamedFinding[];
  /** The stored check value of the master key; null if no database exists, absent if the database is unreadable. */
  readonly masterKeyCheck?: string | null;
  readonly isMissing?: boolean;
};

type Options = { readonly config: Config; readonly full: boolean; readonly now: number };

export async function checkDatabase(options: Options): Promise<DatabaseReport> {
  const { config } = options;
  const { database } = config;
  if (!hasDatabase(config)) return { ...missing(config), masterKeyCheck: null };
  const wrong = database.kind === "file" ? checkFile(database.file) : null;
  if (wrong !== null) return onlyFinding(wrong);
  let driver: Driver | undefined;
  try {
    driver = await openDriver(config);
    return await inspect(driver, options);
  } catch (error) {
    const advice = isTvsError(error) ? error.message : "restore a backup";
    return onlyFinding(fail("it cannot be opened or read", advice));
  } finally {
    await driver?.close();
  }
}

function onlyFinding(database: Finding): DatabaseReport {
  return { checks: nameChecks({ database }) };
}

function missing(config: Config): DatabaseReport {
  const advice = "if there should be one, check --data";
  return { ...onlyFinding(fail(missingRegisterError(config).message, advice)), isMissing: true };
}

function checkFile(file: string): Finding | null {
  if (!statSync(file).isFile()) return fail(`${file} is not a file`, "check --database");
  try {
    if (hasSqliteHeader(realpathSync(file))) return null;
  } catch {
    // A file that cannot be read fails the check too.
  }
  return fail(`${file} is not a database`, "restore a backup");
}

async function inspect(driver: Driver, options: Options): Promise<DatabaseReport> {
  const schema = await checkSchema(driver);
  if (schema === null) {
    const tables = await driver.query("SELECT name FROM sqlite_master WHERE type = 'table'");
    if (tables.length === 0) return missing(options.config);
    return onlyFinding(fail("it belongs to another program", "check --data and --database"));
  }
  if (!(await isRegisterSetUp(driver))) return missing(options.config);
  const stores = createStores(driver);
  const integrity = await checkIntegrity(driver, await stores.status.sizeBytes(), options.full);
  const running = (await driver.serviceRunning()) ? "tvs serve" : "no tvs serve";
  const service = ok(`${running} is running on this database`);
  if (schema.result === "fail") return { checks: nameChecks({ schema, integrity, service }) };
  const keys = await stores.keys.list();
  const { newestAt } = await stores.status.attestations([]);
  const stored = await stores.settings.read();
  const endpoints = (await stores.webhooks.endpoints()).filter((one) => one.disabledReason === null);
  const certificates = await stores.partners.certificates();
  const areKeysThere = ["active", "pending"].every((state) => keys.some((key) => key.state === state));
  const oldest = await readOldestAttestation(stores.evidence);
  return {
    checks: [
      ...nameChecks({
        ...{ schema, integrity, service },
        clock: checkClock([newestAt ?? 0, lastKeyChangeAt({ keys })], options.now),
        "database-clock":
          driver.kind === "remote"
            ? checkClockDifference(await measureClockDifference(() => readDatabaseClock(driver), systemClock))
            : [],
      }),
      ...(areKeysThere
        ? await checkReadings({ stores, stored, keys, options })
        : nameChecks({ "signing-keys": fail("no active or no pending key", "restore a backup") })),
      ...checkSettings(stored, options.config, { oldest, now: options.now }),
      ...nameChecks({ "webhook-receivers": await checkWebhookReceivers(endpoints) }),
    ],
    masterKeyCheck: stored.get(masterKeyCheckSettingName) ?? null,
    certificates: certificates.filter(({ validTo }) => validTo > options.now).length,
    unreadableAt: stored.get(unreadableCertificateSettingName) ?? null,
  };
}

type Opened = { stores: Stores; stored: ReadonlyMap<string, string>; keys: SigningKey[]; options: Options };

async function checkReadings({ stores, stored, keys, options: { config, now } }: Opened) {
  const readings = await takeReadings({
    ...stores,
    calendar: createTimeZoneCalendar(stored.get("time_zone") ?? "UTC"),
    clock: { now: () => now },
  });
  const credentials = await loadCredentialIndex(stores.partners);
  const areWebhooksHeld = stored.get(holdWebhooksSettingName) === "true";
  const issuer = config.issuer ?? stored.get("issuer");
  return [
    ...runHealthChecks({ now, readings, keys: keyRingOf(keys), credentials, areWebhooksHeld }),
    ...(await checkEvidenceLog(readings.log, stores.evidence, { config, issuer })),
  ];
}

/** Checks the schema. @returns null for a database of another program */
async function checkSchema(driver: Driver): Promise<Finding | null> {
  let found: Awaited<ReturnType<typeof inspectSchema>>;
  try {
    found = await inspectSchema((sql) => driver.query(sql));
  } catch (error) {
    if (!isTvsError(error)) throw error;
    return fail("this program does not know it", error.message);
  }
  if (found === null) return null;
  if (found.difference !== null) {
    const advice =
      "stop the service, find out who can write to the database, and restore a backup from before; " +
      "its answers since then cannot be relied on";
    return fail(`it was changed by another program: ${found.difference}`, advice);
  }
  return ok(`${found.version}, as this program expects it`);
}

async function checkIntegrity(driver: Driver, sizeBytes: number | null, full: boolean): Promise<Finding> {
  if (driver.kind === "remote") return ok("left to the libSQL server");
  const isSmall = (sizeBytes ?? 0) <= quickBytes;
  const ofSize = isSmall ? ["quick_check(1)"] : smallTables.map((table) => `quick_check(${table})`);
  for (const check of full ? ["integrity_check(1)"] : ofSize) {
    const [row] = await driver.query(`PRAGMA ${check}`);
    if (String(Object.values(row ?? {})[0]) === "ok") continue;
    return fail("the database is damaged", "stop the service, keep the files, restore the last good backup");
  }
  if (full) return ok("every page and index is sound");
  return ok(isSmall ? "every page is sound" : "the small tables are sound; --full checks the large ones too");
}

/** Checks the clock: if a stored time is in the future, the clock was set back. */
function checkClock(times: readonly number[], now: number): Finding {
  const newest = Math.max(...times);
  if (newest <= now + clockToleranceMs) return ok(isoTime(now));
  const found = `${isoTime(now)}, but the newest data is from ${isoTime(newest)}`;
  return fail(found, "set the clock (NTP) before the service signs again");
}

/** Checks that the native database engine loads. The executable first unpacks the engine into a temp folder. */
export async function checkDatabaseEngine(): Promise<Finding> {
  try {
    const connection = await openConnection(":memory:");
    const [row] = connection.all("SELECT sqlite_version() AS version");
    connection.close();
    return ok(`SQLite ${row?.version}`);
  } catch {
    return fail("it cannot be loaded", "set BUN_TMPDIR to a folder that is writable and not mounted noexec");
  }
}
