/** What becomes of the evidence log when a backup takes the place of its database (decision D13.4). */

import { randomUUID } from "node:crypto";
import { type Config, dueEpochFile } from "../../src/config.ts";
import type { Clock } from "../../src/domain/clock.ts";
import { epochDueName, originOf } from "../../src/domain/evidence/epochs.ts";
import { findLoss } from "../../src/domain/evidence/succession.ts";
import { deriveSecrets } from "../../src/domain/secrets.ts";
import { countEntries } from "../../src/partner/log-proof.ts";
import type { BackupFacts } from "../../src/store/driver/backup.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { openDueEpochFile } from "../../src/store/evidence/due.ts";
import { createEvidenceStore } from "../../src/store/evidence/evidence.ts";
import type { SettingsStore } from "../../src/store/settings.ts";
import { createSettingsStore } from "../../src/store/settings.ts";
import { masterKeyAtHand } from "../safe/vault.ts";
import { logHeadOf } from "./open-evidence.ts";

/** Why the epoch is opened, for everybody who looks at the log. */
const reason = "a backup was restored";

/** The log of a restored database, as `restore` tells of it. */
export type RestoredLog = {
  /** Whether it goes on in a new epoch, which whoever signs next opens. */
  readonly newEpoch: boolean;
  readonly epoch: number;
  /** Null when the database was never told its issuer, which names its log. */
  readonly origin: string | null;
  /** The newest checkpoint that is known of the log until now. */
  readonly previousOrigin: string | null;
  readonly previousSize: number | null;
  /** Entries that were signed for and are not in the backup; null when nobody knows how many. */
  readonly lost: number | null;
};

type Restoring = {
  readonly config: Config;
  /** Of the restored database, in the operator's name. */
  readonly settings: Pick<SettingsStore, "write">;
  readonly clock: Clock;
};

/**
 * Looks whether a restored database has everything that was signed for. When it has not, or when nobody knows, a new epoch
 * is due: that is said beside the master key, and the database says of itself that it is the one that is meant.
 * @param restored the database, before anybody else uses it
 * @returns null for a register whose log was never begun
 * @throws TvsError INPUT_UNREADABLE for a kept checkpoint that is none
 */
export async function settleRestoredLog(
  restored: Driver,
  { config, settings, clock }: Restoring,
): Promise<RestoredLog | null> {
  const head = logHeadOf(config);
  const store = createEvidenceStore(restored);
  const masterKey = masterKeyAtHand(config);
  const secrets = masterKey === undefined ? null : deriveSecrets(masterKey);
  const loss = await findLoss({ store, head }, { clock, secrets });
  if (loss === null) {
    const current = (await store.epochs()).at(-1);
    if (current === undefined) return null;
    const { epoch, origin } = current;
    return { newEpoch: false, epoch, origin, previousOrigin: null, previousSize: null, lost: 0 };
  }
  const token = randomUUID();
  await openDueEpochFile(dueEpochFile(config)).write({ token, epoch: loss.epoch, reason });
  await settings.write({ [epochDueName]: token });
  const issuer = config.issuer ?? (await createSettingsStore(restored).read()).get("issuer") ?? null;
  return {
    newEpoch: true,
    epoch: loss.epoch,
    origin: issuer === null ? null : originOf(issuer, loss.epoch),
    previousOrigin: loss.previous?.origin ?? null,
    previousSize: loss.previous?.size ?? null,
    lost: loss.lost,
  };
}

/** What the operator must know of it. */
export function logRemarks(log: RestoredLog | null, backup: BackupFacts["log"]): string[] {
  if (log === null) return [];
  if (!log.newEpoch) return ["The evidence log goes on: nothing that was signed for is missing."];
  const { origin, previousOrigin, previousSize, lost } = log;
  const missing =
    lost === null
      ? "entries may be missing: this machine cannot tell which"
      : `${lost} of them are not in the backup`;
  const has =
    backup === null
      ? "the backup has none"
      : `the backup has ${countEntries(backup.entries)} of ${backup.origin}`;
  const known =
    previousSize === null
      ? "no checkpoint of it is known"
      : `checkpoints were signed for ${countEntries(previousSize)} of ${previousOrigin}, and ${missing}`;
  const next = origin === null ? "a new epoch" : `a new epoch, ${origin}`;
  return [
    `The evidence log does not go on as it was: ${has}, ${known}. The next tvs serve opens ${next}, with a key of its own; then give that (tvs log key) to all who verify or witness. What the old key has proven stays proven.`,
  ];
}
