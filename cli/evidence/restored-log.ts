/** What becomes of the evidence log when a backup takes the place of its database (decision D13.4). */

import { type Config, pinnedCheckpointFile } from "../../src/config.ts";
import type { Acting } from "../../src/domain/changes.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { beginNextLog, createLogWriter, type LogWriter } from "../../src/domain/evidence/checkpoint.ts";
import { headIn } from "../../src/domain/evidence/log.ts";
import { deriveSecrets } from "../../src/domain/secrets.ts";
import { readOrigin } from "../../src/partner/log-checkpoint.ts";
import { countEntries } from "../../src/partner/log-proof.ts";
import type { BackupFacts } from "../../src/store/driver/backup.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { createLogStore } from "../../src/store/evidence/log.ts";
import { openPinnedCheckpoint } from "../../src/store/evidence/pinned-checkpoint.ts";
import { createSettingsStore } from "../../src/store/settings.ts";
import { masterKeyAtHand } from "../safe/vault.ts";

/** The log of a restored database, as `tvs restore` prints it. */
export type RestoredLog = {
  /** The backup lacks something that was signed for, or no checkpoint is pinned. */
  readonly isNew: boolean;
  readonly origin: string;
  readonly previousOrigin: string | null;
  readonly previousSize: number | null;
  /** Entries that were signed for and are not in the backup. */
  readonly lost: number;
};

/**
 * Begins a new log over a restored database, unless the database has everything that the pinned checkpoint covers.
 *
 * The new log and its first checkpoint are written into the copy that is about to take the place of the database. On the disk
 * then: the old database with its log, and the copy. A kill leaves the old database. After the copy has taken its place, a
 * kill leaves the restored database, and the first run pins its checkpoint.
 * @param restored the copy, which no other process uses yet
 * @returns what to print, and a function that pins the new checkpoint once the copy is in its place; null without a log
 * @throws TvsError MASTER_KEY_MISSING, INPUT_UNREADABLE for a pinned checkpoint that cannot be read
 */
export async function settleRestoredLog(
  restored: Driver,
  config: Config,
  acting: Acting,
): Promise<{ log: RestoredLog; pin: () => Promise<unknown> } | null> {
  const file = openPinnedCheckpoint(pinnedCheckpointFile(config));
  const store = createLogStore(restored, acting);
  let note = file.read();
  const [current, known] = [(await store.logs()).at(-1), headIn(note)];
  if (current === undefined && known === null) return null;
  const masterKey = masterKeyAtHand(config);
  if (masterKey === undefined) {
    const message =
      `put the master key that belongs to this backup into ${config.masterKeyFile} (mode 0600) first: the evidence log ` +
      "goes on under a new key, which is sealed with it";
    throw new TvsError("MASTER_KEY_MISSING", message);
  }
  // The file changes only after the copy is in its place.
  const pinned = {
    read: () => note,
    async write(later: string) {
      note = later;
      return true;
    },
  };
  const dependencies = { store, pinned, secrets: deriveSecrets(masterKey), clock: acting.clock };
  const writer = createLogWriter(dependencies);
  if (current !== undefined && note !== null && (await isWhole(writer))) {
    const log = { isNew: false, origin: current.origin, previousOrigin: null, previousSize: null, lost: 0 };
    return { log, pin: async () => {} };
  }
  const stored = (await createSettingsStore(restored).read()).get("issuer");
  const service = readOrigin(current?.origin ?? known?.origin ?? "").service.replace(/\/log$/, "");
  const issuer = config.issuer ?? stored ?? `https://${service}`;
  const begun = await beginNextLog({ ...dependencies, issuer }, "a backup was restored");
  const checkpoint = await writer.checkpoint();
  const before = headIn(begun.previous);
  const log = {
    isNew: true,
    origin: begun.origin,
    previousOrigin: before?.origin ?? null,
    previousSize: before?.size ?? null,
    lost: Math.max(0, (before?.size ?? 0) - (checkpoint?.size ?? 0)),
  };
  return { log, pin: async () => checkpoint && file.write(checkpoint.note) };
}

/** A backup whose checkpoints were changed is not whole either: then the new log begins with a smaller tree. */
async function isWhole(writer: Pick<LogWriter, "reconcile">): Promise<boolean> {
  try {
    await writer.reconcile();
    return true;
  } catch (error) {
    if (isTvsError(error, "LOG_BEHIND") || isTvsError(error, "STORE_CORRUPT")) return false;
    throw error;
  }
}

/** What the operator must know of the restored log. */
export function logRemarks(log: RestoredLog | null, backup: BackupFacts["log"]): string[] {
  if (log === null) return [];
  if (!log.isNew) return ["The evidence log goes on: nothing that was signed for is missing."];
  const { origin, previousOrigin, previousSize, lost } = log;
  const has =
    backup === null
      ? "the backup has none"
      : `the backup has ${countEntries(backup.entries)} of ${backup.origin}`;
  const known =
    previousSize === null
      ? "no checkpoint of it is known"
      : `checkpoints were signed for ${countEntries(previousSize)} of ${previousOrigin}, and ${lost} of them are not in the backup`;
  return [
    `The evidence log does not go on as it was: ${has}, ${known}. It goes on as ${origin}, with a key of its own; give that (tvs log key) to all who verify or check the log. What the old key has proven stays proven.`,
  ];
}
