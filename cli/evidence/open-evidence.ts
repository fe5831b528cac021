/** The evidence log as services and commands open it: its store, and the pinned checkpoint beside the master key. */

import { pinnedCheckpointFile } from "../../src/config.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { createLogWriter, type LogWriter } from "../../src/domain/evidence/checkpoint.ts";
import { ensureLog } from "../../src/domain/evidence/log.ts";
import { log } from "../../src/logger.ts";
import type { StoredCheckpoint } from "../../src/store/evidence/log.ts";
import type { CommandContext } from "../open.ts";

/** The error of commands before the first `serve`. */
export function noLog(): TvsError {
  return new TvsError("NOT_KNOWN", "there is no evidence log yet; the first tvs serve begins it");
}

/** What the log of a register is written with. @param store over the leader's driver; the operator's own by default */
export function logDependencies(
  { config, pinned, secrets, clock, evidence }: CommandContext,
  store = evidence,
) {
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
    onUnpinned: () => log.warn(unpinned, { file: pinnedCheckpointFile(config) }),
  };
}

export function logWriterOf(operator: CommandContext, store = operator.evidence): LogWriter {
  return createLogWriter(logDependencies(operator, store));
}

/** Signs a checkpoint over all attestations. @returns null when there is none. @throws TvsError LOG_BEHIND */
export function checkpointOfAll(operator: CommandContext): Promise<StoredCheckpoint | null> {
  return logWriterOf(operator).checkpoint();
}

/**
 * Opens the log of a service, and begins it if there is none.
 * @throws TvsError LOG_BEHIND for a database that has lost what was signed for
 */
export async function openLog(operator: CommandContext): Promise<void> {
  const { evidence: store, secrets, clock, settingsInForce } = operator;
  await logWriterOf(operator).reconcile();
  await ensureLog({ store, secrets, clock, issuer: settingsInForce.issuer });
}
