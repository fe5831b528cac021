import { Worker } from "node:worker_threads";
import packageJson from "../package.json" with { type: "json" };
import type { Config, ServeConfig } from "../src/config.ts";
import { createExchange } from "../src/delivery/exchange.ts";
import { type Sender, startSender } from "../src/delivery/sender.ts";
import type { AccessLogFigures } from "../src/domain/calls.ts";
import type { Clock } from "../src/domain/clock.ts";
import { createIdempotency, type IdempotencyStore, keepIdempotencyMs } from "../src/domain/idempotency.ts";
import { createLive, issuerToldName, type Live, storedSettings } from "../src/domain/live.ts";
import { createPublicLookup } from "../src/domain/public-lookup.ts";
import { createQuota, forgottenWindows } from "../src/domain/quota.ts";
import { retentionSetting, startUpkeep } from "../src/domain/retention.ts";
import { startSweeping } from "../src/domain/sweep.ts";
import { createVerification } from "../src/domain/verification.ts";
import { log } from "../src/log.ts";
import {
  countedAttestations,
  countedOutbox,
  countedPublicLookup,
  countedSigner,
} from "../src/metrics/counted.ts";
import { createRefusals, type Refusals } from "../src/metrics/refusals.ts";
import { createRequestCounters, type RequestCounters } from "../src/metrics/requests.ts";
import { createWorkCounters, type WorkCounters } from "../src/metrics/work.ts";
import type { Service } from "../src/server/service.ts";
import { openSigner } from "../src/signing/signer.ts";
import { type CallLog, createCallLog, writeInThread } from "../src/store/call-log.ts";
import { createCallWriter } from "../src/store/call-writer.ts";
import { createEvidenceDisk } from "../src/store/driver/evidence-disk.ts";
import { type OpenOptions, type Operator, openOperator } from "./open.ts";
import { signingThreads } from "./signing-threads.ts";

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
/** By then a service of any size is listening; until the choice is made, WebCrypto signs. */
const chooseAfterMs = 100;
const pruneRows = 500;
/** A probe of the signer costs a signature; health answers from the last one for this long. */
const probeMs = 1_000;

/**
 * Opens everything that `serve` needs and keeps it fresh; where there is no register, one is made. The database is
 * claimed for this process.
 * @throws TvsError DATABASE_IN_USE besides what {@link openOperator} throws
 */
export async function openService(
  config: Config & Partial<Pick<ServeConfig, "accessLog">>,
  options: OpenOptions = {},
): Promise<OpenService> {
  const work = createWorkCounters();
  const whenMade = (words: string) => log.info(words, {});
  const operator = await openOperator(config, { whenMade, ...options, onGroup: work.committed });
  const { driver, clock, secrets, blindIndex } = operator;
  const refusals = createRefusals(clock);
  let calls: CallLog | undefined;
  const metrics = {
    requests: createRequestCounters(),
    work,
    refusals,
    accessLog: () => calls?.figures() ?? null,
  };
  let closeSigner = async () => {};
  try {
    await driver.claimService();
    if (config.accessLog === true) calls = openCallLog(config.callsFile, options.workerEntry);
    // What a killed service had in hand is sent now, and not when its leases would have ended.
    await operator.outbox.releaseAll(clock.now());
    await operator.settings.write({
      ...storedSettings(operator.settingsInForce),
      [issuerToldName]: String(operator.issuerTold),
    });
    if (config.keepAttestations !== undefined)
      await operator.settings.write({ [retentionSetting]: config.keepAttestations });
    const start = signingThreads(options.workerEntry);
    const signer = await openSigner({ secrets, engine: config.signingEngine, start, chooseAfterMs });
    closeSigner = signer.close;
    const live = await createLive({
      ...operator,
      settings: operator.settings,
      defaults: operator.settingsInForce,
      onKeys: (ring) => signer.load(ring),
    });
    const idempotency = createIdempotency(operator.idempotency, secrets, clock);
    const shared = { live, teachers: operator.teachers, blindIndex, clock };
    const sign = () => signer.sign(live.current().keys.active.kid, "probe");
    const disk = createEvidenceDisk(driver);
    const probe = createProbe(clock, () => Promise.all([disk.probe(), live.refresh(), sign()]));
    const service: Service = {
      live,
      verification: createVerification({
        ...shared,
        attestations: countedAttestations(disk.watch(operator.attestations), work),
        idempotency,
        signer: countedSigner(signer, work),
      }),
      publicLookup: countedPublicLookup(createPublicLookup(shared), work),
      quota: createQuota(clock, await operator.quota.windows()),
      quotaStore: operator.quota,
      secrets,
      keyKind: operator.keyKind,
      clock,
      probe,
      onCall(call) {
        metrics.requests.observe(call.route, call.method, call.status, call.ms);
        refusals.observe(call);
        calls?.observe(call);
      },
    };
    const stop = keepFresh(operator, service);
    const onError = (error: unknown) => log.error("sweep failed", { detail: String(error) });
    const stopSweeping = startSweeping({ ...operator, live, onError });
    const stopUpkeep = startUpkeep({
      ...operator,
      onPruned: (attestations) => log.info("old attestations deleted", { attestations }),
      onError: (error) => log.error("upkeep of the attestations failed", { detail: String(error) }),
    });
    const stopSending = startSending({ ...operator, outbox: countedOutbox(operator.outbox, work) }, live);
    const close = () =>
      Promise.all([stop(), stopSweeping(), stopUpkeep(), stopSending()])
        .then(() => Promise.all([closeSigner(), calls?.close()]))
        .then(() => driver.close());
    const signingEngine = () => signer.engine().description;
    const isDiskRefusing = disk.isRefusing;
    return { operator, service, metrics, signingEngine, isDiskRefusing, stopSending, close };
  } catch (error) {
    await Promise.all([closeSigner(), calls?.close()]);
    await driver.close();
    throw error;
  }
}

/** Opens the access log; a service that has no entry to start a thread from writes it in place. */
function openCallLog(file: string, entry: URL | undefined): CallLog {
  if (entry === undefined) return createCallLog({ write: createCallWriter(file), end: async () => {} });
  return createCallLog(writeInThread(new Worker(entry, { workerData: { role: "call-writer", file } })));
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
function startSending({ outbox, secrets, clock }: Operator, live: Live): () => Promise<void> {
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
function keepFresh(operator: Operator, { live, clock }: Service): () => Promise<void> {
  const { idempotency, quota } = operator;
  let last: Promise<unknown> = Promise.resolve();
  let failure = "";
  const refresh = () => {
    // A failure shows itself in the health probe and in the calls too; the next turn tries again.
    const told = (error: unknown) => {
      if (String(error) !== failure) log.error("changes cannot be read", { detail: String(error) });
      failure = String(error);
    };
    last = live.refresh().then(() => {
      failure = "";
    }, told);
  };
  const prune = () => {
    const now = clock.now();
    last = Promise.all([
      quota.prune(forgottenWindows(now)),
      pruneIdempotency(idempotency, now - keepIdempotencyMs),
    ]).catch(() => {});
  };
  const timers = [setInterval(refresh, refreshMs), setInterval(prune, pruneMs)];
  return async () => {
    for (const timer of timers) clearInterval(timer);
    await last;
  };
}

/** A step at a time, so that no commit of a caller waits behind a long one. */
async function pruneIdempotency(store: IdempotencyStore, before: number): Promise<void> {
  while ((await store.prune(before, pruneRows)) === pruneRows);
}
