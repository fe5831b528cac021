/** Opens the evidence log of a register for services and commands. */

import { pinnedCheckpointPathOf } from "../../src/config.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { createLogWriter, type LogWriter } from "../../src/domain/evidence/checkpoint.ts";
import { ensureFirstLog } from "../../src/domain/evidence/log.ts";
import { log } from "../../src/logger.ts";
import type { OpenedRegister } from "../open.ts";

/** Makes the error of a command that needs an evidence log, if no `tvs serve` has begun a log yet. */
export function missingLogError(): TvsError {
  return new TvsError("NOT_KNOWN", "there is no evidence log yet; the first tvs serve begins it");
}

export function logWriterDependenciesOf({ config, pinned, secrets, clock, evidence: store }: OpenedRegister) {
  const missing =
    "an attestation was removed from the database before the evidence log had it; tvs log audit says more";
  const unpinned =
    "no checkpoint of the evidence log was pinned here, and the newest is taken from the database: if that may be an old " +
    "copy, compare it with what a partner has";
  return {
    store,
    pinned,
    secrets,
    clock,
    onMissing: (attestation: number) => log.error(missing, { attestation }),
    onUnpinned: () => log.warn(unpinned, { file: pinnedCheckpointPathOf(config) }),
  };
}

/** Creates the log's writer. @param store by default the register's; the leader gives a store that checks the lease */
export function logWriterOf(operator: OpenedRegister, store = operator.evidence): LogWriter {
  return createLogWriter({ ...logWriterDependenciesOf(operator), store });
}

/** Compares the log with the pinned checkpoint; begins the first log if none exists. @throws TvsError LOG_BEHIND */
export async function openEvidenceLog(operator: OpenedRegister): Promise<void> {
  const { evidence: store, secrets, clock, settingsInForce } = operator;
  await logWriterOf(operator).reconcile();
  await ensureFirstLog({ store, secrets, clock, issuer: settingsInForce.issuer });
}
