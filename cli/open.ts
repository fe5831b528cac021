import { type Config, pinnedCheckpointPathOf } from "../src/config.ts";
import { createBlindIndex } from "../src/domain/blind-index.ts";
import { type ActorAndClock, serviceActor } from "../src/domain/changes.ts";
import { type Clock, createTimeZoneCalendar, systemClock } from "../src/domain/clock.ts";
import { requireRightClock } from "../src/domain/database-clock.ts";
import type { TvsError } from "../src/domain/errors.ts";
import type { ImportDependencies } from "../src/domain/import/import.ts";
import { ensureFirstKeys } from "../src/domain/keys.ts";
import type { Secrets } from "../src/domain/secrets.ts";
import { isIssuerSet } from "../src/domain/settings.ts";
import { createChangeStore } from "../src/store/changes.ts";
import { type CommitOptions, createGroupCommit } from "../src/store/driver/commits.ts";
import type { Driver } from "../src/store/driver/driver.ts";
import { openDatabaseFile } from "../src/store/driver/file.ts";
import { applySchema, countSteps, isRegisterSetUp, schemaVersion } from "../src/store/driver/schema.ts";
import { createAttestationStore } from "../src/store/evidence/attestations.ts";
import { createLogStore } from "../src/store/evidence/log.ts";
import { openPinnedCheckpoint } from "../src/store/evidence/pinned-checkpoint.ts";
import { createIdempotencyStore } from "../src/store/idempotency.ts";
import { createImportHistory, createImportStore } from "../src/store/imports.ts";
import { createKeyStore } from "../src/store/keys.ts";
import { readDatabaseClock } from "../src/store/leader.ts";
import { createOutbox } from "../src/store/outbox.ts";
import { createPartnerEventStore } from "../src/store/partner-events.ts";
import { createPartnerStore } from "../src/store/partners.ts";
import { createQuotaStore } from "../src/store/quota.ts";
import { createRegisterFigures } from "../src/store/register-figures.ts";
import { openDatabaseServer, type ServerRequestKind, serverWaitMs } from "../src/store/server/remote.ts";
import { createSettingsStore } from "../src/store/settings.ts";
import { createStatusListStore } from "../src/store/status-lists.ts";
import { createTeacherStore } from "../src/store/teachers.ts";
import { createWatchStore } from "../src/store/watches.ts";
import { createWebhookStore } from "../src/store/webhooks.ts";
import { actorOf } from "./register/operator-name.ts";
import {
  describeRegisterLocation,
  hasDatabase,
  lostDatabaseError,
  missingRegisterError,
} from "./register/register.ts";
import { readKeyKind, readSettingsInForce } from "./register/settings.ts";
import { ensureDataDir, unlockSecrets } from "./safe/vault.ts";

export type Stores = ReturnType<typeof createStores>;

/** An open register: its stores, secrets and settings, and the operator's name. Commands pass it to the domain. */
export type OpenedRegister = Awaited<ReturnType<typeof openRegister>>;

export type OpenRegisterOptions = {
  readonly clock?: Clock;
  /** Whether this process is `tvs serve`, which waits a shorter time for a libSQL server than other commands do. */
  readonly isService?: boolean;
  /** The issuer of a register whose operator has set none. If null, such a register is refused. */
  readonly defaultIssuer?: string | null;
  /** Called with a notice after a register was made. If undefined, a missing register is refused. */
  readonly whenMade?: (words: string) => void;
  /** Makes the first settings of a new register. An existing register keeps its settings. */
  readonly firstSettings?: (secrets: Secrets) => Readonly<Record<string, string>>;
  readonly commits?: CommitOptions;
  /** The name that is recorded with each change (default: the operator's name). */
  readonly actor?: string;
  readonly onRequest?: (kind: ServerRequestKind) => void;
  /** Called once if this process can no longer use the database and must be restarted. */
  readonly onLost?: (error: TvsError) => void;
};

const defaultKeyBits = 2048;

/**
 * Opens a register: database, stores, secrets and settings. With `whenMade`, a missing or incomplete register is
 * made. @throws TvsError REGISTER_MISSING and other codes, each with a message of one line
 */
export async function openRegister(config: Config, options: OpenRegisterOptions = {}) {
  const { clock = systemClock, defaultIssuer, commits, whenMade, firstSettings } = options;
  const acting = {
    // A getter reads the name only when it is used, so that a wrong name does not stop a command that only reads.
    get actor() {
      return options.actor ?? actorOf(config);
    },
    clock,
  };
  const isThere = hasDatabase(config);
  if (!isThere) await prepareNew(config, options);
  const driver = await openDriver(config, options);
  try {
    await requireRightClock(() => readDatabaseClock(driver), clock);
    const version = await countSteps(driver);
    if (isThere && !(await isRegisterSetUp(driver))) await prepareNew(config, options, driver);
    if (version < schemaVersion) await applySchema(driver);
    const stores = createStores(driver, { commits, acting });
    const keyKind = await readKeyKind(stores.settings, config);
    const secrets = await unlockSecrets(config, stores.settings);
    // Each machine that uses a libSQL server has a data directory for its own files.
    if (config.database.kind === "server") ensureDataDir(config);
    // A register is complete when it has signing keys. If a kill prevents their write, the next command makes the register again.
    if (firstSettings !== undefined && !(await isRegisterSetUp(driver)))
      await stores.settings.write(firstSettings(secrets));
    const isNew = await ensureFirstKeys(stores.keys, secrets, { bits: defaultKeyBits, now: clock.now() });
    if (isNew) whenMade?.(`created a new register in ${describeRegisterLocation(config)}`);
    const stored = await stores.settings.read();
    const settingsInForce = await readSettingsInForce(stored, config, defaultIssuer);
    return {
      ...{ ...stores, stores, driver, config, clock, secrets, settingsInForce, keyKind, isNew },
      blindIndex: createBlindIndex(secrets.blindIndexKey),
      /** The settings that were stored when the register was opened. */
      remembered: stored,
      /** False if nobody has set an issuer. The issuer is then the URL at which the service listens. */
      hasSetIssuer: config.issuer !== undefined || isIssuerSet(stored),
      calendar: createTimeZoneCalendar(settingsInForce.timeZone),
      /** The name that is recorded with each change: `cli:` and the operator's name, or `service`. */
      get actor() {
        return acting.actor;
      },
      dataDir: config.dataDir,
      /** The newest checkpoint of the evidence log, kept in a file outside the database. */
      pinned: openPinnedCheckpoint(pinnedCheckpointPathOf(config)),
    };
  } catch (error) {
    await driver.close();
    throw error;
  }
}

/**
 * Checks that a new register may be made, and then makes its data directory, so that a refused command makes no directory.
 * @throws TvsError REGISTER_MISSING, REFUSED, CONFIG_INVALID, INPUT_UNREADABLE, STORE_READ_ONLY
 */
async function prepareNew(config: Config, options: OpenRegisterOptions, driver?: Driver) {
  const { whenMade, defaultIssuer, isService } = options;
  if (whenMade === undefined)
    throw (isService ? lostDatabaseError(config) : null) ?? missingRegisterError(config);
  // A master key without a database is refused. A command that makes a register writes the schema before the key. This code
  // reads them in the other order, so it never refuses a register that a running or killed command has begun.
  const refusal = lostDatabaseError(config);
  if (refusal !== null && !(await isBegun(config, driver))) throw refusal;
  await readSettingsInForce(new Map(), config, defaultIssuer);
  actorOf(config);
  ensureDataDir(config);
}

/** Whether a database exists, even if its register is incomplete. */
async function isBegun(config: Config, driver: Driver | undefined): Promise<boolean> {
  if (config.database.kind === "file" || driver === undefined) return hasDatabase(config);
  return (await countSteps(driver)) > 0;
}

/** Requires a register, for a command that opens the database itself. @throws TvsError REGISTER_MISSING */
export async function requireRegister(config: Config): Promise<void> {
  if (!(await hasRegister(config))) throw missingRegisterError(config);
}

/** Whether the database has a register. The database of a libSQL server may be empty. */
export async function hasRegister(config: Config): Promise<boolean> {
  return (await readStoredSettings(config)) !== null;
}

/** Reads the stored settings without opening the register. @returns null if the register is missing */
export async function readStoredSettings(config: Config): Promise<ReadonlyMap<string, string> | null> {
  if (!hasDatabase(config)) return null;
  return runAndCloseDriver(await openDriver(config), async (driver) => {
    await countSteps(driver);
    return (await isRegisterSetUp(driver)) ? createSettingsStore(driver).read() : null;
  });
}

export async function openDriver({ database }: Config, options: OpenRegisterOptions = {}): Promise<Driver> {
  const { isService, onRequest, onLost } = options;
  if (database.kind === "server") {
    const waitMs = serverWaitMs[isService ? "serving" : "command"];
    return openDatabaseServer({ ...database, waitMs, onRequest });
  }
  return openDatabaseFile({ file: database.file, onLost });
}

/** Creates the stores over a database. @param acting the name and clock for recorded changes (default: the service's) */
export function createStores(
  driver: Driver,
  { commits, acting = serviceActor }: { commits?: CommitOptions | undefined; acting?: ActorAndClock } = {},
) {
  const commit = createGroupCommit(driver, commits);
  return {
    settings: createSettingsStore(driver, acting),
    keys: createKeyStore(driver, acting),
    partners: createPartnerStore(driver, acting),
    teachers: createTeacherStore(driver),
    attestations: createAttestationStore(driver, commit),
    idempotencyStore: createIdempotencyStore(driver),
    quotaStore: createQuotaStore(driver, commit),
    webhooks: createWebhookStore(driver, acting),
    outbox: createOutbox(driver, commit),
    evidence: createLogStore(driver, acting),
    changes: createChangeStore(driver),
    statusLists: createStatusListStore(driver),
    partnerEvents: createPartnerEventStore(driver),
    watches: createWatchStore(driver),
    imports: createImportHistory(driver),
    status: createRegisterFigures(driver),
  };
}

/** Makes the dependencies of an import. Rows are staged in the data directory, also for a libSQL server. */
export function makeImportDependencies(operator: OpenedRegister): ImportDependencies {
  if (operator.config.database.kind === "server") ensureDataDir(operator.config);
  return { ...operator, imports: createImportStore(operator.driver, operator.dataDir, operator) };
}

export async function withRegister<T>(
  config: Config,
  run: (operator: OpenedRegister) => Promise<T>,
  options: OpenRegisterOptions = {},
): Promise<T> {
  const operator = await openRegister(config, options);
  return runAndCloseDriver(operator.driver, () => run(operator));
}

export async function runAndCloseDriver<T>(driver: Driver, run: (driver: Driver) => Promise<T>): Promise<T> {
  try {
    return await run(driver);
  } finally {
    await driver.close();
  }
}
