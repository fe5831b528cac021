import { type Config, pinnedCheckpointFile } from "../src/config.ts";
import { createBlindIndex } from "../src/domain/blind-index.ts";
import { type Acting, service } from "../src/domain/changes.ts";
import { type Clock, createCalendar, systemClock } from "../src/domain/clock.ts";
import { requireRightClock } from "../src/domain/database-clock.ts";
import type { TvsError } from "../src/domain/errors.ts";
import type { ImportDependencies } from "../src/domain/import/import.ts";
import { ensureKeys } from "../src/domain/keys.ts";
import type { Secrets } from "../src/domain/secrets.ts";
import { isIssuerSet } from "../src/domain/settings.ts";
import { createChangeStore } from "../src/store/changes.ts";
import { type CommitOptions, createCommits } from "../src/store/driver/commits.ts";
import type { Driver } from "../src/store/driver/driver.ts";
import { openFile } from "../src/store/driver/file.ts";
import { holdsRegister, makeSchema, readSchema, schemaVersion } from "../src/store/driver/schema.ts";
import { createAttestationStore } from "../src/store/evidence/attestations.ts";
import { createLogStore } from "../src/store/evidence/log.ts";
import { openPinnedCheckpoint } from "../src/store/evidence/pinned-checkpoint.ts";
import { createIdempotencyStore } from "../src/store/idempotency.ts";
import { createImportStore } from "../src/store/imports.ts";
import { createKeyStore } from "../src/store/keys.ts";
import { readDatabaseClock } from "../src/store/leader.ts";
import { createOutbox } from "../src/store/outbox.ts";
import { createPartnerEventStore } from "../src/store/partner-events.ts";
import { createPartnerStore } from "../src/store/partners.ts";
import { createQuotaStore } from "../src/store/quota.ts";
import { openRemote, type RequestKind, serverWaitMs } from "../src/store/server/remote.ts";
import { createSettingsStore } from "../src/store/settings.ts";
import { createStatusListStore } from "../src/store/status-lists.ts";
import { createTeacherStore } from "../src/store/teachers.ts";
import { createWatchStore } from "../src/store/watches.ts";
import { createWebhookStore } from "../src/store/webhooks.ts";
import { actorOf } from "./register/operator-name.ts";
import { hasDatabase, locationOf, loneKeyRefusal, noRegister } from "./register/register.ts";
import { environmentOf, settingsOf } from "./register/settings.ts";
import { ensureDataDir, openVault } from "./safe/vault.ts";

export type Stores = ReturnType<typeof createStores>;

/** What the operator's commands work with: the stores, what is around them, and so what the acts of the domain take. */
export type CommandContext = Awaited<ReturnType<typeof openContext>>;

export type OpenOptions = {
  readonly clock?: Clock;
  /** Whether this process answers callers, who wait less long for a server than a command does. */
  readonly isService?: boolean;
  /** The issuer of a service that was never told one; null when it must be told. */
  readonly defaultIssuer?: string | null;
  /** With it, a register is made where there is none, and these are the words to say so. */
  readonly whenMade?: (words: string) => void;
  /** Settings that a register has from its beginning: those of one that was made before are not touched. */
  readonly firstSettings?: (secrets: Secrets) => Readonly<Record<string, string>>;
  /** How acts share commits. */
  readonly commits?: CommitOptions;
  /** Who acts, where it is not the operator who gave the command. */
  readonly actor?: string;
  /** Told of each request to a server. */
  readonly onRequest?: (kind: RequestKind) => void;
  /** Told, once, that this process cannot work with the database any more until it is started anew. */
  readonly onLost?: (error: TvsError) => void;
};

const defaultKeyBits = 2048;

/**
 * Opens the database and everything over it. With `whenMade`, what a register needs is made where it is missing, the
 * keys last; else nothing is. @throws TvsError REGISTER_MISSING, and with one line for whatever else is wrong
 */
export async function openContext(config: Config, options: OpenOptions = {}) {
  const { clock = systemClock, defaultIssuer, commits, whenMade, firstSettings } = options;
  const acting = {
    // Who only reads need not have a name that a list could show.
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
    const version = await readSchema(driver);
    if (isThere && !(await holdsRegister(driver))) await prepareNew(config, options, driver);
    if (version < schemaVersion) await makeSchema(driver);
    const stores = createStores(driver, { commits, acting });
    const keyKind = await environmentOf(stores.settings, config);
    const secrets = await openVault(config, stores.settings);
    // A further machine over a server: what is its own lies in a folder of its own.
    if (config.database.kind === "server") ensureDataDir(config);
    // Before the keys, with which a register is made to its end: one that was cut off here is begun again.
    if (firstSettings !== undefined && !(await holdsRegister(driver)))
      await stores.settings.write(firstSettings(secrets));
    const isNew = await ensureKeys(stores.keys, secrets, { bits: defaultKeyBits, now: clock.now() });
    if (isNew) whenMade?.(`created a new register in ${locationOf(config)}`);
    const stored = await stores.settings.read();
    const settingsInForce = await settingsOf(stored, config, defaultIssuer);
    return {
      ...{ ...stores, stores, driver, config, clock, secrets, settingsInForce, keyKind, isNew },
      blindIndex: createBlindIndex(secrets.blindIndexKey),
      /** What the database remembered when they were read. */
      remembered: stored,
      /** False for an issuer that nobody chose: the address at which a service happened to listen. */
      issuerTold: config.issuer !== undefined || isIssuerSet(stored),
      calendar: createCalendar(settingsInForce.timeZone),
      /** In whose name changes are made: the operator's, or the service's own. */
      get actor() {
        return acting.actor;
      },
      dataDir: config.dataDir,
      /** The newest checkpoint of the evidence log, outside the database. */
      pinned: openPinnedCheckpoint(pinnedCheckpointFile(config)),
    };
  } catch (error) {
    await driver.close();
    throw error;
  }
}

/**
 * Makes the data directory of a new register, once nothing stands against it: a refused command leaves none behind.
 * @throws TvsError REGISTER_MISSING, REFUSED, CONFIG_INVALID, INPUT_UNREADABLE, STORE_READ_ONLY
 */
async function prepareNew(config: Config, options: OpenOptions, driver?: Driver) {
  const { whenMade, defaultIssuer, isService } = options;
  if (whenMade === undefined) throw (isService ? loneKeyRefusal(config) : null) ?? noRegister(config);
  // A key beside a database that was begun is that of a start that was cut off, or of a command that makes the register
  // just now. The schema comes before the key, so it is looked for after it.
  const refusal = loneKeyRefusal(config);
  if (refusal !== null && !(await isBegun(config, driver))) throw refusal;
  await settingsOf(new Map(), config, defaultIssuer);
  actorOf(config);
  ensureDataDir(config);
}

/** Whether there is a database, though it may not be made to its end. */
async function isBegun(config: Config, driver: Driver | undefined): Promise<boolean> {
  if (config.database.kind === "file" || driver === undefined) return hasDatabase(config);
  return (await readSchema(driver)) > 0;
}

/** For a command that reads the database by itself. @throws TvsError REGISTER_MISSING */
export async function requireRegister(config: Config): Promise<void> {
  if (!(await hasRegister(config))) throw noRegister(config);
}

/** Whether there is a register, which a libSQL server may be without. */
export async function hasRegister(config: Config): Promise<boolean> {
  return (await settingsOfRegister(config)) !== null;
}

/** What a register remembers, for who must know it before opening the register; null where there is none. */
export async function settingsOfRegister(config: Config): Promise<ReadonlyMap<string, string> | null> {
  if (!hasDatabase(config)) return null;
  return closing(await openDriver(config), async (driver) => {
    await readSchema(driver);
    return (await holdsRegister(driver)) ? createSettingsStore(driver).read() : null;
  });
}

export async function openDriver({ database }: Config, options: OpenOptions = {}): Promise<Driver> {
  const { isService, onRequest, onLost } = options;
  if (database.kind === "server") {
    const waitMs = serverWaitMs[isService ? "serving" : "command"];
    return openRemote({ ...database, waitMs, onRequest });
  }
  return openFile({ file: database.file, onLost });
}

/** The stores over a database. @param acting in whose name they change it: the service's, unless told otherwise */
export function createStores(
  driver: Driver,
  { commits, acting = service }: { commits?: CommitOptions | undefined; acting?: Acting } = {},
) {
  const commit = createCommits(driver, commits);
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
  };
}

/** What an import takes of an operator. Its staging lies in the data directory, wherever the database is. */
export function importDependencies(operator: CommandContext): ImportDependencies {
  if (operator.config.database.kind === "server") ensureDataDir(operator.config);
  return { ...operator, imports: createImportStore(operator.driver, operator.dataDir, operator) };
}

/** Opens, acts and closes: the frame of every operator's command. */
export async function withContext<T>(
  config: Config,
  act: (operator: CommandContext) => Promise<T>,
  options: OpenOptions = {},
): Promise<T> {
  const operator = await openContext(config, options);
  return closing(operator.driver, () => act(operator));
}

export async function closing<T>(driver: Driver, act: (driver: Driver) => Promise<T>): Promise<T> {
  try {
    return await act(driver);
  } finally {
    await driver.close();
  }
}
