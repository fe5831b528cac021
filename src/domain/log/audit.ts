/**
 * The audit of the evidence log (decision D13.7): recomputes every tree from the attestations, and names the first of them
 * that is not as it was logged. It reads in blocks and writes nothing, so a service may run meanwhile.
 */

import { readOrigin } from "../../partner/log-checkpoint.ts";
import type { AttestationMaintenance } from "../attestations.ts";
import { leastRetentionMs } from "../retention.ts";
import type { Secrets } from "../secrets.ts";
import type { ReadBlock } from "./audit-blocks.ts";
import { auditCheckpoints } from "./audit-checkpoints.ts";
import { auditEpoch, type EpochCounts } from "./audit-epoch.ts";
import { type AuditFinding, createFindings, type Findings } from "./audit-findings.ts";
import { auditPositions } from "./audit-positions.ts";
import { createRowReader, type SignatureChecks } from "./audit-rows.ts";
import type { AuditStore, EpochState } from "./audit-store.ts";
import { hasOwnKey } from "./epochs.ts";
import { treeHeadOf } from "./keeper.ts";
import { type LogEpoch, nextId, openingLeaves } from "./log.ts";

/** How far clocks may have been apart between what deleted and what asks. */
const clockMs = 60_000;

export type AuditedEpoch = EpochCounts & {
  readonly epoch: number;
  readonly origin: string;
  /** Leaves of its tree, the opening one of a later epoch included. */
  readonly size: number;
  readonly checkpoints: number;
  /** Attestations that had been signed for and were lost when the next epoch was opened, openly. */
  readonly lost: number;
};

export type AuditResult = {
  readonly epochs: readonly AuditedEpoch[];
  /** Attestations that are not logged yet. */
  readonly waiting: number;
  readonly findings: readonly AuditFinding[];
  /** How many there were, also of those that are not listed. */
  readonly found: number;
  /** False when the newest checkpoint is not known from outside the database: an old copy of it would look the same. */
  readonly headKnown: boolean;
  /**
   * False when the newest checkpoint is only outside the database, whose tree has the same root: a process ended before
   * it was committed, or somebody took it out. Whoever signs next puts it there (decision D13.3).
   */
  readonly headStored: boolean;
};

export type AuditDependencies = {
  readonly store: AuditStore;
  /** Oldest first. */
  epochs(): Promise<readonly LogEpoch[]>;
  /** The newest checkpoint outside the database, as a note. */
  readonly head: string | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly kept: AttestationMaintenance["kept"];
  /** With them it is found when the newest epoch's public key was changed. */
  readonly secrets: Secrets;
  readonly signatures: SignatureChecks;
  /** Reads what is sound as a whole, several blocks at a time where it can. */
  readonly readBlock: ReadBlock;
  /** @param total leaves in all */
  onProgress(done: number, total: number): void;
};

/** An epoch, and how far it reaches. */
type Plan = {
  readonly epoch: LogEpoch;
  /** Whether it is said to begin where the one before it ended. */
  readonly isPlaced: boolean;
  readonly state: EpochState;
  readonly logged: number;
  readonly reach: number;
};

/** @returns null when there is no log */
export async function auditLog(dependencies: AuditDependencies): Promise<AuditResult | null> {
  const { store } = dependencies;
  const findings = createFindings();
  const epochs = await dependencies.epochs();
  const states = await store.states();
  const ids = await store.ids();
  if (epochs.length === 0) return null;
  const plans = plansOf(epochs, { states, last: ids?.last ?? 0 });
  checkEpochs(dependencies, plans, findings);
  await checkOutside(dependencies, plans, { findings, first: ids?.first ?? null });
  const total = plans.reduce((sum, { reach }) => sum + reach, 0);
  const positions = auditPositions(store, findings);
  const audited: AuditedEpoch[] = [];
  let headStored = true;
  let done = 0;
  const shared = {
    store,
    findings,
    positions,
    reader: createRowReader(),
    async prunedBefore() {
      const { from } = await dependencies.kept();
      // A time that retention cannot have reached yet was set by hand.
      return from === null || from > dependencies.now - leastRetentionMs + clockMs ? null : from / 1000;
    },
    signatures: dependencies.signatures,
    readBlock: dependencies.readBlock,
    onLeaves(count: number) {
      done += count;
      dependencies.onProgress(done, total);
    },
  };
  for (const [at, plan] of plans.entries()) {
    const next = plans[at + 1]?.epoch;
    const checkpoints = await auditCheckpoints(plan, { store, findings, next, head: dependencies.head });
    const counts = await auditEpoch(shared, { ...plan, ...checkpoints });
    const { epoch, origin } = plan.epoch;
    const lost = await checkpoints.beyond();
    headStored &&= checkpoints.headStored;
    audited.push({ ...counts, epoch, origin, size: plan.logged, checkpoints: checkpoints.count(), lost });
  }
  await positions.compare(true);
  await checkPruned(dependencies, plans, {
    findings,
    pruned: audited.reduce((sum, one) => sum + one.pruned, 0),
  });
  const newest = plans.at(-1);
  return {
    epochs: audited,
    waiting: newest === undefined ? 0 : newest.reach - newest.logged,
    findings: findings.list(),
    found: findings.count(),
    headKnown: dependencies.head !== null || states.every(({ signed }) => signed === 0),
    headStored,
  };
}

/**
 * What three tables say of a tree's length must agree; where they do not, most of it is looked at. Each tree begins where
 * the one before it ended, whatever is said of it.
 */
function plansOf(
  epochs: readonly LogEpoch[],
  { states, last }: { states: readonly EpochState[]; last: number },
): Plan[] {
  const plans: Plan[] = [];
  for (const said of epochs) {
    const before = plans.at(-1);
    const firstId = before === undefined ? said.firstId : nextId({ ...before.epoch, size: before.logged });
    const epoch = { ...said, firstId };
    const state = states.find((one) => one.epoch === said.epoch) ?? { ...said, leaves: 0, signed: 0 };
    const { size, leaves, signed } = state;
    const logged = Math.max(Math.min(size, leaves), Math.min(signed, Math.max(size, leaves)));
    const rows = last - firstId + 1 + openingLeaves(epoch);
    const reach = said === epochs.at(-1) ? Math.max(logged, rows) : logged;
    plans.push({ epoch, isPlaced: firstId === said.firstId, state, logged, reach });
  }
  return plans;
}

function checkEpochs({ secrets, head }: AuditDependencies, plans: readonly Plan[], findings: Findings): void {
  if (head !== null) checkKnown(treeHeadOf(head).origin, plans, findings);
  for (const [at, { epoch, isPlaced, state, logged }] of plans.entries()) {
    const wrong = (says: string) => findings.add({ what: "EPOCH_CHANGED", epoch: epoch.epoch, says });
    const isLast = at === plans.length - 1;
    const due = (plans[at - 1]?.epoch.epoch ?? 0) + 1;
    // One that was lost with the database is named by the one that follows it.
    const isNamed = epoch.previous && readOrigin(treeHeadOf(epoch.previous).origin).epoch === epoch.epoch - 1;
    if (epoch.epoch !== due && !isNamed) wrong(`epoch ${due} was removed`);
    else if ((epoch.previous === null) !== (epoch.epoch === 1))
      wrong(`epoch ${epoch.epoch} does not name the one before it`);
    else if (!isPlaced) wrong(`epoch ${epoch.epoch} does not begin where the one before it ended`);
    if (hasOwnKey(epoch, secrets) !== (isLast ? true : null))
      wrong(
        isLast
          ? `the key of epoch ${epoch.epoch} is not the one that the service signs with`
          : `epoch ${epoch.epoch} is closed, yet it has a private key`,
      );
    if (state.size !== logged || (state.leaves > logged && state.signed <= logged)) {
      const says = `epoch ${epoch.epoch} is said to have ${state.size} leaves, and ${logged} are kept`;
      findings.add({ what: "SIZE_CHANGED", epoch: epoch.epoch, index: logged, says });
    }
  }
}

/** A checkpoint outside of an epoch that the database does not have: it is from before that was opened. */
function checkKnown(origin: string, plans: readonly Plan[], findings: Findings): void {
  if (plans.some(({ epoch }) => epoch.origin === origin)) return;
  const says = `the database does not know ${origin}, of which the newest checkpoint beside the master key is`;
  findings.add({ what: "ROLLED_BACK", epoch: plans.length, says });
}

/** What stands before the log, and what was anchored. */
async function checkOutside(
  { store }: AuditDependencies,
  plans: readonly Plan[],
  { findings, first }: { findings: Findings; first: number | null },
): Promise<void> {
  const begins = plans[0]?.epoch.firstId ?? 0;
  if (first !== null && first < begins) {
    const [row] = await store.rows(first, first);
    findings.add({
      what: "INSERTED",
      epoch: 1,
      id: first,
      index: -1,
      verificationId: row?.verificationId ?? null,
      says: `attestation ${first} was inserted: the log begins with ${begins}`,
    });
  }
  const anchored = await store.anchoredWithoutCheckpoint();
  if (anchored !== null) {
    const says = `the checkpoint at ${anchored.size} of epoch ${anchored.epoch} was anchored and then removed`;
    findings.add({ what: "CHECKPOINT_REMOVED", epoch: anchored.epoch, index: anchored.size, says });
  }
}

/** Retention counts what it deletes. */
async function checkPruned(
  { kept, store }: AuditDependencies,
  plans: readonly Plan[],
  { findings, pruned }: { findings: Findings; pruned: number },
): Promise<void> {
  const begins = plans[0]?.epoch.firstId ?? 1;
  const surplus = pruned - Math.max(0, (await kept()).pruned - (begins - 1));
  if (surplus <= 0) return;
  const next = await store.idAfter(begins - 1);
  const id = next === null ? null : next - surplus;
  findings.add({
    what: "REMOVED",
    epoch: 1,
    id,
    index: id === null ? null : id - begins,
    says: `${surplus} more attestations are missing than retention has deleted${id === null ? "" : `; they stood before ${next}`}`,
  });
}
