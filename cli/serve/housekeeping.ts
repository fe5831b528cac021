/** The background work of `serve`: every node sends webhooks; only the leader does the work that two nodes must not do. */

import { v7 as uuidv7 } from "uuid";
import packageJson from "../../package.json" with { type: "json" };
import { isPrivateAddressAllowed } from "../../src/delivery/address-guard.ts";
import { createWebhookHttpClient } from "../../src/delivery/exchange.ts";
import { startWebhookSender } from "../../src/delivery/sender.ts";
import type { Clock } from "../../src/domain/clock.ts";
import type { Configuration } from "../../src/domain/configuration.ts";
import { prunePartnerEvents } from "../../src/domain/event-filter.ts";
import { startLogBuilding } from "../../src/domain/evidence/checkpoint.ts";
import { startAttestationPruning } from "../../src/domain/evidence/retention.ts";
import { idempotencyRetentionMs } from "../../src/domain/idempotency.ts";
import { oldestKeptWindowStarts } from "../../src/domain/quota-windows.ts";
import { startRepeating } from "../../src/domain/serial.ts";
import { startLicenseSweeps } from "../../src/domain/sweep.ts";
import { log } from "../../src/logger.ts";
import { type Counters, makeCountingOutbox } from "../../src/metrics/counters.ts";
import { createLeaderDriver, createLeaderStore } from "../../src/store/leader.ts";
import { logWriterOf } from "../evidence/open-evidence.ts";
import { createStores, type OpenedRegister, type Stores } from "../open.ts";

/** How often a node checks whether the leader's lease is free, and how often the leader renews the lease, in milliseconds. */
const [pollIntervalMs, renewMs] = [500, 5_000];
const pruneMs = 60_000;
/** The maximum number of rows that one commit deletes. A commit blocks the event loop, and callers' commits wait for it. */
const pruneRows = 100;
/** How often a node on a libSQL server polls for deliveries, in milliseconds. Each poll is a request to the server. */
const remotePollMs = 500;

type LeaderOptions = {
  readonly configuration: Configuration;
  /** True while the node's clock is wrong. Such a node does not lead: it would expire licences or delete attestations early. */
  readonly isClockWrong: () => boolean;
  /** Called if the evidence log cannot be extended, or a checkpoint cannot be signed. */
  readonly onLogError: (error: unknown) => void;
};

const noWork = async () => {};

/** Does the leader's work; over a libSQL server only while this node has the lease. @returns a function that stops the work */
export function startLeaderWork(operator: OpenedRegister, options: LeaderOptions): () => Promise<void> {
  const { driver } = operator;
  if (driver.kind === "embedded") return startWork(operator, createStores(driver), options);
  const lease = createLeaderStore(driver);
  let holder: string | null = null;
  let renewedMs = 0;
  let stopWork = noWork;

  async function resign(): Promise<void> {
    const left = holder;
    holder = null;
    await stopWork();
    stopWork = noWork;
    // If the database cannot be reached, the lease is not given back, and expires.
    if (left !== null) await lease.giveBack(left).catch(noWork);
  }

  async function renewOrTakeLease(): Promise<void> {
    if (options.isClockWrong()) return resign();
    if (holder === null ? await lease.isHeld() : performance.now() - renewedMs < renewMs) return;
    const askedMs = performance.now();
    const mine = holder ?? uuidv7();
    if (!(await lease.take(mine))) return resign();
    renewedMs = askedMs;
    if (holder !== null) return;
    holder = mine;
    stopWork = startWork(operator, createStores(createLeaderDriver(driver, mine)), options);
    log.info("this service leads: it does what one does for all", {});
  }

  const onError = logError("the lease cannot be renewed");
  const stopLooking = startRepeating(renewOrTakeLease, { everyMs: pollIntervalMs, onError });
  return async () => {
    await stopLooking();
    await resign();
  };
}

function startWork(operator: OpenedRegister, stores: Stores, { configuration, onLogError }: LeaderOptions) {
  const { clock, secrets, pinned } = operator;
  const writer = logWriterOf(operator, stores.evidence);
  const stops = [
    startRepeating(() => prune(stores, clock), { everyMs: pruneMs, onError: logError("pruning failed") }),
    startLicenseSweeps({ ...stores, configuration, clock, onError: logError("sweep failed") }),
    startAttestationPruning({
      ...{ ...stores, secrets, pinned, clock },
      onPruned: (attestations) => log.info("old attestations deleted", { attestations }),
      onHeld: (attestation) => log.warn(heldMessage, { attestation }),
      onError: logError("old attestations could not be deleted"),
    }),
    startLogBuilding({ writer, store: stores.evidence, clock, onError: onLogError }),
  ];
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
  };
}

const heldMessage =
  "from this attestation on nothing is deleted though it is old, because the pinned checkpoint does not " +
  "prove that it is as it was signed for; tvs log audit and tvs doctor say more";

function logError(message: string): (error: unknown) => void {
  return (error) => log.error(message, { detail: String(error) });
}

/** Deletes idempotency records, quota windows and events that are too old to be replayed, counted or fetched. */
async function prune({ idempotencyStore, quotaStore, partnerEvents }: Stores, clock: Clock): Promise<void> {
  const now = clock.now();
  await quotaStore.prune(oldestKeptWindowStarts(now));
  while ((await idempotencyStore.prune(now - idempotencyRetentionMs, pruneRows)) === pruneRows);
  await prunePartnerEvents(partnerEvents, clock);
}

type SenderOptions = { clockAheadMs: () => number; configuration: Configuration; counters: Counters };

/**
 * Starts the webhook sender with the database's clock. By its own clock, a node whose clock is ahead would send deliveries
 * that another node still leases. @returns a function that stops the sender; it may be called twice
 */
export function startWebhookSending(
  { driver, stores, secrets, keyKind, clock: own }: OpenedRegister,
  { clockAheadMs, configuration, counters }: SenderOptions,
): () => Promise<void> {
  const clock = { now: () => own.now() - clockAheadMs() };
  const exchange = createWebhookHttpClient({ clock });
  const sender = startWebhookSender({
    outbox: makeCountingOutbox(stores.outbox, counters),
    exchange,
    secrets,
    clock,
    allowPrivate: (url) => isPrivateAddressAllowed(url, { keyKind, ...configuration.current().settings }),
    version: packageJson.version,
    ...(driver.kind === "remote" ? { limits: { pollMs: remotePollMs } } : {}),
    onError: logError("webhook sender failed"),
  });
  let closing: Promise<void> | undefined;
  return () => {
    closing ??= sender.close().then(() => exchange.close());
    return closing;
  };
}
