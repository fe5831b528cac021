import type { Attestation, CallCommit } from "../../src/domain/attestations.ts";
import { isEarlierCheckpoint } from "../../src/domain/evidence/log.ts";
import type { CallsUsed } from "../../src/domain/quota-windows.ts";
import { callWriter } from "../../src/store/calls.ts";
import { createGroupCommit } from "../../src/store/driver/commits.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { createAttestationStore } from "../../src/store/evidence/attestations.ts";
import type { PinnedCheckpointStore } from "../../src/store/evidence/pinned-checkpoint.ts";
import { createSettingsStore } from "../../src/store/settings.ts";

/**
 * A call of one of the minute and one of the day, answered with these attestations. It found nobody, and its partner's
 * windows always have room.
 */
export function anAnsweredCall(
  attestations: readonly Attestation[],
  changes: Partial<CallCommit> & Pick<CallCommit, "revision">,
): CallCommit {
  const partnerId = attestations[0]?.partnerId ?? "agency";
  return {
    attestations,
    read: attestations.map(() => ({ by: "regNo", value: "NO/BO/DY/1" })),
    charge: {
      partnerId,
      calls: 1,
      starts: { minute: 600_000, day: 0 },
      limits: { minute: 1e9, day: 1e9 },
    },
    idempotency: null,
    ...changes,
  };
}

/**
 * Stores attestations as one call that read the present configuration.
 * @returns the use of the partner's quota windows after the call; null if the commit was refused
 */
export async function attest(
  driver: Driver,
  attestations: readonly Attestation[],
  changes: Partial<CallCommit> = {},
  writes = callWriter,
): Promise<CallsUsed | null> {
  const revision = await createSettingsStore(driver).revision();
  const store = createAttestationStore(driver, createGroupCommit(driver), writes);
  return store.record(anAnsweredCall(attestations, { revision, ...changes }));
}

/** Makes a store of the pinned checkpoint in memory, which is otherwise a file beside the master key. */
export function aPinnedCheckpoint(
  note: string | null = null,
): PinnedCheckpointStore & { note: string | null } {
  const pinned = {
    note,
    read: () => pinned.note,
    async write(later: string) {
      if (pinned.note !== null && isEarlierCheckpoint(later, pinned.note)) return false;
      pinned.note = later;
      return true;
    },
  };
  return pinned;
}

export async function storeQuotaUse(
  driver: Driver,
  { partnerId, kind, startsAt, used }: { partnerId: string; kind: string; startsAt: number; used: number },
): Promise<void> {
  const sql = "INSERT INTO quota_windows (partner_id, kind, starts_at, used) VALUES (?, ?, ?, ?)";
  await driver.batch([{ sql, args: [partnerId, kind, startsAt, used] }]);
}
