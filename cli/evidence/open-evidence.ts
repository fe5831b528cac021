/** The evidence log as services and commands work with it: its store, and the checkpoint that is pinned beside the master key. */

import { pinnedCheckpointFile } from "../../src/config.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { createLogWriter, type LogWriter } from "../../src/domain/evidence/checkpoint.ts";
import { ensureLog, type StoredCheckpoint } from "../../src/domain/evidence/log.ts";
import { log } from "../../src/logger.ts";
import type { Operator } from "../open.ts";

/** What is said before the first `serve`. */
export function noLog(): TvsError {
  return new TvsError("NOT_KNOWN", "there is no evidence log yet; the first tvs serve begins it");
}

/** How the log of a register is written. @param store over another driver than the operator's own, for the leader */
export function logDependencies({ config, pinned, secrets, clock, evidence }: Operator, store = evidence) {
  return {
    store,
    pinned,
    secrets,
    clock,
    onMissing: logMissing,
    onUnpinned: () => logUnpinned(pinnedCheckpointFile(config)),
  };
}

export function logWriterOf(operator: Operator, store = operator.evidence): LogWriter {
  return createLogWriter(logDependencies(operator, store));
}

/**
 * Signs for all that was attested.
 * @returns null when there is nothing to sign for
 * @throws TvsError LOG_BEHIND
 */
export function checkpointOfAll(operator: Operator): Promise<StoredCheckpoint | null> {
  return logWriterOf(operator).checkpoint();
}

/**
 * Opens the evidence log of a service, and begins it where there is none. A database that has lost what was signed for is
 * refused.
 * @throws TvsError LOG_BEHIND
 */
export async function openLog(operator: Operator): Promise<void> {
  const { evidence: store, secrets, clock, settingsInForce } = operator;
  await logWriterOf(operator).requireNotBehind();
  await ensureLog({ store, secrets, clock, issuer: settingsInForce.issuer });
}

/**
 * Refuses a database that has lost what was signed for and was not put there by `tvs restore`: new teachers would get the
 * ids of those who were lost.
 * @throws TvsError LOG_BEHIND
 */
export function requireWholeLog(operator: Operator): Promise<void> {
  return logWriterOf(operator).requireNotBehind();
}

function logUnpinned(file: string): void {
  const message =
    "no checkpoint of the evidence log was pinned here, and the newest is taken from the database: if that may be an old " +
    "copy, compare it with what a partner has";
  log.warn(message, { file });
}

function logMissing(id: number): void {
  const message =
    "an attestation was removed from the database before the evidence log had it; tvs log audit says more";
  log.error(message, { attestation: id });
}
