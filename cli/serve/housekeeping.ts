/** What is done once for all nodes: whoever has the lease of the housekeeping does it, and only as long (decision D12.2). */

import { type Clock, timersOf } from "../../src/domain/clock.ts";
import type { Configuration } from "../../src/domain/configuration.ts";
import { startBuilding } from "../../src/domain/evidence/schedule.ts";
import { keepIdempotencyMs } from "../../src/domain/idempotency.ts";
import { nodeTimes } from "../../src/domain/nodes.ts";
import { startMaintenance } from "../../src/domain/pruning.ts";
import { forgottenWindows } from "../../src/domain/quota-windows.ts";
import { createSerial, repeat } from "../../src/domain/serial.ts";
import { startSweeping } from "../../src/domain/sweep.ts";
import { pruneTold } from "../../src/domain/told.ts";
import { log } from "../../src/logger.ts";
import { fenced } from "../../src/store/driver/fenced.ts";
import { housekeepingLease } from "../../src/store/nodes.ts";
import { evidenceBuilderOf } from "../evidence/open-evidence.ts";
import { createStores, type Operator, type Stores } from "../open.ts";

const pruneMs = 60_000;
/** How long after a failure it is begun again. */
const againMs = 2_000;
/** Records forgotten in one commit, which keeps the main thread for that long. */
const pruneRows = 100;

type Housekeeping = {
  /**
   * Begins or ends the work, by whether the lease is held; to be called again and again.
   * @param fence under which it is; null while it is not
   */
  tend(fence: number | null): void;
  /** Ends it, when the step that is under way has ended. */
  stop(): Promise<void>;
};

type HousekeepingOptions = {
  readonly nodeId: string;
  readonly configuration: Configuration;
  /** Told when this node has the lease, before the work begins. */
  readonly onBegin: () => Promise<void>;
  /** Told when the evidence log cannot be built or signed for. */
  readonly onLogError: (error: unknown) => void;
};

export function createHousekeeping(
  operator: Operator,
  { nodeId, configuration, onBegin, onLogError }: HousekeepingOptions,
): Housekeeping {
  const inTurn = createSerial();
  const { elapsed } = timersOf(operator.clock);
  let underFence: number | null = null;
  let stopWork = async () => {};
  let notBeforeMs = Number.NEGATIVE_INFINITY;

  async function turn(fence: number | null): Promise<void> {
    await stopWork();
    stopWork = async () => {};
    if (fence === null) return;
    await onBegin();
    stopWork = startWork(operator, {
      configuration,
      stores: storesUnder(operator, nodeId, fence),
      onLogError,
    });
  }

  function tend(fence: number | null): void {
    if (fence === underFence || elapsed() < notBeforeMs) return;
    underFence = fence;
    void inTurn(() => turn(fence)).catch((error) => {
      [underFence, notBeforeMs] = [null, elapsed() + againMs];
      onError("the housekeeping could not begin")(error);
    });
  }

  return {
    tend,
    stop() {
      underFence = null;
      return inTurn(() => turn(null));
    },
  };
}

/** Stores whose every act fails once another node has the lease. */
function storesUnder({ driver }: Operator, nodeId: string, fence: number): Stores {
  return createStores(fenced(driver, housekeepingLease(nodeId, fence)));
}

/** @returns ends it all */
function startWork(
  operator: Operator,
  {
    stores,
    configuration,
    onLogError,
  }: { stores: Stores } & Pick<HousekeepingOptions, "configuration" | "onLogError">,
): () => Promise<void> {
  const { clock } = operator;
  const stops = [
    repeat(() => prune(stores, clock), { everyMs: pruneMs, onError: onError("pruning failed"), clock }),
    startSweeping({ teachers: stores.teachers, configuration, clock, onError: onError("sweep failed") }),
    startMaintenance({
      maintenance: stores.maintenance,
      settings: stores.settings,
      secrets: operator.secrets,
      evidence: stores.evidence,
      head: operator.logHead,
      clock,
      onPruned: (attestations) => log.info("old attestations deleted", { attestations }),
      onHeld: logHeld,
      onError: onError("maintenance of the attestations failed"),
    }),
    startBuilding({
      builder: evidenceBuilderOf(operator, stores.evidence),
      store: stores.evidence,
      clock,
      onError: onLogError,
    }),
  ];
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
  };
}

function logHeld(attestation: number): void {
  const message =
    "from this attestation on nothing is deleted though it is old, because the checkpoint beside the master key does not " +
    "prove that it is as it was signed for; tvs log audit and tvs doctor say more";
  log.warn(message, { attestation });
}

function onError(message: string): (error: unknown) => void {
  return (error) => log.error(message, { detail: String(error) });
}

/** Forgets idempotency records, quota windows and events to fetch that are over, and nodes that have long been gone. */
async function prune({ idempotencyStore, quotaStore, nodes, told }: Stores, clock: Clock): Promise<void> {
  const now = clock.now();
  await Promise.all([quotaStore.prune(forgottenWindows(now)), nodes.forget(nodeTimes.forgetMs)]);
  // A step at a time, so that no commit of a caller waits behind a long one.
  while ((await idempotencyStore.prune(now - keepIdempotencyMs, pruneRows)) === pruneRows);
  await pruneTold(told, clock);
}
