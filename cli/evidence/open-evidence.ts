/**
 * The evidence log as services and commands work with it: its store, the head beside the master key, and never past an
 * epoch that is due.
 */

import { type Config, logHeadFile } from "../../src/config.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { createEvidenceBuilder, type EvidenceBuilder } from "../../src/domain/evidence/builder.ts";
import { isChained } from "../../src/domain/evidence/chain.ts";
import { ensureLog, epochDueName } from "../../src/domain/evidence/epochs.ts";
import { type LogEpoch, nextId, type StoredCheckpoint } from "../../src/domain/evidence/evidence.ts";
import {
  beginRetention,
  noteBegin,
  noteEnd,
  type RetentionMark,
  readMark,
} from "../../src/domain/evidence/retention-mark.ts";
import { openDueEpoch, openNextEpoch, refuseBareMark } from "../../src/domain/evidence/succession.ts";
import { type KeptLog, keptLog } from "../../src/domain/retention.ts";
import { log } from "../../src/logger.ts";
import type { PinnedCheckpoint } from "../../src/store/evidence/pinned-checkpoint.ts";
import { openPinnedCheckpoint } from "../../src/store/evidence/pinned-checkpoint.ts";
import type { Operator } from "../open.ts";

export function logHeadOf(config: Config): PinnedCheckpoint {
  return openPinnedCheckpoint(logHeadFile(config));
}

/** What an epoch is opened with. */
function openingOf(operator: Operator) {
  const { logHead: head, dueEpoch: due, secrets, clock, settingsInForce, evidence: store } = operator;
  const { issuer } = settingsInForce;
  const note = async (next: Parameters<typeof noteBegin>[1]) => {
    await noteEnd(operator, store);
    return noteBegin(operator, next);
  };
  return { store, head, due, secrets, issuer, clock, note };
}

/** Whether no checkpoint is known yet that demands an authenticated mark of what retention has deleted. */
async function isOldLog({ logHead, evidence }: Operator): Promise<boolean> {
  return !isChained(logHead.read()) && !isChained((await evidence.newest())?.note ?? null);
}

/** What is said before the first `serve`. */
export function noLog(): TvsError {
  return new TvsError("NOT_KNOWN", "there is no evidence log yet; the first tvs serve opens it");
}

/** What of the attestations may have been deleted by age, as far as it is authenticated. */
export async function keptLogOf(operator: Operator): Promise<KeptLog> {
  const isOld = await isOldLog(operator);
  return keptLog(operator, { isOld, now: operator.clock.now() });
}

/** Reads the mark of what retention has deleted, as often as it is asked for: null when none is to be believed. */
export async function retentionMarkOf(operator: Operator): Promise<() => Promise<RetentionMark | null>> {
  const isOld = await isOldLog(operator);
  return () => readMark(operator, { isOld, now: operator.clock.now() });
}

/** Opens the epoch that is due, if one is. What retention had deleted in a database of before is taken over first. */
async function openDue(operator: Operator): Promise<LogEpoch | null> {
  const opening = openingOf(operator);
  const onDue = () => prepareClosing(operator, { renew: false });
  return openDueEpoch({ ...opening, onDue }, operator.settings);
}

/** Closes the log openly, and goes on in a new epoch. @param reason why, for everybody who looks at the log */
export async function goOnInNextEpoch(operator: Operator, reason: string) {
  await prepareClosing(operator);
  const opened = await openNextEpoch(openingOf(operator), reason);
  const lost = await lossBefore(operator, opened);
  return { opened, lost, checkpoint: await checkpointOfAll(operator) };
}

/** @returns how many attestations were lost that are in the tree of the epoch before one that was opened */
async function lossBefore(operator: Operator, opened: LogEpoch): Promise<number> {
  const before = (await operator.evidence.epochs()).findLast(({ epoch }) => epoch < opened.epoch);
  return before === undefined ? 0 : Math.max(0, nextId(before) - opened.firstId);
}

/**
 * What is done before an epoch is closed: the mark of what retention has deleted is made where there is none.
 * @param renew whether it is made anew where it is not ours any more. A log that never demanded one has lost none: there the
 *   first is made, as the next service would.
 */
async function prepareClosing(operator: Operator, { renew = true } = {}): Promise<void> {
  await beginRetention(operator, {
    now: operator.clock.now(),
    renew: renew && !(await isOldLog(operator)),
  });
}

/** @param store over another driver than the operator's own, for work that depends on a lease */
export function evidenceBuilderOf(operator: Operator, store = operator.evidence): EvidenceBuilder {
  const { config, logHead: head, secrets, clock } = operator;
  const onFirst = () => beginRetention(operator, { now: clock.now() });
  const onTaken = () => logTaken(logHeadFile(config));
  return createEvidenceBuilder({ store, head, secrets, clock, onFirst, onMissing: logMissing, onTaken });
}

/**
 * What a command does that needs a checkpoint of all that was attested: in a database that was just restored it first
 * opens the epoch that is due, as the next service would.
 * @returns null when there is nothing to sign for
 * @throws TvsError LOG_BEHIND
 */
export async function checkpointOfAll(operator: Operator): Promise<StoredCheckpoint | null> {
  await openDue(operator);
  return evidenceBuilderOf(operator).checkpoint();
}

/**
 * Opens the evidence log of a service: where there is none the first epoch, after a restore the one that is due. A
 * database that has lost what was signed for is refused.
 * @throws TvsError LOG_BEHIND, REFUSED
 */
export async function openLog(operator: Operator): Promise<void> {
  const builder = evidenceBuilderOf(operator);
  const due = await openDue(operator);
  if (due !== null) logOpened(due);
  await builder.requireNotBehind();
  await ensureLog(openingOf(operator));
  await refuseBareMark(operator.settings);
  if (await isOldLog(operator)) await beginRetention(operator, { now: operator.clock.now() });
  // Whoever follows the log is to see at once that it has gone over to another epoch.
  if (due !== null) await builder.checkpoint();
}

/**
 * Refuses a database that has lost what was signed for and was not put there by `tvs restore`: new teachers would get the
 * ids of those who were lost.
 * @throws TvsError LOG_BEHIND
 */
export async function requireWholeLog(operator: Operator): Promise<void> {
  if ((await operator.settings.read()).has(epochDueName)) return;
  await evidenceBuilderOf(operator).requireNotBehind();
}

function logTaken(file: string): void {
  const message =
    "no checkpoint of the evidence log was kept here, and the newest is taken from the database: if that may be an old " +
    "copy, compare it with an anchor or with what a partner has";
  log.warn(message, { file });
}

function logMissing(id: number): void {
  const message =
    "an attestation was taken out of the database before the evidence log had it; tvs log audit says more";
  log.error(message, { attestation: id });
}

function logOpened({ origin, reason }: LogEpoch): void {
  const message = "the evidence log goes on in a new epoch; give its key (tvs log key) to all who verify";
  log.warn(message, { origin, reason });
}
