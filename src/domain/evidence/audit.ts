/**
 * The audit of the evidence log (decision D13.7), in one pass:
 * 1. every attestation is compared with the leaf that the log keeps of it, and with the columns beside it;
 * 2. the root over the leaves is compared with every checkpoint that was signed, each of which names the one before it.
 * Nothing that only the database says excuses what is missing. It reads in blocks and writes nothing, so a service may run
 * meanwhile.
 */

import { readOrigin } from "../../partner/log-checkpoint.ts";
import type { AuditStore } from "../../store/evidence/audit.ts";
import type { Secrets } from "../secrets.ts";
import { newChain, openSignedHeads, type SignedHeads } from "./audit-checkpoints.ts";
import { auditEpoch, type EpochCounts, type EpochPlan } from "./audit-epoch.ts";
import { type AuditFinding, createFindings, type Findings } from "./audit-findings.ts";
import { type EpochState, readSigned, type SignatureChecks } from "./audit-rows.ts";
import { headIn } from "./chain.ts";
import { hasOwnKey } from "./epochs.ts";
import { type LogEpoch, nextId, openingLeaves } from "./evidence.ts";
import type { RetentionMark } from "./retention-mark.ts";

type AuditedEpoch = EpochCounts & {
  readonly epoch: number;
  readonly origin: string;
  /** Leaves of its tree, the opening one of a later epoch included. */
  readonly size: number;
  readonly checkpoints: number;
  /** Attestations that had been signed for and were lost when a later epoch was opened, openly. */
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

type AuditDependencies = {
  readonly store: AuditStore;
  /** Oldest first. */
  epochs(): Promise<readonly LogEpoch[]>;
  /** The newest checkpoint outside the database, as a note. */
  readonly head: string | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** What retention may have deleted by now; null when nothing says so that is to be believed. */
  mark(): Promise<RetentionMark | null>;
  /** With them it is found when the newest epoch's public key was changed. */
  readonly secrets: Secrets;
  readonly signatures: SignatureChecks;
  /** @param total leaves in all */
  onProgress(done: number, total: number): void;
};

type Begins = NonNullable<RetentionMark["begins"]>;

/** An epoch, and how far it reaches. */
type Plan = EpochPlan & {
  /** Whether it is said to begin where the one before it ended. */
  readonly isPlaced: boolean;
  readonly state: EpochState;
};

/** @returns null when there is no log */
export async function auditLog(dependencies: AuditDependencies): Promise<AuditResult | null> {
  const { store, head, onProgress } = dependencies;
  const findings = createFindings();
  const epochs = await dependencies.epochs();
  const states = await store.states();
  const ids = await store.ids();
  if (epochs.length === 0) return null;
  const begins = (await dependencies.mark())?.begins ?? {};
  const plans = plansOf(epochs, { states, last: ids?.last ?? 0, begins });
  const total = plans.reduce((sum, { reach }) => sum + reach, 0);
  const [row] = ids === null ? [] : await store.rows(ids.first, ids.first);
  const first =
    row === undefined ? null : { ...row, issuedAt: readSigned(row.jws)?.issuedAt ?? dependencies.now };
  checkEpochs(dependencies, plans, findings);
  await checkOutside(dependencies, plans, { findings, first });
  const chain = newChain();
  const audited: AuditedEpoch[] = [];
  let [done, headStored] = [0, true];
  const onLeaves = (count: number) => {
    done += count;
    onProgress(done, total);
  };
  const audit = { ...dependencies, findings, first, onLeaves };
  for (const [at, plan] of plans.entries()) {
    const next = plans[at + 1]?.epoch;
    const heads = await openSignedHeads({ ...plan, next, head }, { store, findings, chain });
    const counts = await auditEpoch(audit, plan, heads);
    const checkpoints = await heads.finish(plan.reach);
    headStored &&= heads.kept === null || next !== undefined || heads.kept.size <= plan.state.signed;
    const lost = counts.lost + checkReach(plan, heads, findings);
    const { epoch, origin } = plan.epoch;
    audited.push({ ...counts, epoch, origin, size: plan.logged, checkpoints, lost });
  }
  const newest = plans.at(-1);
  return {
    epochs: audited,
    waiting: newest === undefined ? 0 : newest.reach - newest.logged,
    findings: findings.list(),
    found: findings.count(),
    headKnown: head !== null || total === 0,
    headStored,
  };
}

/**
 * What three tables say of a tree's length must agree; where they do not, most of it is looked at. Each tree begins where
 * the one before it ended, or where it is authenticated that it was opened over a loss, whatever is said of it.
 */
function plansOf(
  epochs: readonly LogEpoch[],
  { states, last, begins }: { states: readonly EpochState[]; last: number; begins: Begins },
): Plan[] {
  const plans: Omit<Plan, "left">[] = [];
  for (const said of epochs) {
    const before = plans.at(-1);
    const end = before === undefined ? said.firstId : nextId({ ...before.epoch, size: before.logged });
    const firstId = begins[said.epoch] ?? end;
    const epoch = { ...said, firstId };
    const state = states.find((one) => one.epoch === said.epoch) ?? { ...said, leaves: 0, signed: 0 };
    const { size, leaves, signed } = state;
    const logged = Math.max(Math.min(size, leaves), Math.min(signed, Math.max(size, leaves)));
    const rows = last - firstId + 1 + openingLeaves(epoch);
    const reach = said === epochs.at(-1) ? Math.max(logged, rows) : logged;
    plans.push({ epoch, isPlaced: firstId === said.firstId, state, logged, reach });
  }
  return plans.map((plan, at) => {
    const { epoch, reach } = plan;
    const until = Math.min(...plans.slice(at + 1).map((later) => later.epoch.firstId));
    return { ...plan, left: Math.min(reach, Math.max(0, until - epoch.firstId) + openingLeaves(epoch)) };
  });
}

function checkEpochs({ secrets }: AuditDependencies, plans: readonly Plan[], findings: Findings): void {
  for (const [at, { epoch, isPlaced, state, logged }] of plans.entries()) {
    const wrong = (says: string) => findings.add("LOG", epoch.epoch, { says });
    const isLast = at === plans.length - 1;
    const due = (plans[at - 1]?.epoch.epoch ?? 0) + 1;
    // One that was lost with the database is named by the one that follows it.
    const named = headIn(epoch.previous);
    const isNamed = named !== null && readOrigin(named.origin).epoch === epoch.epoch - 1;
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
    if (state.size !== logged || (state.leaves > logged && state.signed <= logged))
      wrong(`epoch ${epoch.epoch} is said to have ${state.size} leaves, and ${logged} are kept`);
  }
}

/** What stands outside of the trees: a checkpoint of another log, what is before the log, anchors, and retention's mark. */
async function checkOutside(
  { store, head, mark }: AuditDependencies,
  plans: readonly Plan[],
  { findings, first }: { findings: Findings; first: { id: number; verificationId: string } | null },
): Promise<void> {
  const origin = headIn(head)?.origin;
  if (origin !== undefined && !plans.some(({ epoch }) => epoch.origin === origin)) {
    const says = `the database does not know ${origin}, of which the newest checkpoint beside the master key is`;
    findings.add("BEHIND", plans.length, { says });
  }
  const begins = plans[0]?.epoch.firstId ?? 0;
  if (first !== null && first.id < begins) {
    const { id, verificationId } = first;
    const says = `attestation ${id} was inserted: the log begins with ${begins}`;
    findings.add("ATTESTATION", 1, { index: -1, id, verificationId, says });
  }
  const anchored = await store.anchoredWithoutCheckpoint();
  if (anchored !== null) {
    const { epoch, size } = anchored;
    const says = `the checkpoint at ${size} of epoch ${epoch} was anchored and then removed`;
    findings.add("CHECKPOINT", epoch, { index: size, says });
  }
  if ((await mark()) === null) {
    const says = "the mark of what retention has deleted is missing or not ours: it excuses nothing";
    findings.add("LOG", plans.length, { says });
  }
}

/** Whether everything is there that was signed for. @returns how many leaves were lost, openly */
function checkReach(
  { epoch, reach }: Plan,
  { kept, signed, stored, accepted }: SignedHeads,
  findings: Findings,
): number {
  const known = Math.max(reach, accepted);
  const leaf = { index: reach, id: epoch.firstId + reach - openingLeaves(epoch) };
  if (kept !== null && kept.size > known) {
    const says = `${kept.size} leaves of ${epoch.origin} were signed for, and the database has ${reach}`;
    findings.add("BEHIND", epoch.epoch, { ...leaf, says });
  } else if (signed > known || stored > reach) {
    const says = `${leaf.id} and those behind it were removed: ${signed} leaves were signed for, and ${reach} are left`;
    findings.add("ATTESTATION", epoch.epoch, { ...leaf, says: `attestation ${says}` });
  }
  return Math.max(0, accepted - reach);
}
