/** The command `tvs console`, which prints a link to the operator's console, and the console's port in `tvs serve`. */

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { type Config, consoleFilePathOf, hasDefaultDatabase } from "../../src/config.ts";
import {
  createConsoleLink,
  createSessionStore,
  formatConsoleFile,
  parseConsoleFile,
  type RunningConsole,
} from "../../src/console/access.ts";
import { createAdminApp } from "../../src/console/admin-app.ts";
import { type ConsoleSources, createCommandFormatter } from "../../src/console/console-state.ts";
import { isoTime } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { createReadingsCache } from "../../src/domain/readings.ts";
import { type HttpApp, serve } from "../../src/http/serve.ts";
import { log } from "../../src/logger.ts";
import { startTrafficHistory, type TrafficHistory } from "../../src/metrics/history.ts";
import { discardFile, replaceFile, writeTemporaryFile } from "../../src/store/driver/files.ts";
import { tvsVersion } from "../command.ts";
import { defineRegisterCommand } from "../operator-command.ts";
import { describeRuntime } from "../program.ts";
import { readSmallFile } from "../safe/input-file.ts";
import { printNote, printResult } from "../terminal/output.ts";
import type { RunningService } from "./open-service.ts";

export const consoleCommand = defineRegisterCommand("console", {
  async act({ driver, config, secrets, clock }, args) {
    if (!(await driver.serviceRunning()))
      throw new TvsError(
        "REFUSED",
        "no service is running on this data; start `tvs serve --admin-port 9464`",
      );
    const file = consoleFilePathOf(config);
    const location = parseConsoleFile(existsSync(file) ? readSmallFile(file).toString("utf8") : null);
    const { url, expiresAt } = createConsoleLink(secrets, location, clock.now());
    printResult(args, { url, expiresAt: isoTime(expiresAt) }, () => url);
    if (args.json !== true) printNote("the link works once, within five minutes, on this machine");
  },
});

/** The console's port, which listens before the register is opened. Requests wait until `open` is called. */
export type ConsolePort = Awaited<ReturnType<typeof listenOnConsolePort>>;

/** The console is reachable from this machine only; no option changes that. */
const host = "127.0.0.1";

/** Listens on the console's port (0: a free port). @throws TvsError REFUSED if the port is busy */
export async function listenOnConsolePort(port: number) {
  const opening = Promise.withResolvers<HttpApp>();
  const listener = await serve(opening.promise, {
    host,
    port,
    onError: (error) => log.error("the console failed", { detail: String(error) }),
  });
  const location = { port: listener.port, id: randomUUID() };
  let history: TrafficHistory | undefined;
  let file: string | undefined;
  return {
    port: listener.port,
    /** Opens the console, and writes its port to a file for `tvs console`. @returns a link that opens the console once */
    async open(service: RunningService, config: Config): Promise<string> {
      const { secrets, clock } = service.operator;
      history = startTrafficHistory({ counters: service.metrics.counters, clock });
      file = consoleFilePathOf(config);
      replaceFile(await writeTemporaryFile(file, formatConsoleFile(location)), file);
      opening.resolve(createAdmin(service, { config, history, location }));
      return createConsoleLink(secrets, location, clock.now()).url;
    },
    async close(): Promise<void> {
      history?.stop();
      if (file !== undefined) discardFile(file);
      opening.reject(new Error("the service did not open"));
      await listener.close();
    },
  };
}

type Parts = { config: Config; history: TrafficHistory; location: RunningConsole };

function createAdmin(open: RunningService, { config, history, location }: Parts) {
  const { operator, service, metrics } = open;
  const { configuration } = service;
  const { secrets, calendar, clock, stores, blindIndex, keyKind } = operator;
  const environment = keyKind === "live" ? "live" : "sandbox";
  const onError = (error: unknown) => log.error("the console cannot read", { detail: String(error) });
  const sources: ConsoleSources = {
    ...metrics,
    ...stores,
    ...{ blindIndex, configuration, clock, history },
    signers: open.signer.threads,
    startedAt: clock.now(),
    clockAheadMs: open.clockAheadMs,
    readings: createReadingsCache({ ...stores, calendar, clock, onError }),
    signingEngine: () => open.signer.engine.description,
    isDiskRefusing: open.isDiskRefusing,
    build: { version: tvsVersion, runtime: describeRuntime().toLowerCase(), environment },
    commandLine: createCommandFormatter(dataOptions(config)),
  };
  const sessions = createSessionStore({ secrets, location, clock });
  return createAdminApp({ sources, sessions });
}

/** Makes the options with which a command that runs in any folder finds this service's data. */
function dataOptions({ dataDir, database, sandbox }: Config): string[] {
  const options = ["--data", dataDir, ...(sandbox ? ["--sandbox"] : [])];
  if (hasDefaultDatabase({ dataDir, database, sandbox })) return options;
  return [...options, "--database", database.kind === "file" ? `file:${database.file}` : database.url];
}
