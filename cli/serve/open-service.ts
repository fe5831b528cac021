import { Worker } from "node:worker_threads";
import { openAccessLog } from "../../src/access-log.ts";
import type { Config, ServeConfig } from "../../src/config.ts";
import type { CallObserver } from "../../src/domain/calls.ts";
import { serviceActor } from "../../src/domain/changes.ts";
import type { Finding } from "../../src/domain/checks.ts";
import { type Clock, isoTime } from "../../src/domain/clock.ts";
import { createConfiguration } from "../../src/domain/configuration.ts";
import { type ClockMonitor, createClockMonitor } from "../../src/domain/database-clock.ts";
import { withTimeout } from "../../src/domain/deadline.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { createEvidenceReader } from "../../src/domain/evidence/log.ts";
import { makeRetentionSettings } from "../../src/domain/evidence/retention.ts";
import { createIdempotentRunner } from "../../src/domain/idempotency.ts";
import { createQuotaCounter } from "../../src/domain/quota.ts";
import { createSelfService } from "../../src/domain/self-service.ts";
import { startRepeating } from "../../src/domain/serial.ts";
import {
  findChangedSettings,
  issuerIsSetSettingName,
  serializeSettings,
  unreadableCertificateSettingName,
} from "../../src/domain/settings.ts";
import { createStatusIndexer, createStatusListSource } from "../../src/domain/status-list/lists.ts";
import { createPublicLookup } from "../../src/domain/teachers/public-lookup.ts";
import { createCallAnswerer } from "../../src/domain/verification.ts";
import { createThrottledWarning } from "../../src/http/warning.ts";
import { log } from "../../src/logger.ts";
import {
  type Counters,
  createServiceCounters,
  makeCountingLookup,
  makeCountingSigner,
  makeCountingStore,
  watchEventLoopLag,
} from "../../src/metrics/counters.ts";
import { createRefusalCounter } from "../../src/metrics/refusals.ts";
import { routes } from "../../src/routes.ts";
import type { Service } from "../../src/service.ts";
import type { OpensslOptions } from "../../src/signing/openssl.ts";
import { openSigner, type ServiceSigner } from "../../src/signing/signer.ts";
import { createDiskMonitor } from "../../src/store/evidence/disk.ts";
import { readDatabaseClock } from "../../src/store/leader.ts";
import { createSettingsStore, type SettingsStore } from "../../src/store/settings.ts";
import { logWriterOf, openEvidenceLog } from "../evidence/open-evidence.ts";
import { type OpenedRegister, type OpenRegisterOptions, openRegister } from "../open.ts";
import { getMainUrl } from "../program.ts";
import { actorOf } from "../register/operator-name.ts";
import { startLeaderWork, startWebhookSending } from "./housekeeping.ts";

export type RunningService = Awaited<ReturnType<typeof openService>>;

/** How often a service polls for changes by commands; less often on a libSQL server, where each poll is a request. */
const refreshMs = { embedded: 200, remote: 500 } as const;
/** How often a node compares the database with the pinned checkpoint, in milliseconds. */
const reconcileMs = 500;
// How long the outcome of a health probe is reused, because a probe costs a signature, and the time limit of a probe. Their
// sum is below two seconds, the time after a failure within which `/health` must answer 503.
const [probeMs, probeDeadlineMs] = [500, 1_300];

/**
 * Opens a service: database, signer, evidence log, background work and polling. A missing sandbox is made first.
 * @throws TvsError DATABASE_IN_USE, REFUSED, LOG_BEHIND, and what {@link openRegister} throws
 */
export async function openService(
  config: Config & Partial<Pick<ServeConfig, "accessLog" | "signers">>,
  options: OpenRegisterOptions = {},
) {
  const counters = createServiceCounters(routes);
  let signer: ServiceSigner | undefined;
  const operator = await openRegister(config, {
    ...(config.sandbox ? { whenMade: (words: string) => log.info(words, {}) } : {}),
    isService: true,
    onRequest: counters.askedServer,
    actor: serviceActor.actor,
    ...options,
    commits: { onGroup: counters.committed, moreComing: () => signer?.whenGathered() },
  });
  /** Functions that each stop one part of the service. They are called in reverse order. */
  const stops: (() => unknown)[] = [operator.driver.close];
  const closeParts = async () => {
    for (const stop of stops.toReversed()) await stop();
  };
  try {
    await claim(operator);
    await rememberSettings(operator, config);
    await openEvidenceLog(operator);
    const calls = config.accessLog === true ? openAccessLog(config.accessLogFile) : undefined;
    if (calls !== undefined) stops.push(calls.close);
    const { secrets, clock, driver } = operator;
    const { signingEngine: engine, cryptoMbFile, signers: count = 0 } = config;
    const opened = await openSigner({ secrets, engine, cryptoMbFile, threads: { count, start, clock } });
    signer = opened;
    stops.push(opened.close);
    const disk = createDiskMonitor(driver);
    const refusals = createRefusalCounter(clock);
    const observe: CallObserver = (call) => {
      counters.requested(call.route, call.method, call.status, call.ms);
      refusals.observe(call);
      calls?.observe(call);
    };
    const clockWatch = createClockMonitor(() => readDatabaseClock(driver), clock, logClock);
    const service = await createService(operator, { signer: opened, disk, counters, observe, clockWatch });
    const { configuration, isClockWrong } = service;
    const refresh = () => Promise.all([configuration.refresh(), clockWatch.look()]);
    const { onLost = () => {} } = options;
    const onLogError = (error: unknown) => {
      log.error("the evidence log has failed", { detail: String(error) });
      if (isTvsError(error, "LOG_BEHIND")) onLost(error);
    };
    stops.push(
      keepFresh(refresh, refreshMs[driver.kind], onLost),
      watchEventLoopLag(counters),
      startLeaderWork(operator, { configuration, isClockWrong, onLogError }),
      // `reconcile` runs on each node. It pins the leader's checkpoints, and notices if the database is an old copy.
      startRepeating(logWriterOf(operator).reconcile, { everyMs: reconcileMs, onError: onLogError }),
    );
    const clockAheadMs = clockWatch.aheadMs;
    const stopSending = startWebhookSending(operator, { clockAheadMs, configuration, counters });
    return {
      operator,
      service,
      metrics: { counters, refusals },
      clockAheadMs,
      signer: opened,
      isDiskRefusing: disk.isRefusing,
      /** Stops sending webhooks after the attempts under way. `close` stops the sending too; an earlier call saves time. */
      stopSending,
      close: () => stopSending().then(closeParts),
    };
  } catch (error) {
    await closeParts();
    throw error;
  }
}

const start = (data: OpensslOptions) => new Worker(getMainUrl(), { workerData: { role: "signer", ...data } });

/**
 * Locks the database file. Over a libSQL server, compares issuer and time zone with those of the running services.
 * @throws TvsError DATABASE_IN_USE if a service has the file open, REFUSED if issuer or time zone differ
 */
async function claim({ driver, stores, settingsInForce, remembered, clock }: OpenedRegister): Promise<void> {
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

/** Stores the settings that commands and other nodes need. The change is recorded under the name of the operator. */
async function rememberSettings(operator: OpenedRegister, { keepAttestations }: Config): Promise<void> {
  const { driver, clock, config, settingsInForce, remembered, hasSetIssuer, secrets } = operator;
  const settings = createSettingsStore(driver, { actor: actorOf(config), clock });
  const all = { ...serializeSettings(settingsInForce), [issuerIsSetSettingName]: String(hasSetIssuer) };
  const changed = findChangedSettings(all, remembered);
  if (Object.keys(changed).length > 0) await settings.write(changed);
  if (keepAttestations !== undefined) await settings.write(makeRetentionSettings(keepAttestations, secrets));
}

type ServiceParts = Readonly<{
  signer: ServiceSigner;
  disk: ReturnType<typeof createDiskMonitor>;
  counters: Counters;
  observe: CallObserver;
  clockWatch: ClockMonitor;
}>;

async function createService(operator: OpenedRegister, parts: ServiceParts): Promise<Service> {
  const { stores, settingsInForce: defaults, blindIndex, secrets, keyKind, clock } = operator;
  const { settings, teachers, quotaStore } = stores;
  const { signer, disk, counters, observe, clockWatch } = parts;
  const configuration = await createConfiguration({
    ...{ ...stores, secrets, clock, defaults },
    onKeys: signer.load,
  });
  const shared = { configuration, teachers, blindIndex, clock };
  const statusIndexes = createStatusIndexer(secrets.statusListKey);
  const lookup = createPublicLookup({ ...shared, mayBeReplaced: operator.driver.kind === "remote" });
  async function tryAll(): Promise<void> {
    const { kid } = configuration.current().keys.active;
    const asked = [disk.probe(), configuration.refresh(), signer.sign(kid, ["probe"])];
    const [isLoaded] = await Promise.all([teachers.isLoaded(), ...asked]);
    if (clockWatch.isWrong())
      throw new TvsError("CLOCK_WRONG", "this machine's clock is too far from the database's");
    if (!isLoaded) throw new TvsError("REGISTER_EMPTY", "the register is empty");
  }
  return {
    configuration,
    verification: createCallAnswerer({
      ...shared,
      statusIndexes,
      attestations: makeCountingStore(disk.watch(stores.attestations), counters),
      idempotency: createIdempotentRunner(stores.idempotencyStore, secrets, clock),
      signer: makeCountingSigner(signer, counters),
    }),
    publicLookup: makeCountingLookup(lookup, counters),
    evidence: createEvidenceReader(stores.evidence),
    statusLists: createStatusListSource({ ...shared, store: stores.statusLists, statusIndexes, secrets }),
    self: createSelfService({ ...stores, clock }),
    quota: createQuotaCounter({ clock, store: quotaStore }),
    secrets,
    keyKind,
    clock,
    isClockWrong: clockWatch.isWrong,
    probe: createProbe(clock, tryAll),
    onUnreadableCertificate: noteUnreadableCertificates(settings, clock),
    onCall: observe,
  };
}

/** Makes the function that logs a malformed `Client-Cert`, without its content, and stores the time for `tvs doctor`. */
function noteUnreadableCertificates(settings: SettingsStore, clock: Clock): (proxy: string) => void {
  const warn = createThrottledWarning(
    "a proxy of --client-cert-from sent a Client-Cert header in another form than RFC 9440's, " +
      "so its calls count as calls without a certificate; see tvs help proxy",
  );
  return (proxy) => {
    if (!warn({ proxy })) return;
    // Ignores an error, because other parts of the service report a database that refuses writes.
    settings.write({ [unreadableCertificateSettingName]: isoTime(clock.now()) }).catch(() => undefined);
  };
}

function logClock({ result, found, advice }: Finding): void {
  const write = { ok: log.info, warn: log.warn, fail: log.error }[result];
  write(found, advice === null ? {} : { advice });
}

/** Makes the probe of `/health`, which repeats its last outcome for half a second. */
function createProbe(clock: Clock, tryAll: () => Promise<void>): () => Promise<void> {
  let last: { at: number; outcome: Promise<void> } | undefined;
  const late = () => new TvsError("STORE_UNAVAILABLE", "the database does not answer in time");
  return () => {
    const at = clock.now();
    if (last === undefined || Math.abs(at - last.at) > probeMs)
      last = { at, outcome: withTimeout(tryAll(), { ms: probeDeadlineMs, late }) };
    return last.outcome;
  };
}

/** Polls for changes by commands. An error that repeats is logged once. @returns a function that ends the polling */
function keepFresh(refresh: () => Promise<unknown>, everyMs: number, onLost: (error: TvsError) => void) {
  let failure = "";
  async function look(): Promise<void> {
    await refresh();
    failure = "";
  }
  function onError(error: unknown): void {
    if (String(error) !== failure) log.error("changes cannot be read", { detail: String(error) });
    failure = String(error);
    if (isTvsError(error, "DATABASE_TOO_NEW") || isTvsError(error, "REFUSED")) onLost(error);
  }
  return startRepeating(look, { everyMs, onError });
}
