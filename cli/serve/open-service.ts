import packageJson from "../../package.json" with { type: "json" };
import type { Config, ServeConfig } from "../../src/config.ts";
import { mayBePrivate } from "../../src/delivery/address-guard.ts";
import { createExchange } from "../../src/delivery/exchange.ts";
import { type Sender, startSender } from "../../src/delivery/sender.ts";
import type { Call } from "../../src/domain/calls.ts";
import { service } from "../../src/domain/changes.ts";
import type { Configuration } from "../../src/domain/configuration.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import { retentionSettings } from "../../src/domain/evidence/retention-mark.ts";
import { startFollowing } from "../../src/domain/evidence/schedule.ts";
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
import { evidenceBuilderOf, openLog } from "../evidence/open-evidence.ts";
import { type OpenOptions, type Operator, openOperator } from "../open.ts";
import { actorOf } from "../register/operator-name.ts";
import { admitNode, newNodeId, type RunningNode, runNode } from "./node.ts";
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
  /** This process among those that serve the database. */
  readonly node: RunningNode;
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

/** Where a service listens, and where its console. */
type Place = { readonly url?: string; readonly consolePort?: number | null };

/**
 * Opens everything that the main thread of `serve` needs and keeps it fresh. A sandbox is made where there is none.
 * The process becomes a node: the only one of a database file, one of several on a server.
 * @throws TvsError DATABASE_IN_USE, REFUSED, LOG_BEHIND besides what {@link openOperator} throws
 */
export async function openService(
  config: Config & Partial<Pick<ServeConfig, "accessLog" | "threads">>,
  { url = "", consolePort = null, ...options }: OpenOptions & Place = {},
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
  let node: RunningNode | undefined;
  let stopFollowing = async () => {};
  const closeParts = async () => {
    await Promise.all([calls?.close(), server?.close(), node?.leave(), stopFollowing()]);
    await operator.driver.close();
  };
  try {
    const nodeId = newNodeId();
    await admitNode(operator, nodeId);
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
    const { configuration } = opened.service;
    const onLogError = evidenceFailureHandler(onLost);
    const running = await runNode(operator, {
      nodeId,
      url,
      consolePort,
      configuration,
      memory: opened.node,
      onLogError,
    });
    node = running;
    stopFollowing = startFollowing({
      builder: evidenceBuilderOf(operator),
      clock: operator.clock,
      onError: onLogError,
    });
    const stopSending = startSending(operator, { node: running, configuration, work });
    return {
      operator,
      node: running,
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
  { node, configuration, work }: { node: RunningNode; configuration: Configuration; work: WorkCounters },
): () => Promise<void> {
  const clock = { now: () => own.now() - node.clockAheadMs() };
  const exchange = createExchange({ clock });
  const sender: Sender = startSender({
    outbox: countedOutbox(stores.outbox, work),
    nodeId: node.nodeId,
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
