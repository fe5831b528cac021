/** What becomes of the evidence log when a backup takes the place of its database (decision D13.4). */

import { type Config, pinnedCheckpointFile } from "../../src/config.ts";
import type { Acting } from "../../src/domain/changes.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { beginNextLog, createLogWriter } from "../../src/domain/evidence/checkpoint.ts";
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

/** The log of a restored database, as `restore` tells of it. */
export type RestoredLog = {
  /** Whether a new log was begun, because the backup has not all that was signed for, or nobody knows. */
  readonly isNew: boolean;
  readonly origin: string;
  /** The last known checkpoint of the log before it. */
  readonly previousOrigin: string | null;
  readonly previousSize: number | null;
  /** Entries that were signed for and are not in the backup. */
  readonly lost: number;
};

/**
 * Begins a new log over a restored database, unless it has everything that the pinned checkpoint covers.
 *
 * The new log and its first checkpoint are written into the copy that is about to take the place of the database. A kill
 * before that leaves the old database with its log; a kill behind it leaves the restored one, and the first run pins its
 * checkpoint.
 * @param restored the copy, which nobody else uses yet
 * @returns what to tell, and what pins the new checkpoint once the copy is in its place; null for a register without a log
 * @throws TvsError MASTER_KEY_MISSING, INPUT_UNREADABLE for a pinned checkpoint that is none
 */
export async function settleRestoredLog(
  restored: Driver,
  config: Config,
  acting: Acting,
): Promise<{ log: RestoredLog; pin: () => Promise<unknown> } | null> {
  const file = openPinnedCheckpoint(pinnedCheckpointFile(config));
  const store = createLogStore(restored, acting);
  const current = (await store.logs()).at(-1);
  const known = headIn(file.read());
  if (current === undefined && known === null) return null;
  const masterKey = masterKeyAtHand(config);
  if (masterKey === undefined) {
    const message =
      `put the master key that belongs to this backup into ${config.masterKeyFile} (mode 0600) first: the evidence log ` +
      "goes on under a new key, which is sealed with it";
    throw new TvsError("MASTER_KEY_MISSING", message);
  }
  const secrets = deriveSecrets(masterKey);
  let note = file.read();
  // Nothing is pinned before the copy is in its place.
  const pinned = {
    read: () => note,
    async write(later: string) {
      note = later;
      return true;
    },
  };
  const dependencies = { store, pinned, secrets, clock: acting.clock };
  const writer = createLogWriter(dependencies);
  if (current !== undefined && note !== null && (await isWhole(writer))) {
    const log = { isNew: false, origin: current.origin, previousOrigin: null, previousSize: null, lost: 0 };
    return { log, pin: async () => {} };
  }
  const stored = (await createSettingsStore(restored).read()).get("issuer");
  const named = readOrigin(current?.origin ?? known?.origin ?? "").service.replace(/\/log$/, "");
  const issuer = config.issuer ?? stored ?? `https://${named}`;
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

async function isWhole(writer: Pick<ReturnType<typeof createLogWriter>, "requireNotBehind">) {
  try {
    await writer.requireNotBehind();
    return true;
  } catch (error) {
    if (!isTvsError(error, "LOG_BEHIND")) throw error;
    return false;
  }
}

/** What the operator must know of it. */
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
