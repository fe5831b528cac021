import { type Checkpoint, openCheckpoint, readOrigin } from "../../partner/log-checkpoint.ts";
import { Refusal } from "../../partner/reasons.ts";
import type { VerifierKey } from "../../partner/signed-note.ts";
import type { FindingKind, Findings } from "./audit-findings.ts";
import type { AuditStore, EpochState } from "./audit-store.ts";
import type { SignedRoot } from "./audit-tracks.ts";
import { openingKeysOf } from "./epochs.ts";
import { treeHeadOf } from "./keeper.ts";
import { type LogEpoch, openingLeaves, type StoredCheckpoint } from "./log.ts";

/** Checkpoints that are read and verified at once. */
const atOnce = 256;
/** How far times may go back in the order of the log: clocks of nodes differ by up to a minute (decision D12.4). */
export const disorderSeconds = 120;

type CheckpointPlan = { readonly epoch: LogEpoch; readonly state: EpochState; readonly reach: number };

type CheckpointDependencies = {
  readonly store: AuditStore;
  readonly findings: Findings;
  /** The epoch after this one, which names this one's last checkpoint. */
  readonly next: LogEpoch | undefined;
  /** The newest checkpoint outside the database, as a note. */
  readonly head: string | null;
};

/** What an epoch has signed for: its kept checkpoints, the one that the next epoch names, and the one outside. */
export type CheckpointAudit = {
  /** False when the newest checkpoint of the newest epoch is only outside the database. */
  readonly headStored: boolean;
  /** Leaves that a good checkpoint covers. */
  readonly signed: number;
  /** Checks what was signed for sizes above `from`, up to and with `upTo`. @returns the good ones by size */
  signedRoots(from: number, upTo: number): Promise<SignedRoot[]>;
  /** Checks what was signed for more leaves than there are. @returns how many were lost, openly */
  beyond(): Promise<number>;
  /** How many kept ones there are. */
  count(): number;
};

type Wrong = (what: FindingKind, index: number, says: string) => null;

/** Checks checkpoints one by one, as they stand in the database. */
function createChecks(epoch: LogEpoch, keys: readonly VerifierKey[], wrong: Wrong) {
  let [seconds, count] = [0, 0];

  async function verified(note: string, size: number, name: string): Promise<Checkpoint | null> {
    const opened = await openCheckpoint(note, keys);
    if (!(opened instanceof Refusal)) return opened;
    const isOther = opened.reason === "PROOF_OF_ANOTHER_LOG" || opened.reason === "LOG_EPOCH_UNKNOWN";
    const how = isOther ? "is of another log" : "is not signed by the log's key";
    return wrong("CHECKPOINT_FORGED", size, `${name} ${how}`);
  }

  async function check(stored: StoredCheckpoint): Promise<Checkpoint | null> {
    count++;
    const name = `the checkpoint at ${stored.size} of epoch ${epoch.epoch}`;
    const opened = await verified(stored.note, stored.size, name);
    if (opened === null) return null;
    if (opened.size === stored.size && opened.seconds * 1000 === stored.signedAt) return opened;
    const says = `${name} is kept under another size or time than it was signed for`;
    return wrong("CHECKPOINT_CHANGED", stored.size, says);
  }

  /** In the order of the sizes: times of what is verified at once come in any. */
  function checkTime({ size, seconds: signed }: Checkpoint): void {
    const says = `the checkpoint at ${size} of epoch ${epoch.epoch} is older than one before it`;
    if (signed < seconds - disorderSeconds) wrong("CHECKPOINT_CHANGED", size, says);
    seconds = Math.max(seconds, signed);
  }

  return { verified, check, checkTime, count: () => count };
}

export async function auditCheckpoints(
  { epoch, state, reach }: CheckpointPlan,
  { store, findings, next, head }: CheckpointDependencies,
): Promise<CheckpointAudit> {
  const wrong: Wrong = (what, index, says) => {
    const isLeaf = what === "REMOVED" || what === "ROLLED_BACK";
    const id = isLeaf ? epoch.firstId + index - openingLeaves(epoch) : null;
    findings.add({ what, epoch: epoch.epoch, index, id, says });
    return null;
  };
  const keys = await openingKeysOf([epoch]);
  const { verified, check, checkTime, count } = createChecks(epoch, keys, wrong);
  const read = (after: number, upTo: number, limit: number) =>
    store.checkpoints({ epoch: epoch.epoch, after, upTo, limit });

  const isOwnHead = head !== null && treeHeadOf(head).origin === epoch.origin;
  const kept = isOwnHead ? await verified(head, 0, "the checkpoint beside the master key") : null;
  const named = `the checkpoint that epoch ${epoch.epoch + 1} names as the last one before it`;
  const linked = namesThis(next, epoch) ? await verified(next?.previous ?? "", 0, named) : null;
  const outside = [linked, kept].filter((one) => one !== null);
  const [newest] = await read(state.signed - 1, state.signed, 1);
  const opened = newest === undefined ? null : await openCheckpoint(newest.note, keys);
  const isGood = opened !== null && !(opened instanceof Refusal);

  return {
    headStored: kept === null || next !== undefined || kept.size <= state.signed,
    signed: Math.max(isGood ? opened.size : 0, ...outside.map(({ size }) => size)),
    async signedRoots(from, upTo) {
      const roots: SignedRoot[] = outside.filter(({ size }) => size > from && size <= upTo);
      for (let after = from; ; ) {
        const page = await read(after, upTo, atOnce);
        const checked = (await Promise.all(page.map(check))).filter((one) => one !== null);
        for (const one of checked) checkTime(one);
        roots.push(...checked);
        if (page.length < atOnce) break;
        after = page.at(-1)?.size ?? upTo;
      }
      return roots.sort((a, b) => a.size - b.size);
    },
    async beyond() {
      const [first] = await read(reach, Number.MAX_SAFE_INTEGER, 1);
      const stored = first === undefined ? null : await check(first);
      const accepted = linked?.size ?? 0;
      if (kept !== null && kept.size > Math.max(reach, accepted)) {
        const says = `${kept.size} leaves of ${epoch.origin} were signed for, and the database has ${reach}`;
        wrong("ROLLED_BACK", reach, says);
      } else if (stored !== null && stored.size > accepted)
        wrong("REMOVED", reach, `${stored.size} leaves were signed for, and ${reach} are left`);
      return Math.max(0, accepted - reach);
    },
    count,
  };
}

/**
 * Whether an epoch names the last checkpoint of this one: it may name none, when none was known, or that of an epoch
 * between the two, which was lost with the database (decision D13.4).
 */
function namesThis(next: LogEpoch | undefined, epoch: LogEpoch): boolean {
  if (next?.previous == null || next.previous === "") return false;
  return readOrigin(treeHeadOf(next.previous).origin).epoch <= epoch.epoch;
}
