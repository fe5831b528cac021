import { Worker } from "node:worker_threads";
import packageJson from "../package.json" with { type: "json" };
import type { Config, ServeConfig } from "../src/config.ts";
import { createExchange } from "../src/delivery/exchange.ts";
import { type Sender, type SenderDependencies, startSender } from "../src/delivery/sender.ts";
import type { AccessLogFigures } from "../src/domain/calls.ts";
import type { Clock } from "../src/domain/clock.ts";
import { createIdempotency, type IdempotencyStore, keepIdempotencyMs } from "../src/domain/idempotency.ts";
import type { KeyRing } from "../src/domain/keys.ts";
import { createLive, issuerToldName, type Live, storedSettings } from "../src/domain/live.ts";
import { createPublicLookup } from "../src/domain/public-lookup.ts";
import { createQuota, forgottenWindows } from "../src/domain/quota.ts";
import { retentionSetting, startMaintenance } from "../src/domain/retention.ts";
import { repeat } from "../src/domain/serial.ts";
import { startSweeping } from "../src/domain/sweep.ts";
import { createVerification } from "../src/domain/verification.ts";
import { log } from "../src/log.ts";
import { createRefusals, type Refusals } from "../src/metrics/refusals.ts";
import { createRequestCounters, type RequestCounters } from "../src/metrics/requests.ts";
import {
  countedAttestations,
  countedOutbox,
  countedPublicLookup,
  countedSigner,
  createWorkCounters,
  type WorkCounters,
} from "../src/metrics/work.ts";
import { routes } from "../src/server/routes.ts";
import type { Service } from "../src/server/service.ts";
import { type ChosenSigner, openSigner } from "../src/signing/signer.ts";
import { type CallLog, createCallLog } from "../src/store/call-log.ts";
import { createCallWriter, writeCallsInThread } from "../src/store/call-log-writer.ts";
import { createEvidenceDisk, type EvidenceDisk } from "../src/store/evidence-disk.ts";
import { signingThreads } from "./entry.ts";
import { type OpenOptions, type Operator, openOperator, type Stores } from "./open.ts";

/** What `serve` adds: the service that the HTTP layer calls. */
export type OpenService = {
  readonly operator: Operator;
  readonly service: Service;
  /** What the service counts, for the console and for Prometheus. */
  readonly metrics: {
    readonly requests: RequestCounters;
    readonly work: WorkCounters;
    readonly refusals: Refusals;
    /** Null when no access log is kept. */
    accessLog(): AccessLogFigures | null;
  };
  /** What signs just now, in words for the operator. */
  signingEngine(): string;
  /** Whether the disk refuses what answers leave behind. */
  isDiskRefusing(): boolean;
  /** Ends the sending of webhooks, when the attempts under way are over; a part of `close` that may begin early. */
  stopSending(): Promise<void>;
  close(): Promise<void>;
};

/** How often a running service looks whether a command has changed something. */
const refreshMs = 200;
const pruneMs = 60_000;
/**
 * When the signing engine is chosen: by then a service of any size is listening; until the choice is made, WebCrypto
 * signs.
 */
const chooseAfterMs = 100;
const pruneRows = 500;
/** A probe of the signer costs a signature; health answers from the last one for this long. */
const probeMs = 1_000;

/**
 * Opens everything that `serve` needs and keeps it fresh; where there is no register, one is made. The database is
 * locked for this process.
 * @throws TvsError DATABASE_IN_USE besides what {@link openOperator} throws
 */
export async function openService(
  config: Config & Partial<Pick<ServeConfig, "accessLog">>,
  options: OpenOptions = {},
): Promise<OpenService> {
  const work = createWorkCounters();
  const whenMade = (words: string) => log.info(words, {});
  const operator = await openOperator(config, { whenMade, ...options, onGroup: work.committed });
  const closers: (() => Promise<unknown>)[] = [];
  const closeParts = () => Promise.all(closers.map((close) => close())).then(() => operator.driver.close());
  try {
    await takeOver(operator, config);
    const calls = config.accessLog === true ? openCallLog(config.callsFile, options.workerEntry) : undefined;
    if (calls !== undefined) closers.push(calls.close);
    const start = signingThreads(options.workerEntry);
    const { signingEngine: engine } = config;
    const signer = await openSigner({ secrets: operator.secrets, engine, start, chooseAfterMs });
    closers.push(signer.close);
    const disk = createEvidenceDisk(operator.driver);
    const metrics: OpenService["metrics"] = {
      requests: createRequestCounters(routes),
      work,
      refusals: createRefusals(operator.clock),
      accessLog: () => calls?.figures() ?? null,
    };
    const service = await createService(operator, { signer, disk, metrics, calls });
    const jobs = startJobs(operator, { service, work });
    return {
      operator,
      service,
      metrics,
      signingEngine: () => signer.engine().description,
      isDiskRefusing: disk.isRefusing,
      stopSending: jobs.stopSending,
      close: () => jobs.stop().then(closeParts),
    };
  } catch (error) {
    await closeParts();
    throw error;
  }
}

/**
 * Makes this process the one that serves the database, and tells the commands how it does.
 * @throws TvsError DATABASE_IN_USE
 */
async function takeOver(operator: Operator, { keepAttestations }: Config): Promise<void> {
  const { driver, stores, clock, settingsInForce, issuerTold } = operator;
  await driver.lockService();
  // What a killed service had in hand is sent now, and not when its leases would have ended.
  await stores.outbox.releaseAll(clock.now());
  await stores.settings.write({ ...storedSettings(settingsInForce), [issuerToldName]: String(issuerTold) });
  if (keepAttestations !== undefined) await stores.settings.write({ [retentionSetting]: keepAttestations });
}

type ServiceParts = {
  readonly signer: ChosenSigner;
  readonly disk: EvidenceDisk;
  readonly metrics: OpenService["metrics"];
  readonly calls: CallLog | undefined;
};

async function createService(operator: Operator, parts: ServiceParts): Promise<Service> {
  const { stores, settingsInForce, blindIndex, secrets, keyKind, clock } = operator;
  const { settings, partners, keys, teachers, quotaStore } = stores;
  const { signer, disk, metrics, calls } = parts;
  const onKeys = (ring: KeyRing) => signer.load(ring);
  const live = await createLive({
    settings,
    partners,
    keys,
    secrets,
    clock,
    defaults: settingsInForce,
    onKeys,
  });
  const shared = { live, teachers, blindIndex, clock };
  const sign = () => signer.sign(live.current().keys.active.kid, ["probe"]);
  return {
    live,
    verification: createVerification({
      ...shared,
      attestations: countedAttestations(disk.watch(stores.attestations), metrics.work),
      idempotency: createIdempotency(stores.idempotencyStore, secrets, clock),
      signer: countedSigner(signer, metrics.work),
    }),
    publicLookup: countedPublicLookup(createPublicLookup(shared), metrics.work),
    quota: createQuota({ clock, store: quotaStore, stored: await quotaStore.windows() }),
    secrets,
    keyKind,
    clock,
    probe: createProbe(clock, () => Promise.all([disk.probe(), live.refresh(), sign()])),
    onCall(call) {
      metrics.requests.observe(call.route, call.method, call.status, call.ms);
      metrics.refusals.observe(call);
      calls?.observe(call);
    },
  };
}

/** What a service does besides answering; each ends when what it has in hand is done. */
type Jobs = { stopSending(): Promise<void>; stop(): Promise<unknown> };

function startJobs(operator: Operator, { service, work }: { service: Service; work: WorkCounters }): Jobs {
  const { stores, clock, secrets } = operator;
  const { live } = service;
  const stops = [
    keepFresh(stores, service),
    startSweeping({
      teachers: stores.teachers,
      live,
      clock,
      onError: (error) => log.error("sweep failed", { detail: String(error) }),
    }),
    startMaintenance({
      maintenance: stores.maintenance,
      settings: stores.settings,
      clock,
      onPruned: (attestations) => log.info("old attestations deleted", { attestations }),
      onError: (error) => log.error("maintenance of the attestations failed", { detail: String(error) }),
    }),
  ];
  const outbox = countedOutbox(stores.outbox, work);
  const stopSending = startSending({ outbox, secrets, clock }, live);
  return { stopSending, stop: () => Promise.all([...stops.map((stop) => stop()), stopSending()]) };
}

/** Opens the access log; a service that has no entry to start a thread from writes it in place. */
function openCallLog(file: string, entry: URL | undefined): CallLog {
  if (entry === undefined) return createCallLog({ write: createCallWriter(file), end: async () => {} });
  return createCallLog(writeCallsInThread(new Worker(entry, { workerData: { role: "call-writer", file } })));
}

function createProbe(clock: Clock, use: () => Promise<unknown>): () => Promise<void> {
  let last: { at: number; outcome: Promise<void> } | undefined;
  const ask = async () => {
    await use();
  };
  return () => {
    const now = clock.now();
    if (last === undefined || Math.abs(now - last.at) > probeMs) last = { at: now, outcome: ask() };
    return last.outcome;
  };
}

/** Starts the webhook sender. @returns stops it, once */
function startSending(
  { outbox, secrets, clock }: Pick<SenderDependencies, "outbox" | "secrets" | "clock">,
  live: Live,
): () => Promise<void> {
  const exchange = createExchange({ clock });
  const sender: Sender = startSender({
    outbox,
    exchange,
    secrets,
    clock,
    allowPrivate: () => live.current().settings.allowPrivateWebhooks,
    version: packageJson.version,
    onError: (error) => log.error("webhook sender failed", { detail: String(error) }),
  });
  let closing: Promise<void> | undefined;
  return () => {
    closing ??= sender.close().then(() => exchange.close());
    return closing;
  };
}

/** Re-reads what commands have changed, and forgets idempotency records and quota windows that are over. */
function keepFresh({ idempotencyStore, quotaStore }: Stores, { live, clock }: Service): () => Promise<void> {
  let failure = "";
  async function refresh(): Promise<void> {
    await live.refresh();
    failure = "";
  }
  // A failure shows itself in the health probe and in the calls too; the next turn tries again.
  function told(error: unknown): void {
    if (String(error) !== failure) log.error("changes cannot be read", { detail: String(error) });
    failure = String(error);
  }
  async function prune(): Promise<void> {
    const now = clock.now();
    await Promise.all([
      quotaStore.prune(forgottenWindows(now)),
      pruneIdempotency(idempotencyStore, now - keepIdempotencyMs),
    ]);
  }
  const ends = [
    repeat(refresh, { everyMs: refreshMs, onError: told }),
    repeat(prune, { everyMs: pruneMs, onError: () => {} }),
  ];
  return async () => {
    await Promise.all(ends.map((end) => end()));
  };
}

/** A step at a time, so that no commit of a caller waits behind a long one. */
async function pruneIdempotency(store: IdempotencyStore, before: number): Promise<void> {
  while ((await store.prune(before, pruneRows)) === pruneRows);
}
