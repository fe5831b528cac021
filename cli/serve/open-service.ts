import packageJson from "../../package.json" with { type: "json" };
import type { Config, ServeConfig } from "../../src/config.ts";
import { mayBePrivate } from "../../src/delivery/address-guard.ts";
import { createExchange } from "../../src/delivery/exchange.ts";
import { type Sender, startSender } from "../../src/delivery/sender.ts";
import type { Call } from "../../src/domain/calls.ts";
import { service } from "../../src/domain/changes.ts";
import type { Configuration } from "../../src/domain/configuration.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { startFollowing } from "../../src/domain/evidence/checkpoint.ts";
import { retentionSettings } from "../../src/domain/evidence/retention.ts";
import { issuerToldName, newSettings, storedSettings } from "../../src/domain/settings.ts";
import { log } from "../../src/logger.ts";
import type { CallsOfThread } from "../../src/metrics/call-relay.ts";
import { createRefusals, type Refusals } from "../../src/metrics/refusals.ts";
import type { RequestCounters } from "../../src/metrics/requests.ts";
import { countedOutbox, createWorkCounters, type WorkCounters } from "../../src/metrics/work.ts";
import type { Service } from "../../src/service.ts";
import type { ChosenSigner } from "../../src/signing/signer.ts";
import { type AccessLog, openAccessLog } from "../../src/store/access-log.ts";
import { openCommitLock } from "../../src/store/driver/commit-lock.ts";
import { createSettingsStore } from "../../src/store/settings.ts";
import { logWriterOf, openLog } from "../evidence/open-evidence.ts";
import { type OpenOptions, type Operator, openOperator } from "../open.ts";
import { actorOf } from "../register/operator-name.ts";
import { startLeading } from "./leader.ts";
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
  };
  /** By how many milliseconds this machine's clock is ahead of the database's. */
  clockAheadMs(): number;
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

/** How often a node on a server looks whether there is something to send: each look is a request. */
const remotePollMs = 500;

/**
 * Opens everything that the main thread of `serve` needs and keeps it fresh. A sandbox is made where there is none.
 * Over a database file this is the only service, over a server one of any number.
 * @throws TvsError DATABASE_IN_USE, REFUSED, LOG_BEHIND besides what {@link openOperator} throws
 */
export async function openService(
  config: Config & Partial<Pick<ServeConfig, "accessLog" | "threads">>,
  options: OpenOptions = {},
): Promise<OpenService> {
  const memory = newProcessMemory(config.threads ?? 1);
  const work = createWorkCounters({ memory: memory.work, thread: 0 });
  const whenMade = (words: string) => log.info(words, {});
  const operator = await openOperator(config, {
    ...(config.sandbox ? { whenMade } : {}),
    shared: { memory: memory.commitLock, thread: 0 },
    onRequest: (kind) => work.count(`requests: ${kind}`),
    actor: service.actor,
    ...options,
    commits: { onGroup: work.committed, isMoreComing: work.isSigning },
  });
  let calls: AccessLog | undefined;
  let server: OpenServer | undefined;
  let [stopLeading, stopFollowing] = [async () => {}, async () => {}];
  const closeParts = async () => {
    await Promise.all([calls?.close(), server?.close(), stopLeading(), stopFollowing()]);
    await operator.driver.close();
  };
  try {
    await admit(operator);
    await rememberSettings(operator, config);
    await openLog(operator);
    calls = config.accessLog === true ? openAccessLog(config.accessLogFile) : undefined;
    const refusals = createRefusals(operator.clock);
    const onCall = (call: Call) => {
      refusals.observe(call);
      calls?.observe(call);
    };
    const signing = { engine: config.signingEngine, cryptoMbFile: config.cryptoMbFile };
    const { onLost } = options;
    const opened = await openServer(operator, { signing, memory, thread: 0, work, onCall, onLost });
    server = opened;
    const { configuration, isClockWrong } = opened.service;
    const onLogError = evidenceFailureHandler(onLost);
    stopLeading = startLeading(operator, { configuration, isClockWrong, onLogError });
    stopFollowing = startFollowing({
      writer: logWriterOf(operator),
      clock: operator.clock,
      onError: onLogError,
    });
    const { aheadMs: clockAheadMs } = opened.clockWatch;
    const stopSending = startSending(operator, { clockAheadMs, configuration, work });
    return {
      operator,
      clockAheadMs,
      service: opened.service,
      metrics: { requests: opened.requests, work, refusals },
      memory,
      takeCalls(batch) {
        batch.calls.forEach(onCall);
        if (batch.dropped > 0) log.warn("calls of a thread were not counted", { dropped: batch.dropped });
      },
      signingEngine: opened.signer.engine,
      isDiskRefusing: opened.isDiskRefusing,
      forget(thread) {
        opened.signer.abandon(thread);
        const hadLock = openCommitLock(memory.commitLock, 0).forget(thread);
        return hadLock ? "a serving thread died while it had the database's lock" : null;
      },
      stopSending,
      close: () => stopSending().then(closeParts),
    };
  } catch (error) {
    await closeParts();
    throw error;
  }
}

/** What follows when the evidence log cannot be built, signed for or followed: the next turn tries again. */
function evidenceFailureHandler(onLost: OpenOptions["onLost"]): (error: unknown) => void {
  return (error) => {
    log.error("the evidence log has failed", { detail: String(error) });
    if (isTvsError(error, "LOG_BEHIND")) onLost?.(error);
  };
}

/**
 * Lets this process serve the database.
 * @throws TvsError DATABASE_IN_USE when another process serves the file, REFUSED when other services answer under another
 *   issuer or time zone
 */
async function admit({ driver, stores, settingsInForce, remembered, clock }: Operator): Promise<void> {
  if (await driver.lockService()) return stores.outbox.releaseAll(clock.now());
  if (!(await driver.serviceRunning())) return;
  for (const [name, option, own] of [
    ["issuer", "--issuer", settingsInForce.issuer],
    ["time_zone", "--time-zone", settingsInForce.timeZone],
  ] as const) {
    const theirs = remembered.get(name);
    if (theirs === undefined || theirs === own) continue;
    const message =
      `another service answers for this register with ${option} ${theirs}, and this one would with ${own}; start it with ` +
      `${option} ${theirs}, or stop all services before you change it (one that was killed counts for 15 seconds more)`;
    throw new TvsError("REFUSED", message);
  }
}

/** Tells the commands, and the other nodes, what is agreed on. */
async function rememberSettings(operator: Operator, { keepAttestations }: Config): Promise<void> {
  const { driver, clock, config, settingsInForce, remembered, issuerTold, secrets } = operator;
  // What the service goes by is the word of who started it.
  const settings = createSettingsStore(driver, { actor: actorOf(config), clock });
  const all = { ...storedSettings(settingsInForce), [issuerToldName]: String(issuerTold) };
  const told = newSettings(all, remembered);
  if (Object.keys(told).length > 0) await settings.write(told);
  if (keepAttestations !== undefined) await settings.write(retentionSettings(keepAttestations, secrets));
}

/**
 * Starts the webhook sender. Its clock is the database's, as far as this node knows: the leases of other nodes end by
 * theirs, and one whose clock was ahead would send what they are about to.
 * @returns stops it, once
 */
function startSending(
  { driver, stores, secrets, keyKind, clock: own }: Operator,
  {
    clockAheadMs,
    configuration,
    work,
  }: { clockAheadMs: () => number; configuration: Configuration; work: WorkCounters },
): () => Promise<void> {
  const clock = { now: () => own.now() - clockAheadMs() };
  const exchange = createExchange({ clock });
  const sender: Sender = startSender({
    outbox: countedOutbox(stores.outbox, work),
    exchange,
    secrets,
    clock,
    allowPrivate: (url) => mayBePrivate(url, { keyKind, ...configuration.current().settings }),
    version: packageJson.version,
    ...(driver.kind === "remote" ? { limits: { pollMs: remotePollMs } } : {}),
    onError: (error) => log.error("webhook sender failed", { detail: String(error) }),
  });
  let closing: Promise<void> | undefined;
  return () => {
    closing ??= sender.close().then(() => exchange.close());
    return closing;
  };
}
