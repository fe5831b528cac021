import type { KeyStore } from "../store/keys.ts";
import type { PartnerStore } from "../store/partners.ts";
import type { SettingsStore } from "../store/settings.ts";
import { type Clock, createCalendar } from "./clock.ts";
import { loadCredentialBook } from "./credentials.ts";
import { isTvsError, TvsError } from "./errors.ts";
import { jwks, type KeyRing, keyRing, lastChangeOf, type SigningKey, signKeyHistory } from "./keys.ts";
import type { Secrets } from "./secrets.ts";
import { createSerial } from "./serial.ts";
import { readSettings, type Settings } from "./settings.ts";
import { teacherIdsAfterName } from "./status-list/lists.ts";

/** One consistent view of everything that is read often and changed rarely. Never altered, only replaced. */
export type Snapshot = Readonly<Awaited<ReturnType<typeof load>>>;

export type Configuration = Awaited<ReturnType<typeof createConfiguration>>;

/** What a command changes, a running service honours within one second (decision D1.4). */
export const maxStaleMs = 1_000;

export type ConfigurationDependencies = {
  readonly settings: SettingsStore;
  readonly partners: PartnerStore;
  readonly keys: KeyStore;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly defaults: Settings;
  /** Called with the ring before a snapshot that holds it comes into use: the signer learns its keys. */
  readonly onKeys?: (ring: KeyRing) => Promise<void>;
};

/**
 * Keeps the snapshot. JWKS and active key change in one step, so no envelope is ever signed by a key that
 * the same service did not publish before.
 */
export async function createConfiguration(dependencies: ConfigurationDependencies) {
  let snapshot = await load(dependencies);
  const inTurn = createSerial();
  /** The reading that has not begun yet: one that is under way may have missed what somebody asks for. */
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
    /** Reads again what has changed before this call; at most one read is under way at a time. */
    refresh,
    /**
     * The snapshot for what no commit decides. One that nobody has read again for longer than a change may take to be
     * honoured is read first, because the process may have stood still; where that fails it is the one that there is.
     */
    async recent(): Promise<Snapshot> {
      const isOld = Math.abs(dependencies.clock.now() - readAt) >= maxStaleMs;
      return isOld && failingSince === undefined ? refresh().catch(() => snapshot) : snapshot;
    },
    /**
     * Whether nothing could be read again for longer than a change may take to be honoured: who calls now may have
     * been disabled meanwhile.
     */
    isStale: () =>
      failingSince !== undefined && Math.abs(dependencies.clock.now() - failingSince) >= maxStaleMs,
  };
}

/** What a change was judged by is not so any more: nothing was changed, and it is to be judged anew. */
export class ConflictError extends TvsError {
  constructor() {
    super("STORE_BUSY", "what the answer rests on is being changed; try again");
  }
}

/** A change can come between judging a call and its commit; three in a row are a fault. */
const maxAttempts = 3;

/**
 * Tries an act until its commit stands, each time by a snapshot that was read after the last one was refused
 * (decision D4.8).
 * @param act is given the snapshot to judge by; null, or {@link ConflictError}, when its commit was refused, having stored
 *   nothing
 * @throws TvsError STORE_BUSY when what it rests on changed each time, and what `act` throws
 */
export async function retryOnConflict<T>(
  configuration: Configuration,
  act: (snapshot: Snapshot) => Promise<T | null>,
): Promise<T> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const snapshot = attempt === 0 ? configuration.current() : await configuration.refresh();
    const done = await act(snapshot).catch((error) => {
      if (error instanceof ConflictError) return null;
      throw error;
    });
    if (done !== null) return done;
  }
  throw new ConflictError();
}

/**
 * Work that signs by the active key of a snapshot.
 * @returns null when the key was rotated meanwhile, because a rotation takes the old key from the signer a moment before
 * it replaces the snapshot that names it
 * @throws what the work throws
 */
export async function nullIfRotated<T>(
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

/**
 * A key of the ring is never removed. Where one is missing, another database took the place of ours under its address:
 * an empty one in which somebody has made a register anew, or an old copy.
 * @throws TvsError REFUSED
 */
function requireSameRegister(before: KeyRing, found: readonly SigningKey[]): void {
  const kids = new Set(found.map(({ kid }) => kid));
  if (before.keys.every(({ kid }) => kids.has(kid))) return;
  const message =
    "signing keys that this service has published are not in the database any more: it was replaced by another one, or " +
    "by an old copy; put the right one back, then start the service again";
  throw new TvsError("REFUSED", message);
}

async function load(dependencies: ConfigurationDependencies, before?: KeyRing) {
  // The revision is read first: a change that slips in between is then read again, never missed.
  const revision = await dependencies.settings.revision();
  const [stored, credentials, keys] = await Promise.all([
    dependencies.settings.read(),
    loadCredentialBook(dependencies.partners),
    dependencies.keys.list(),
  ]);
  if (before !== undefined) requireSameRegister(before, keys);
  const settings = readSettings(stored, dependencies.defaults);
  const ring = keyRing(keys);
  await dependencies.onKeys?.(ring);
  const { secrets } = dependencies;
  return {
    revision,
    settings,
    teacherIdsAfter: Number(stored.get(teacherIdsAfterName) ?? 0),
    calendar: createCalendar(settings.timeZone),
    credentials,
    keys: ring,
    /** The JWKS document and the signed key history, exactly as they are served. */
    jwks: JSON.stringify(jwks(ring)),
    keyHistory: await signKeyHistory(ring, { issuer: settings.issuer, secrets, now: lastChangeOf(ring) }),
  };
}
