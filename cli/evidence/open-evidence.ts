/** Opens the evidence log of a register for services and commands. */

import { pinnedCheckpointPathOf } from "../../src/config.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { createLogWriter, type LogWriter } from "../../src/domain/evidence/checkpoint.ts";
import { ensureFirstLog } from "../../src/domain/evidence/log.ts";
import { log } from "../../src/logger.ts";
import type { OpenedRegister } from "../open.ts";

/** Makes the error of a command that needs a log, before the first `tvs serve` has begun one. */
export function missingLogError(): TvsError {
  return new TvsError("NOT_KNOWN", "there is no evidence log yet; the first tvs serve begins it");
}

export function logDependenciesOf({ config, pinned, secrets, clock, evidence: store }: OpenedRegister) {
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

/** Creates the log's writer. @param store the command's own by default; the leader's store checks its lease */
export function logWriterOf(operator: OpenedRegister, store = operator.evidence): LogWriter {
  return createLogWriter({ ...logDependenciesOf(operator), store });
}

/** Reconciles the log with the pinned checkpoint, and begins the first log. @throws TvsError LOG_BEHIND */
export async function openEvidenceLog(operator: OpenedRegister): Promise<void> {
  const { evidence: store, secrets, clock, settingsInForce } = operator;
  await logWriterOf(operator).reconcile();
  await ensureFirstLog({ store, secrets, clock, issuer: settingsInForce.issuer });
}
