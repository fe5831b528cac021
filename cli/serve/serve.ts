import type { LogLevel } from "@logtape/logtape";
import words from "../../data/commands.json" with { type: "json" };
import { createApp } from "../../src/app.ts";
import {
  type Config,
  consoleFile,
  type Environment,
  type Flags,
  readServeConfig,
  type ServeConfig,
} from "../../src/config.ts";
import type { TvsError } from "../../src/domain/errors.ts";
import { isLoopbackHost } from "../../src/domain/networks.ts";
import { triggerRevocation } from "../../src/domain/sandbox/trigger.ts";
import type { Settings } from "../../src/domain/settings.ts";
import { type App, type Listener, serve as listen } from "../../src/http/serve.ts";
import { configureLog, log } from "../../src/logger.ts";
import { discard } from "../../src/store/driver/files.ts";
import { command, environmentOf, everyValue, serveConfigOf } from "../command.ts";
import { checkMasterKey } from "../doctor/machine.ts";
import { settingsOfRegister } from "../open.ts";
import { byArg } from "../register/operator-name.ts";
import { serveArgs } from "../register/settings.ts";
import { readSmallFile } from "../safe/input-file.ts";
import { exitCodes } from "../terminal/output.ts";
import type { ConsolePort } from "./console.ts";
import { type OpenService, openService } from "./open-service.ts";

export const serveCommand = command({
  ...words.serve,
  args: { ...serveArgs, ...byArg },
  async run({ args, rawArgs }) {
    const lists = ["trusted-proxy", "client-cert-from"].map((name) => [name, everyValue(rawArgs, name)]);
    const flags: Flags = { ...args, ...Object.fromEntries(lists) };
    await serve(await serveConfig(flags, environmentOf(flags)), process.env);
  },
});

/** What `serve` was told, and what `tvs init` was told for it. */
async function serveConfig(flags: Flags, environment: Environment): Promise<ServeConfig> {
  const config = serveConfigOf(flags, environment);
  const stored = config.sandbox ? null : await settingsOfRegister(config);
  return stored === null ? config : readServeConfig(flags, environment, stored);
}

/** The least severe of what is logged. Who tries a sandbox at a terminal is to see where to begin, and no log. */
function logLevelOf({ sandbox }: Config, { TVS_LOG_LEVEL }: Environment): LogLevel {
  if (TVS_LOG_LEVEL === "debug") return "debug";
  return sandbox && process.stderr.isTTY === true ? "warning" : "info";
}

/** How long a start may continue after a signal. */
const startPatienceMs = 5_000;
/** How long stopping may take after the database was lost. */
const lossPatienceMs = 10_000;

/**
 * Runs the service until a signal ends it and all calls that had begun are answered.
 *
 * The port comes first: a busy one is found before anything is made, and a free one that was picked is part
 * of the default issuer. A request that comes before the service is open waits for it.
 * @throws TvsError when it cannot start
 */
async function serve(config: ServeConfig, environment: Environment): Promise<void> {
  const logLevel = logLevelOf(config, environment);
  configureLog((line) => process.stderr.write(line), logLevel);
  // Before anything can be asked or announced: a signal that comes at once must not find the runtime's own handler.
  const stopped = stopSignal();
  const lost = Promise.withResolvers<TvsError>();
  const { listener, openFor, refuse } = await listenFirst(config);
  let open: OpenService | undefined;
  void stopped.then(() => giveUpStart(() => open !== undefined));
  let consolePort: ConsolePort | undefined;
  try {
    consolePort = await takeConsolePort(config);
    const isPrivate = config.sandbox || isLoopbackHost(config.host);
    open = await openService(config, {
      defaultIssuer: isPrivate ? listener.url : null,
      onLost: lost.resolve,
    });
    const sandbox = config.sandbox ? await prepareSandbox(open, listener.url) : undefined;
    const demo = sandbox?.demo;
    const { operator, service } = open;
    const causeEvent = demo && (() => triggerRevocation({ ...operator, ...service }));
    // One that was killed has left it.
    if (consolePort === undefined) discard(consoleFile(config));
    openFor(createApp(open.service, { ...config, demo, causeEvent }));
    const link = await consolePort?.open(open, config);
    await announce(open, listener, { host: config.host, introduction: sandbox?.introduction ?? "" });
    if (link !== undefined) process.stdout.write(`console ${link} (opens once, within five minutes)\n`);
    const signal = await untilTheEnd(stopped, lost.promise);
    if (signal !== null) log.info("draining", { signal });
  } catch (error) {
    refuse(error);
    throw error;
  } finally {
    await Promise.all([listener.close(), consolePort?.close(), open?.stopSending()]);
    await open?.close();
  }
  log.info("stopped", {});
}

/** Opens the ports, whose requests wait until there is an app. */
async function listenFirst(config: ServeConfig) {
  const opening = Promise.withResolvers<App>();
  const tls = config.tls === undefined ? undefined : readTls(config.tls);
  const listener = await listen(opening.promise, {
    host: config.host,
    port: config.port,
    ...(tls === undefined ? {} : { tls }),
    trustedProxies: config.trustedProxies,
    onError: (error) => log.error("request failed outside the app", { detail: String(error) }),
  });
  return { listener, openFor: opening.resolve, refuse: opening.reject };
}

/**
 * Waits for a signal, or for the loss of the database: a service that can no longer answer must not stay and answer 503
 * for ever, because a supervisor restarts only what has ended.
 * @returns the signal; null when the database was lost
 */
async function untilTheEnd(stopped: Promise<string>, lost: Promise<TvsError>): Promise<string | null> {
  const end = await Promise.race([stopped, lost]);
  if (typeof end === "string") return end;
  log.error("stopping, to be restarted", { detail: end.message });
  process.exitCode = exitCodes.refused;
  setTimeout(() => process.exit(exitCodes.refused), lossPatienceMs).unref();
  return null;
}

/**
 * Ends by force a start that hangs when a signal has come: it has answered nothing, and a supervisor would otherwise
 * wait for it. Any other is finished first, which takes moments.
 */
function giveUpStart(isOpen: () => boolean): void {
  const timer = setTimeout(() => {
    if (isOpen()) return;
    log.error("stopped before the service was open", {});
    process.exit(exitCodes.refused);
  }, startPatienceMs);
  timer.unref();
}

async function takeConsolePort({ adminPort }: ServeConfig): Promise<ConsolePort | undefined> {
  return adminPort === undefined ? undefined : (await import("./console.ts")).takeConsolePort(adminPort);
}

/** Fills a sandbox before its first answer, so that its demo key works before anybody is told to paste it. */
async function prepareSandbox({ operator, service }: OpenService, url: string) {
  const sandbox = await import("../sandbox/sandbox.ts");
  const prepared = await sandbox.prepareSandbox(operator, url);
  await service.configuration.refresh();
  return prepared;
}

/** Prints where the service listens, and logs what an operator would want to know before the first caller. */
async function announce(
  { operator, service }: OpenService,
  listener: Listener,
  { host, introduction }: { host: string; introduction: string },
): Promise<void> {
  const { settings } = service.configuration.current();
  log.info("listening", { url: listener.url, tlsPort: listener.tlsPort, issuer: settings.issuer });
  if (operator.keyKind === "live") {
    warnOfSettings(settings, operator.issuerTold);
    const { result, found, advice } = checkMasterKey(operator.config, null);
    if (result === "fail") log.warn("the master key is not safe where it is", { found, advice });
  }
  if (!(await operator.stores.teachers.isLoaded())) {
    log.warn(
      "the register is empty: lookups and checks are answered with 503 until an extract is applied",
      {},
    );
  }
  process.stdout.write(`${introduction}listening on ${listener.url}\n`);
  if (listener.tlsPort !== null) process.stdout.write(`listening on https://${host}:${listener.tlsPort}\n`);
}

/** Warns of settings that a live service keeps from an earlier start, and should not keep unseen. */
function warnOfSettings({ issuer, allowPrivateWebhooks }: Settings, issuerTold: boolean): void {
  if (!issuerTold) {
    const message =
      "no issuer was ever set: envelopes name this machine's own address; set --issuer before partners call";
    log.warn(message, { issuer });
  }
  if (allowPrivateWebhooks) {
    log.warn(
      "webhooks may go to private addresses and over http; TVS_ALLOW_PRIVATE_WEBHOOKS=false turns this off",
      {},
    );
  }
}

function readTls({ port, certFile, keyFile }: NonNullable<ServeConfig["tls"]>) {
  const read = (flag: string, file: string) => readSmallFile(file, `${flag}: ${file}`).toString("utf8");
  return { port, cert: read("--tls-cert", certFile), key: read("--tls-key", keyFile) };
}

/** Resolves at the first signal to end; a second one, which supervisors send too, changes nothing. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve(signal));
  });
}
