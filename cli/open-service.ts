import { Worker } from "node:worker_threads";
import packageJson from "../package.json" with { type: "json" };
import type { Config, ServeConfig } from "../src/config.ts";
import { createExchange } from "../src/delivery/exchange.ts";
import { type Sender, type SenderDependencies, startSender } from "../src/delivery/sender.ts";
import type { AccessLogFigures, Call } from "../src/domain/calls.ts";
import { type IdempotencyStore, keepIdempotencyMs } from "../src/domain/idempotency.ts";
import { issuerToldName, type Live, storedSettings } from "../src/domain/live.ts";
import { forgottenWindows } from "../src/domain/quota-windows.ts";
import { retentionSetting, startMaintenance } from "../src/domain/retention.ts";
import { repeat } from "../src/domain/serial.ts";
import { startSweeping } from "../src/domain/sweep.ts";
import { log } from "../src/log.ts";
import type { CallsOfThread } from "../src/metrics/call-relay.ts";
import { createRefusals, type Refusals } from "../src/metrics/refusals.ts";
import type { RequestCounters } from "../src/metrics/requests.ts";
import { countedOutbox, createWorkCounters, type WorkCounters } from "../src/metrics/work.ts";
import type { Service } from "../src/server/service.ts";
import type { ChosenSigner } from "../src/signing/signer.ts";
import { type CallLog, createCallLog } from "../src/store/call-log.ts";
import { createCallWriter, writeCallsInThread } from "../src/store/call-log-writer.ts";
import { openCommitLock } from "../src/store/driver/commit-lock.ts";
import { type OpenOptions, type Operator, openOperator } from "./open.ts";
import { newProcessMemory, type OpenServer, openServer, type ProcessMemory } from "./open-server.ts";

/** What `serve` adds: the service that the HTTP layer calls. */
export type OpenService = {
  readonly operator: Operator;
  readonly service: Service;
  /** What the service counts, in all of its threads, for the console and for Prometheus. */
  readonly metrics: {
    readonly requests: RequestCounters;
    readonly work: WorkCounters;
    readonly refusals: Refusals;
    /** Null when no access log is kept. */
    accessLog(): AccessLogFigures | null;
  };
  /** What further threads share with this one. */
  readonly memory: ProcessMemory;
  /** Takes the calls that another thread has answered, for the refusals and the access log. */
  takeCalls(batch: CallsOfThread): void;
  /** What signs. */
  readonly signingEngine: ChosenSigner["engine"];
  /** Whether the disk refuses what answers leave behind. */
  isDiskRefusing(): boolean;
  /**
   * Lets go of what a dead thread had in hand.
   * @returns why this process cannot go on without it; null when it can
   */
  forget(thread: number): string | null;
  /** Ends the sending of webhooks, when the attempts under way are over; a part of `close` that may begin early. */
  stopSending(): Promise<void>;
  close(): Promise<void>;
};

const pruneMs = 60_000;
/** Records forgotten in one commit, which keeps the main thread for that long. */
const pruneRows = 100;

/**
 * Opens everything that the main thread of `serve` needs and keeps it fresh; where there is no register, one is made.
 * The database is locked for this process.
 * @throws TvsError DATABASE_IN_USE besides what {@link openOperator} throws
 */
export async function openService(
  config: Config & Partial<Pick<ServeConfig, "accessLog" | "threads">>,
  options: OpenOptions = {},
): Promise<OpenService> {
  const memory = newProcessMemory(config.threads ?? 1);
  const work = createWorkCounters({ memory: memory.work, thread: 0 });
  const whenMade = (words: string) => log.info(words, {});
  const operator = await openOperator(config, {
    whenMade,
    shared: { memory: memory.commitLock, thread: 0 },
    ...options,
    commits: { onGroup: work.committed, isMoreComing: work.isSigning },
  });
  let calls: CallLog | undefined;
  let server: OpenServer | undefined;
  const closeParts = async () => {
    await Promise.all([calls?.close(), server?.close()]);
    await operator.driver.close();
  };
  try {
    await takeOver(operator, config);
    calls = config.accessLog === true ? openCallLog(config.callsFile, options.workerEntry) : undefined;
    const refusals = createRefusals(operator.clock);
    const onCall = (call: Call) => {
      refusals.observe(call);
      calls?.observe(call);
    };
    const { signingEngine: engine } = config;
    const opened = await openServer(operator, { engine, memory, thread: 0, work, onCall });
    server = opened;
    const jobs = startJobs(operator, { live: opened.service.live, work });
    return {
      operator,
      service: opened.service,
      metrics: { requests: opened.requests, work, refusals, accessLog: () => calls?.figures() ?? null },
      memory,
      takeCalls(batch) {
        batch.calls.forEach(onCall);
        calls?.miss(batch.dropped);
      },
      signingEngine: opened.signer.engine,
      isDiskRefusing: opened.isDiskRefusing,
      forget(thread) {
        opened.signer.abandon(thread);
        const hadLock = openCommitLock(memory.commitLock, 0).forget(thread);
        return hadLock ? "a serving thread died while it had the database's lock" : null;
      },
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

/** What a service does besides answering; each ends when what it has in hand is done. */
type Jobs = { stopSending(): Promise<void>; stop(): Promise<unknown> };

function startJobs(operator: Operator, { live, work }: { live: Live; work: WorkCounters }): Jobs {
  const { stores, clock, secrets } = operator;
  const stops = [
    startPruning(operator),
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

/** Forgets idempotency records and quota windows that are over. @returns ends it */
function startPruning({ stores: { idempotencyStore, quotaStore }, clock }: Operator): () => Promise<void> {
  async function prune(): Promise<void> {
    const now = clock.now();
    await Promise.all([
      quotaStore.prune(forgottenWindows(now)),
      pruneIdempotency(idempotencyStore, now - keepIdempotencyMs),
    ]);
  }
  return repeat(prune, { everyMs: pruneMs, onError: () => {} });
}

/** A step at a time, so that no commit of a caller waits behind a long one. */
async function pruneIdempotency(store: IdempotencyStore, before: number): Promise<void> {
  while ((await store.prune(before, pruneRows)) === pruneRows);
}
