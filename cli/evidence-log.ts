/**
 * The evidence log as services and commands work with it: its store, the head beside the master key, and never past an
 * epoch that is due.
 */

import { type Config, logHeadFile } from "../src/config.ts";
import { ensureLog } from "../src/domain/log/epochs.ts";
import { createLogKeeper, type LogHead, type LogKeeper } from "../src/domain/log/keeper.ts";
import type { LogEpoch } from "../src/domain/log/log.ts";
import { openDueEpoch } from "../src/domain/log/succession.ts";
import { log } from "../src/log.ts";
import { openLogHead } from "../src/store/log-head.ts";
import type { Operator } from "./open.ts";

/** What the log is kept with. */
type Keeping = Pick<Operator, "config" | "secrets" | "clock" | "settingsInForce" | "stores">;

export function logHeadOf(config: Config): LogHead {
  return openLogHead(logHeadFile(config));
}

/** What an epoch is opened with. */
export function openingOf({ config, secrets, clock, settingsInForce, stores }: Keeping) {
  const { issuer } = settingsInForce;
  return { store: stores.log, head: logHeadOf(config), secrets, issuer, now: clock.now() };
}

/**
 * The keeper. A command that needs a checkpoint of a database that was just restored first opens the epoch that is due,
 * as the next service would.
 * @param store over another driver than the operator's own, for work that depends on a lease
 */
export function logKeeperOf(operator: Keeping, store = operator.stores.log): LogKeeper {
  const { config, secrets, clock, stores } = operator;
  const keeper = createLogKeeper({ store, head: logHeadOf(config), secrets, clock, onMissing: tellMissing });
  return {
    ...keeper,
    async checkpoint() {
      await openDueEpoch(openingOf(operator), stores.settings);
      return keeper.checkpoint();
    },
  };
}

/**
 * Opens the evidence log of a service: where there is none the first epoch, after a restore the one that is due. A
 * database that has lost what was signed for is refused.
 * @throws TvsError LOG_BEHIND
 */
export async function openLog(operator: Keeping): Promise<void> {
  const { stores } = operator;
  const keeper = logKeeperOf(operator);
  const due = await openDueEpoch(openingOf(operator), stores.settings);
  if (due !== null) tellOpened(due);
  await keeper.requireNotBehind();
  await ensureLog(openingOf(operator));
  // Whoever follows the log is to see at once that it has gone over to another epoch.
  if (due !== null) await keeper.checkpoint();
}

function tellMissing(id: number): void {
  const message =
    "an attestation was taken out of the database before the evidence log had it; tvs log audit says more";
  log.error(message, { attestation: id });
}

function tellOpened({ origin, reason }: LogEpoch): void {
  const message = "the evidence log goes on in a new epoch; give its key (tvs log key) to all who verify";
  log.warn(message, { origin, reason });
}
