import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import type { Config } from "../src/config.ts";
import { deliveryErrors } from "../src/delivery/outcome.ts";
import { mintLink, newRun, rememberConsole } from "../src/domain/console-link.ts";
import { createReadings } from "../src/domain/readings.ts";
import { log } from "../src/log.ts";
import { createExposition } from "../src/metrics/exposition.ts";
import { startHistory } from "../src/metrics/history.ts";
import { createAdminApp } from "../src/server/admin/admin-app.ts";
import { createCommandLine } from "../src/server/admin/format.ts";
import { createSessions } from "../src/server/admin/sessions.ts";
import { listen } from "../src/server/http/listen.ts";
import { createImportHistory } from "../src/store/import-history.ts";
import type { OpenService } from "./open-service.ts";

export type AdminConsole = {
  /** A link that opens the console once. */
  readonly link: string;
  /** Ends what it counts; its port is closed by who took it. */
  stop(): void;
};

/** A port that is taken and waits for its console. */
export type ConsolePort = {
  readonly port: number;
  serve(app: ReturnType<typeof createAdminApp>): void;
  close(): Promise<void>;
};

/** The console is for one machine: a flag that could open it to others would one day be set. */
const host = "127.0.0.1";
/** Enough for an operator's windows and some scrapers. */
const maxConnections = 64;

/**
 * Takes the console's port before the service is opened: a busy one is told before a register is made.
 * @param port 0 picks a free one
 * @throws ListenError
 */
export async function takeConsolePort(port: number): Promise<ConsolePort> {
  const opening = Promise.withResolvers<ReturnType<typeof createAdminApp>>();
  opening.promise.catch(() => {});
  const listener = await listen(
    async (request, connection) => (await opening.promise).fetch(request, connection),
    {
      host,
      port,
      limits: { maxConnections },
      onError: (error) => log.error("the console failed", { detail: String(error) }),
    },
  );
  return {
    port: listener.port,
    serve: opening.resolve,
    async close() {
      opening.reject(new Error("the service did not open"));
      await listener.close();
    },
  };
}

/** Opens the operator's console and the metrics on their port, and remembers where, for `tvs console`. */
export async function openAdminConsole(
  open: OpenService,
  config: Config,
  { port, serve }: ConsolePort,
): Promise<AdminConsole> {
  const { operator } = open;
  const { secrets, settings, clock } = operator;
  const run = newRun();
  const history = startHistory({ ...open.metrics, clock });
  serve(createAdmin(open, config, { run, history, port }));
  const place = { port, run };
  await rememberConsole(settings, place);
  return { link: mintLink(secrets, place, clock.now()).url, stop: () => history.stop() };
}

/** A service without a console takes the place of one that had it. */
export function forgetAdminConsole({ operator }: OpenService): Promise<void> {
  return rememberConsole(operator.settings, null);
}

type Parts = { run: string; history: ReturnType<typeof startHistory>; port: number };

function createAdmin(open: OpenService, config: Config, { run, history, port }: Parts) {
  const { operator, service, metrics } = open;
  const { live, quotaStore } = service;
  const { secrets, clock } = operator;
  const onError = (error: unknown) => log.error("the console cannot read", { detail: String(error) });
  const imports = createImportHistory(operator.driver);
  const shared = {
    ...metrics,
    history,
    readings: createReadings({ ...operator, quotaStore, imports, onError }),
    clock,
    startedAt: clock.now(),
    signingEngine: open.signingEngine,
    isDiskRefusing: open.isDiskRefusing,
    build: {
      version: packageJson.version,
      runtime: runtimeName(),
      environment: operator.keyKind === "live" ? "live" : "sandbox",
    },
  };
  const commandLine = createCommandLine(dataOptions(config));
  return createAdminApp({
    sources: { ...shared, live, commandLine, explainError },
    exposition: createExposition({ ...shared, snapshot: live.current }),
    sessions: createSessions({ secrets, run, clock }),
    port,
  });
}

/** The words that make a command mean this service's data, whatever folder it is pasted in. */
export function dataOptions({ dataDir, database, sandbox }: Config): string[] {
  const words = ["--data", dataDir, ...(sandbox ? ["--sandbox"] : [])];
  if (database.kind === "file") {
    const isOwn = database.file === join(dataDir, sandbox ? "sandbox.db" : "tvs.db");
    return isOwn ? words : [...words, "--database", `file:${database.file}`];
  }
  // An address may carry a password, which has no place on a page: then TVS_DATABASE has to be set.
  const isPlain = /^[a-z]+:\/\/[^/@?#]+\/?$/.test(database.url);
  return isPlain ? [...words, "--database", database.url] : words;
}

function runtimeName(): string {
  const { bun, deno, node } = process.versions as Record<string, string | undefined>;
  if (bun !== undefined) return `bun ${bun}`;
  return deno === undefined ? `node ${node}` : `deno ${deno}`;
}

/** A sentence for an endpoint's last error, `BAD_STATUS 503` for example. */
function explainError(lastError: string): string {
  const [code = ""] = lastError.split(" ");
  return Object.hasOwn(deliveryErrors, code) ? deliveryErrors[code as keyof typeof deliveryErrors] : "";
}
