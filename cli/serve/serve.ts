import type { LogLevel } from "@logtape/logtape";
import { createApp } from "../../src/app.ts";
import type { CommandLineOptions, Config, Environment, ServeConfig } from "../../src/config.ts";
import { consoleFilePathOf, readServeConfig } from "../../src/config.ts";
import type { TvsError } from "../../src/domain/errors.ts";
import { isLoopbackHost } from "../../src/domain/networks.ts";
import { triggerRevocation } from "../../src/domain/sandbox/trigger.ts";
import { type HttpApp, type HttpListener, serve as listen } from "../../src/http/serve.ts";
import { configureLog, log } from "../../src/logger.ts";
import { discardFile } from "../../src/store/driver/files.ts";
import { readEnvironment, readRepeatedOption, serveConfigOf } from "../command.ts";
import { checkMasterKey } from "../doctor/machine.ts";
import { readStoredSettings } from "../open.ts";
import { defineTvsCommand } from "../operator-command.ts";
import { actorArg } from "../register/operator-name.ts";
import { serveArgs } from "../register/settings.ts";
import { readSmallFile } from "../safe/input-file.ts";
import { exitCodes } from "../terminal/output.ts";
import type { ConsolePort } from "./console.ts";
import { openService, type RunningService } from "./open-service.ts";

export const serveCommand = defineTvsCommand("serve", {
  args: { ...serveArgs, ...actorArg },
  async run({ args, rawArgs }) {
    const lists = ["trusted-proxy", "client-cert-from"].map((name) => [
      name,
      readRepeatedOption(rawArgs, name),
    ]);
    const flags: CommandLineOptions = { ...args, ...Object.fromEntries(lists) };
    await serve(await serveConfig(flags, readEnvironment(flags)), process.env);
  },
});

/** Reads `serve`'s settings from options, else environment, else what `tvs init` stored (nothing for a sandbox). */
async function serveConfig(flags: CommandLineOptions, environment: Environment): Promise<ServeConfig> {
  const config = serveConfigOf(flags, environment);
  const stored = config.sandbox ? null : await readStoredSettings(config);
  return stored === null ? config : readServeConfig(flags, environment, stored);
}

/** Chooses the lowest level that is logged. A sandbox at a terminal logs only warnings, so that its introduction stays visible. */
function logLevelOf({ sandbox }: Config, { TVS_LOG_LEVEL }: Environment): LogLevel {
  if (TVS_LOG_LEVEL === "debug") return "debug";
  return sandbox && process.stderr.isTTY === true ? "warning" : "info";
}

/** The time limits, in milliseconds, for a start after a signal, and for the stop after the database was lost. */
const [startPatienceMs, lossPatienceMs] = [5_000, 10_000];

/**
 * Runs the service until a signal, and then until all calls in flight are answered. The port is opened first, so that a
 * busy port fails before anything is made, and because the default issuer contains the port. @throws TvsError if it cannot start
 */
async function serve(config: ServeConfig, environment: Environment): Promise<void> {
  configureLog((line) => process.stderr.write(line), logLevelOf(config, environment));
  // Signals are handled before anything else is started, so that a signal never ends the process immediately.
  const stopped = stopSignal();
  const lost = Promise.withResolvers<TvsError>();
  const opening = Promise.withResolvers<HttpApp>();
  const { host, port, tls, trustedProxies } = config;
  const listener = await listen(opening.promise, {
    ...{ host, port, trustedProxies, ...(tls && { tls: readTls(tls) }) },
    onError: (error) => log.error("request failed outside the app", { detail: String(error) }),
  });
  let open: RunningService | undefined;
  void stopped.then(() => limitStart(() => open !== undefined));
  let consolePort: ConsolePort | undefined;
  try {
    if (config.adminPort !== undefined)
      consolePort = await (await import("./console.ts")).listenOnConsolePort(config.adminPort);
    const defaultIssuer = config.sandbox || isLoopbackHost(host) ? listener.url : null;
    open = await openService(config, { defaultIssuer, onLost: lost.resolve });
    const { operator, service } = open;
    const { demo, introduction = "" } = config.sandbox ? await fillSandbox(open, listener.url) : {};
    const causeEvent = demo && (() => triggerRevocation({ ...operator, ...service }));
    // Deletes the file with the console's port, which a killed service may have left.
    if (consolePort === undefined) discardFile(consoleFilePathOf(config));
    opening.resolve(createApp(service, { ...config, demo, causeEvent }));
    const link = await consolePort?.open(open, config);
    await announce(open, listener, { host, introduction });
    if (link !== undefined) process.stdout.write(`console ${link} (opens once, within five minutes)\n`);
    const signal = await waitForEnd(stopped, lost.promise);
    if (signal !== null) log.info("draining", { signal });
  } catch (error) {
    opening.reject(error);
    throw error;
  } finally {
    await Promise.all([listener.close(), consolePort?.close(), open?.stopSending()]);
    await open?.close();
  }
  log.info("stopped", {});
}

/** Waits for a signal. @returns null if the database was lost: the service must end, so that a supervisor restarts it */
async function waitForEnd(stopped: Promise<string>, lost: Promise<TvsError>): Promise<string | null> {
  const end = await Promise.race([stopped, lost]);
  if (typeof end === "string") return end;
  log.error("stopping, to be restarted", { detail: end.message });
  process.exitCode = exitCodes.refused;
  setTimeout(() => process.exit(exitCodes.refused), lossPatienceMs).unref();
  return null;
}

/** Exits if a start has not finished five seconds after a signal. Nothing is lost, because no call was answered. */
function limitStart(isOpen: () => boolean): void {
  setTimeout(() => {
    if (isOpen()) return;
    log.error("stopped before the service was open", {});
    process.exit(exitCodes.refused);
  }, startPatienceMs).unref();
}

/** Fills a sandbox before its first answer, so that its demo API key works as soon as it is printed. */
async function fillSandbox({ operator, service }: RunningService, url: string) {
  const { prepareSandbox } = await import("../sandbox/sandbox.ts");
  const prepared = await prepareSandbox(operator, url);
  await service.configuration.refresh();
  return prepared;
}

/** Prints the service's URLs, and logs the problems that an operator should know before the first call. */
async function announce(
  { operator, service }: RunningService,
  listener: HttpListener,
  { host, introduction }: { host: string; introduction: string },
): Promise<void> {
  const { settings } = service.configuration.current();
  log.info("listening", { url: listener.url, tlsPort: listener.tlsPort, issuer: settings.issuer });
  if (operator.keyKind === "live") {
    if (!operator.hasSetIssuer) log.warn(noIssuer, { issuer: settings.issuer });
    if (settings.allowPrivateWebhooks) log.warn(privateWebhooks);
    const { result, found, advice } = checkMasterKey(operator.config, null);
    if (result === "fail") log.warn("the master key is not safe where it is", { found, advice });
  }
  if (!(await operator.stores.teachers.isLoaded()))
    log.warn("the register is empty: lookups and checks are answered with 503 until an extract is applied");
  process.stdout.write(`${introduction}listening on ${listener.url}\n`);
  if (listener.tlsPort !== null) process.stdout.write(`listening on https://${host}:${listener.tlsPort}\n`);
}

const noIssuer =
  "no issuer was ever set: envelopes name this machine's own address; set --issuer before partners call";
const privateWebhooks =
  "webhooks may go to private addresses and over http; TVS_ALLOW_PRIVATE_WEBHOOKS=false turns this off";

function readTls({ port, certFile, keyFile }: NonNullable<ServeConfig["tls"]>) {
  const read = (flag: string, file: string) => readSmallFile(file, `${flag}: ${file}`).toString("utf8");
  return { port, cert: read("--tls-cert", certFile), key: read("--tls-key", keyFile) };
}

/** Resolves at the first SIGTERM or SIGINT. Further signals change nothing. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve(signal));
  });
}
