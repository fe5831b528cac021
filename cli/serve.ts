import { type Environment, type Flags, readServeConfig, type ServeConfig } from "../src/config.ts";
import type { TvsError } from "../src/domain/errors.ts";
import type { Settings } from "../src/domain/live.ts";
import { isLoopbackHost } from "../src/domain/networks.ts";
import { configureLog, log } from "../src/log.ts";
import { type App, createApp } from "../src/server/app.ts";
import type { FastPath } from "../src/server/http/fast-path.ts";
import { type Listener, listen } from "../src/server/http/listen.ts";
import type { ConnectionInfo } from "../src/server/http/peer.ts";
import { type Args, command, environmentOf, everyValue } from "./command.ts";
import type { AdminConsole, ConsolePort } from "./console.ts";
import { workerEntry } from "./entry.ts";
import { readSmallFile } from "./input-file.ts";
import { type OpenService, openService } from "./open-service.ts";
import { exitCodes } from "./terminal/output.ts";

const serveArgs = {
  host: { type: "string", valueHint: "ADDRESS", description: "IP address to listen on (default 127.0.0.1)" },
  port: { type: "string", valueHint: "N", description: "Port; 0 picks a free one (default 8080)" },
  issuer: {
    type: "string",
    valueHint: "URL",
    description:
      "The service's public URL, the `iss` of every envelope; remembered in the database. Needed unless --host is loopback",
  },
  "access-log": {
    type: "boolean",
    description:
      "Keep each call's time, route, status, partner, key and request id, for `tvs calls` (default: only in a sandbox)",
  },
  "public-per-minute": {
    type: "string",
    valueHint: "N",
    description:
      "Public lookups allowed from one IP address in a minute (default 60), a third of them by NIN, e-mail or phone",
  },
  "time-zone": {
    type: "string",
    valueHint: "ZONE",
    description: "Time zone whose midnight ends a licence (default Africa/Lagos); remembered in the database",
  },
  policy: {
    type: "string",
    valueHint: "FILE",
    description: "Eligibility policy, JSON; remembered in the database",
  },
  "keep-attestations": {
    type: "string",
    valueHint: "TIME",
    description:
      "Delete attestations that are older, such as 7y or 3650d, at least 90d (default forever); remembered in the database",
  },
  "allow-private-webhooks": {
    type: "boolean",
    description:
      "Allow webhook endpoints with http or private IP addresses (for tests only); remembered in the database",
  },
  "signing-engine": {
    type: "string",
    valueHint: "auto|openssl|webcrypto",
    description: "What signs envelopes (default auto: the faster one that passes its test at start)",
  },
  "trusted-proxy": {
    type: "string",
    valueHint: "CIDR",
    description: "Proxies whose X-Forwarded-For is trusted; repeat the option or separate them with commas",
  },
  "client-cert-from": {
    type: "string",
    valueHint: "CIDR",
    description:
      "Proxies whose Client-Cert (RFC 9440) is trusted, for partners that call with a certificate. Each must " +
      "delete the Client-Cert that callers send, or a copied certificate opens the service. Not implied by " +
      "--trusted-proxy; none by default; repeat the option or separate them with commas",
  },
  "admin-port": {
    type: "string",
    valueHint: "N",
    description:
      "Also serve the operator's console and /metrics here, on 127.0.0.1 only; 0 picks a free port",
  },
  "tls-port": {
    type: "string",
    valueHint: "N",
    description: "Also serve HTTPS here, asking for client certificates",
  },
  "tls-cert": { type: "string", valueHint: "FILE", description: "The server's certificate chain, PEM" },
  "tls-key": { type: "string", valueHint: "FILE", description: "The server's private key, PEM" },
} as const satisfies Args;

export const serveCommand = command({
  name: "serve",
  description: "Run the service: the public lookup and the partner API, until SIGTERM",
  example: "tvs serve --issuer https://verify.example.gov --port 8080",
  args: serveArgs,
  async run({ args, rawArgs }) {
    const lists = ["trusted-proxy", "client-cert-from"].map((name) => [name, everyValue(rawArgs, name)]);
    const flags: Flags = { ...args, ...Object.fromEntries(lists) };
    await serve(readServeConfig(flags, environmentOf(flags)), process.env);
  },
});

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
  configureLog(
    (line) => process.stderr.write(line),
    environment.TVS_LOG_LEVEL === "debug" ? "debug" : "info",
  );
  // Before anything can be asked or announced: a signal that comes at once must not find the runtime's own handler.
  const stopped = stopSignal();
  const lost = Promise.withResolvers<TvsError>();
  const opening = Promise.withResolvers<App>();
  let fastPath: FastPath | undefined;
  const fetch = async (request: Request, connection: ConnectionInfo) =>
    (await opening.promise).hono.fetch(request, connection);
  const listener = await listen(fetch, {
    host: config.host,
    port: config.port,
    ...(config.tls === undefined ? {} : { tls: readTls(config.tls) }),
    fastPath: (incoming, outgoing) => fastPath?.(incoming, outgoing) ?? false,
    onError: (error) => log.error("request failed outside the app", { detail: String(error) }),
  });
  let open: OpenService | undefined;
  void stopped.then(() => giveUpStart(() => open !== undefined));
  let consolePort: ConsolePort | undefined;
  let adminConsole: AdminConsole | undefined;
  try {
    consolePort = await takeConsolePort(config);
    const isPrivate = config.sandbox || isLoopbackHost(config.host);
    open = await openService(config, {
      workerEntry: workerEntry(),
      defaultIssuer: isPrivate ? listener.url : null,
      onLost: lost.resolve,
    });
    const sandbox = config.sandbox ? await prepareSandbox(open, listener.url) : undefined;
    const introduction = sandbox?.introduction ?? "";
    const opened = createApp(open.service, { ...config, demo: sandbox?.demo });
    fastPath = opened.fastPath;
    opening.resolve(opened);
    adminConsole = await openConsole(open, { config, consolePort });
    await announce(open, listener, { host: config.host, introduction });
    if (adminConsole !== undefined)
      process.stdout.write(`console ${adminConsole.link} (opens once, within five minutes)\n`);
    await untilTheEnd(stopped, lost.promise);
  } catch (error) {
    opening.promise.catch(() => {});
    opening.reject(error);
    throw error;
  } finally {
    adminConsole?.stop();
    await Promise.all([listener.close(), consolePort?.close(), open?.stopSending()]);
    await open?.close();
  }
  log.info("stopped", {});
}

/**
 * Waits for a signal, or for the loss of the database: a service that can no longer answer must not stay and answer 503
 * for ever, because a supervisor restarts only what has ended.
 */
async function untilTheEnd(stopped: Promise<string>, lost: Promise<TvsError>): Promise<void> {
  const end = await Promise.race([stopped, lost]);
  if (typeof end === "string") return log.info("draining", { signal: end });
  log.error("stopping, to be restarted", { detail: end.message });
  process.exitCode = exitCodes.refused;
  setTimeout(() => process.exit(exitCodes.refused), lossPatienceMs).unref();
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

/** Opens the console on its port; without one, the console of an earlier service is forgotten. */
async function openConsole(
  open: OpenService,
  { config, consolePort }: { config: ServeConfig; consolePort: ConsolePort | undefined },
): Promise<AdminConsole | undefined> {
  const { forgetAdminConsole, openAdminConsole } = await import("./console.ts");
  if (consolePort !== undefined) return openAdminConsole(open, config, consolePort);
  await forgetAdminConsole(open);
  return undefined;
}

/** Fills a sandbox before its first answer, so that its demo key works before anybody is told to paste it. */
async function prepareSandbox({ operator, service }: OpenService, url: string) {
  const sandbox = await import("./sandbox.ts");
  const prepared = await sandbox.prepareSandbox(operator, url);
  await service.live.refresh();
  return prepared;
}

/** Prints where the service listens, and logs what an operator would want to know before the first caller. */
async function announce(
  { operator, service }: OpenService,
  listener: Listener,
  { host, introduction }: { host: string; introduction: string },
): Promise<void> {
  const { settings } = service.live.current();
  log.info("listening", { url: listener.url, tlsPort: listener.tlsPort, issuer: settings.issuer });
  if (operator.keyKind === "live") warnOfSettings(settings, operator.issuerTold);
  if (await operator.stores.teachers.isEmpty()) {
    // It may be a new one; it may also be a database that was moved away, and then nobody would be found.
    log.warn("the register is empty: every teacher will be answered as not found", {});
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

/** Resolves at the first SIGTERM or SIGINT; a second one, which supervisors send too, changes nothing. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve(signal));
  });
}
