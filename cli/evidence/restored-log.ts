/** Decides how the evidence log continues when `tvs restore` replaces a database by a backup (decision D13.4). */

import { type Config, pinnedCheckpointPathOf } from "../../src/config.ts";
import type { ActorAndClock } from "../../src/domain/changes.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { beginNextLog, createLogWriter, type LogWriter } from "../../src/domain/evidence/checkpoint.ts";
import { readCheckpointHead } from "../../src/domain/evidence/log.ts";
import { deriveSecrets } from "../../src/domain/secrets.ts";
import { splitLogOrigin } from "../../src/partner/log-checkpoint.ts";
import { formatEntries } from "../../src/partner/log-proof.ts";
import type { BackupFacts } from "../../src/store/driver/backup.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { createLogStore } from "../../src/store/evidence/log.ts";
import { openPinnedCheckpoint } from "../../src/store/evidence/pinned-checkpoint.ts";
import { createSettingsStore } from "../../src/store/settings.ts";
import { findMasterKey } from "../safe/vault.ts";

/**
 * Begins a new log over a restored database, unless the database has every answer that the pinned checkpoint covers.
 *
 * The new log and its first checkpoint are written into the copy of the backup, before the copy replaces the database.
 * A kill before the replacement leaves the old database. After a kill before `pin`, the next run pins the checkpoint.
 * @param restored the copy, which no other process uses yet
 * @returns the log, and `pin`, which the caller must call after the replacement; null without a log
 * @throws TvsError MASTER_KEY_MISSING, INPUT_UNREADABLE if the pinned checkpoint cannot be read
 */
export async function continueLogAfterRestore(restored: Driver, config: Config, acting: ActorAndClock) {
  const file = openPinnedCheckpoint(pinnedCheckpointPathOf(config));
  const store = createLogStore(restored, acting);
  let note = file.read();
  const [current, known] = [(await store.logs()).at(-1), readCheckpointHead(note)];
  if (current === undefined && known === null) return null;
  const masterKey = findMasterKey(config);
  if (masterKey === undefined) {
    const message =
      `put the master key that belongs to this backup into ${config.masterKeyFile} (mode 0600) first: the evidence log ` +
      "goes on under a new key, which is sealed with it";
    throw new TvsError("MASTER_KEY_MISSING", message);
  }
  // The writer pins only in memory. `pin` writes the file.
  const pinned = {
    read: () => note,
    async write(later: string) {
      note = later;
      return true;
    },
  };
  const before = note;
  const pin = async () => note !== null && note !== before && file.write(note);
  const dependencies = { store, pinned, secrets: deriveSecrets(masterKey), clock: acting.clock };
  const writer = createLogWriter(dependencies);
  if (current !== undefined && note !== null && (await isWhole(writer))) {
    const { origin } = current;
    return { log: { isNew: false, origin, previousOrigin: null, previousSize: null, lost: 0 }, pin };
  }
  const stored = (await createSettingsStore(restored).read()).get("issuer");
  const service = splitLogOrigin(current?.origin ?? known?.origin ?? "").service.replace(/\/log$/, "");
  const issuer = config.issuer ?? stored ?? `https://${service}`;
  const { origin, previous } = await beginNextLog({ ...dependencies, issuer }, "a backup was restored");
  const { size = 0 } = (await writer.checkpoint()) ?? {};
  const last = readCheckpointHead(previous);
  const [previousOrigin, previousSize] = [last?.origin ?? null, last?.size ?? null];
  const lost = Math.max(0, (previousSize ?? 0) - size);
  return { log: { isNew: true, origin, previousOrigin, previousSize, lost }, pin };
}

/**
 * The log of a restored database, as `tvs restore --json` prints it. `isNew`: a new log was begun, because the backup
 * lacks or alters what the pinned checkpoint covers, or none is pinned. `lost`: how many answers the backup lacks.
 */
export type RestoredLog = NonNullable<Awaited<ReturnType<typeof continueLogAfterRestore>>>["log"];

/** Whether the database has every answer that the pinned checkpoint covers, and its newest checkpoint is genuine. */
async function isWhole(writer: LogWriter): Promise<boolean> {
  try {
    await writer.reconcile();
    return true;
  } catch (error) {
    if (isTvsError(error, "LOG_BEHIND") || isTvsError(error, "STORE_CORRUPT")) return false;
    throw error;
  }
}

export function describeRestoredLog(log: RestoredLog | null, backup: BackupFacts["log"]): string[] {
  if (log === null) return [];
  if (!log.isNew) return ["The evidence log goes on: nothing that was signed for is missing."];
  const { origin, previousOrigin, previousSize, lost } = log;
  const has =
    backup === null
      ? "the backup has none"
      : `the backup has ${formatEntries(backup.entries)} of ${backup.origin}`;
  const known =
    previousSize === null
      ? "no checkpoint of it is known"
      : `checkpoints were signed for ${formatEntries(previousSize)} of ${previousOrigin}, and ${lost} of them are not in the backup`;
  return [
    `The evidence log does not go on as it was: ${has}, ${known}. It goes on as ${origin}, with a key of its own; give that (tvs log key) to all who verify or check the log. What the old key has proven stays proven.`,
  ];
}
