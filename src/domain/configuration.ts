import type { KeyStore } from "../store/keys.ts";
import type { PartnerStore } from "../store/partners.ts";
import type { SettingsStore } from "../store/settings.ts";
import { type Clock, createTimeZoneCalendar } from "./clock.ts";
import { loadCredentialIndex } from "./credentials.ts";
import { isTvsError, TvsError } from "./errors.ts";
import { jwksOf, type KeyRing, keyRingOf, lastKeyChangeAt, type SigningKey, signKeyHistory } from "./keys.ts";
import type { Secrets } from "./secrets.ts";
import { createSerialQueue } from "./serial.ts";
import { readSettings, type Settings } from "./settings.ts";
import { teacherIdsAfterSettingName } from "./status-list/lists.ts";

/** Settings, partners, credentials and signing keys at one revision. A snapshot is immutable; a reload replaces it. */
export type Snapshot = Readonly<Awaited<ReturnType<typeof load>>>;

export type Configuration = Awaited<ReturnType<typeof createConfiguration>>;

/** A running service applies a command's change within this time (decision D1.4). */
export const maxSnapshotAgeMs = 1_000;

export type ConfigurationDependencies = {
  readonly settings: SettingsStore;
  readonly partners: PartnerStore;
  readonly keys: KeyStore;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly defaults: Settings;
  /** Called with a key ring before its snapshot is used, so that the signer can load the keys. */
  readonly onKeys?: (ring: KeyRing) => Promise<void>;
};

/** Keeps the newest snapshot. JWKS and active key change in one step, so no envelope is signed by an unpublished key. */
export async function createConfiguration(dependencies: ConfigurationDependencies) {
  let snapshot = await load(dependencies);
  const inTurn = createSerialQueue();
  /** The reload that has not begun yet, shared by all callers. A running reload may miss a caller's change. */
  let next: Promise<Snapshot> | undefined;
  let failingSince: number | undefined;
  let readAt = dependencies.clock.now();

  async function reload(): Promise<Snapshot> {
    next = undefined;
    const begunAt = dependencies.clock.now();
    try {
      if ((await dependencies.settings.revision()) !== snapshot.revision)
        snapshot = await load(dependencies, snapshot.keys);
      failingSince = undefined;
      readAt = begunAt;
    } catch (error) {
      failingSince ??= dependencies.clock.now();
      throw error;
    }
    return snapshot;
  }

  function refresh(): Promise<Snapshot> {
    next ??= inTurn(reload);
    return next;
  }

  return {
    current: (): Snapshot => snapshot,
    /** Returns a snapshot with every change committed before this call. Calls during a reload share the next reload. */
    refresh,
    /**
     * Returns the snapshot for an answer without a commit. A snapshot older than a second, as after a suspension of
     * the process, is read again. If the read fails, the old snapshot is returned.
     */
    async recent(): Promise<Snapshot> {
      const isOld = Math.abs(dependencies.clock.now() - readAt) >= maxSnapshotAgeMs;
      return isOld && failingSince === undefined ? refresh().catch(() => snapshot) : snapshot;
    },
    /** True if every reload has failed for a second or longer; a partner may have been disabled in that time. */
    isStale: () =>
      failingSince !== undefined && Math.abs(dependencies.clock.now() - failingSince) >= maxSnapshotAgeMs,
  };
}

/** Thrown if a precondition of a commit no longer holds. Nothing was stored; the caller retries. */
export class ConflictError extends TvsError {
  constructor() {
    super("STORE_BUSY", "what the answer rests on is being changed; try again");
  }
}

const maxAttempts = 3;

/**
 * Runs a transaction. If its commit is refused, runs the transaction again with a newer snapshot (decision D4.8).
 * @param run returns null or throws {@link ConflictError} if its commit was refused and stored nothing
 * @throws TvsError STORE_BUSY after three refused commits, and the other errors of `run`
 */
export async function retryOnConflict<T>(
  configuration: Configuration,
  run: (snapshot: Snapshot) => Promise<T | null>,
): Promise<T> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const snapshot = attempt === 0 ? configuration.current() : await configuration.refresh();
    const done = await run(snapshot).catch((error) => {
      if (error instanceof ConflictError) return null;
      throw error;
    });
    if (done !== null) return done;
  }
  throw new ConflictError();
}

/**
 * Runs work that signs with a snapshot's active key.
 * @returns null if a rotation during the work has unloaded the key from the signer; the caller retries
 */
export async function runUnlessKeyRotated<T>(
  configuration: Configuration,
  snapshot: Snapshot,
  work: () => Promise<T>,
): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (!isTvsError(error, "SIGNER_UNAVAILABLE")) throw error;
    const { kid } = snapshot.keys.active;
    if ((await configuration.refresh()).keys.active.kid === kid) throw error;
    return null;
  }
}

/** Refuses a database that lacks a key of the old ring. As keys are never deleted, it is another one or an old copy. */
function requireSameRegister(before: KeyRing, found: readonly SigningKey[]): void {
  const kids = new Set(found.map(({ kid }) => kid));
  if (before.keys.every(({ kid }) => kids.has(kid))) return;
  const message =
    "signing keys that this service has published are not in the database any more: it was replaced by another one, or " +
    "by an old copy; put the right one back, then start the service again";
  throw new TvsError("REFUSED", message);
}

async function load(dependencies: ConfigurationDependencies, before?: KeyRing) {
  // The revision is read first. If a change is committed during the reads below, the next reload finds a newer revision.
  const revision = await dependencies.settings.revision();
  const [stored, credentials, keys] = await Promise.all([
    dependencies.settings.read(),
    loadCredentialIndex(dependencies.partners),
    dependencies.keys.list(),
  ]);
  if (before !== undefined) requireSameRegister(before, keys);
  const settings = readSettings(stored, dependencies.defaults);
  const ring = keyRingOf(keys);
  await dependencies.onKeys?.(ring);
  const { secrets } = dependencies;
  return {
    revision,
    settings,
    teacherIdsAfter: Number(stored.get(teacherIdsAfterSettingName) ?? 0),
    calendar: createTimeZoneCalendar(settings.timeZone),
    credentials,
    keys: ring,
    /** The JWKS document and the signed key history, as the service sends them. */
    jwks: JSON.stringify(jwksOf(ring)),
    keyHistory: await signKeyHistory(ring, { issuer: settings.issuer, secrets, now: lastKeyChangeAt(ring) }),
  };
}
