/** A serving thread besides the main one: opens, listens and answers like it, and does nothing else. */

import { parentPort } from "node:worker_threads";
import type { ServeConfig } from "../../src/config.ts";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { systemClock } from "../../src/domain/clock.ts";
import type { KeyKind } from "../../src/domain/credentials.ts";
import type { TvsError } from "../../src/domain/errors.ts";
import type { Settings } from "../../src/domain/settings.ts";
import type { Demo } from "../../src/http/local-caller.ts";
import { configureLog } from "../../src/logger.ts";
import { type CallsOfThread, createCallRelay } from "../../src/metrics/call-relay.ts";
import { createWorkCounters } from "../../src/metrics/work.ts";
import type { SignerOptions } from "../../src/signing/signer.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { createStores, openDriver } from "../open.ts";
import { openVault } from "../safe/vault.ts";
import { openServer, type ProcessMemory } from "./open-server.ts";
import type { LogLevel } from "./options.ts";

/** What a thread is given. The main one has made everything that lies on the disk. */
export type ServingThreadData = {
  /** Which thread this is; the main one is 0. */
  readonly thread: number;
  readonly config: ServeConfig;
  readonly memory: ProcessMemory;
  readonly settings: Settings;
  /** With the engine that the main thread has chosen. */
  readonly signing: Pick<SignerOptions, "engine" | "cryptoMbFile">;
  readonly keyKind: KeyKind;
  readonly demo: Demo | undefined;
  readonly logLevel: LogLevel;
};

/** What the main thread hears. */
export type FromThread =
  | { readonly kind: "serving" | "drained" | "closed" }
  /** Said again and again: one that does not hangs. */
  | { readonly kind: "alive" }
  | { readonly kind: "calls"; readonly batch: CallsOfThread }
  /** The database is not this process's any more. */
  | { readonly kind: "lost"; readonly message: string }
  /** The thread ends, because it cannot go on. */
  | { readonly kind: "failed"; readonly detail: string };

/** What the thread hears: end what listens; end everything; the last calls were taken; others get the connections. */
export type ToThread = "drain" | "close" | "taken" | "shed";

/** How often a thread says that it is alive, and how often the main one looks. */
export const aliveMs = 1_000;

/** How long a last message needs to leave. */
const lastWordsMs = 20;

/** The loop of a thread; it is ended from outside when it has said that it is closed. */
export async function runServingThread(data: ServingThreadData): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("this runs in a worker thread only");
  const tell = (message: FromThread) => port.postMessage(message);
  process.stderr.on("error", () => {});
  configureLog((line) => process.stderr.write(line), data.logLevel);
  let driver: Driver | undefined;

  /** Ends the thread. Its connection goes first: who is ended inside of a read keeps its lock for ever. */
  async function fail(error: unknown): Promise<void> {
    await driver?.close().catch(() => {});
    tell({ kind: "failed", detail: String(error) });
    setTimeout(() => process.exit(1), lastWordsMs);
  }
  process.on("uncaughtException", fail);
  process.on("unhandledRejection", fail);

  const opening = openThread(data, tell, (opened) => {
    driver = opened;
  });
  port.on("message", (message: ToThread) => {
    void opening.then((open) => open[message](), fail);
  });
  setInterval(() => tell({ kind: "alive" }), aliveMs).unref();
  await opening.then(() => tell({ kind: "serving" }), fail);
}

type OpenThread = Readonly<Record<ToThread, () => void>>;

async function openThread(
  data: ServingThreadData,
  tell: (message: FromThread) => void,
  onDriver: (driver: Driver) => void,
): Promise<OpenThread> {
  const { config, memory, thread } = data;
  const work = createWorkCounters({ memory: memory.work, thread });
  const relay = createCallRelay({
    send: (batch) => tell({ kind: "calls", batch }),
    wantsAll: config.accessLog,
  });
  const onLost = (error: TvsError) => tell({ kind: "lost", message: error.message });
  const shared = { memory: memory.commitLock, thread };
  const driver = await openDriver(config, {
    shared,
    onRequest: (kind) => work.count(`requests: ${kind}`),
    onLost,
  });
  onDriver(driver);
  const commits = { onGroup: work.committed, isMoreComing: work.isSigning };
  const stores = createStores(driver, { commits });
  const secrets = await openVault(config, stores.settings);
  const basis = {
    driver,
    stores,
    secrets,
    blindIndex: createBlindIndex(secrets.blindIndexKey),
    settingsInForce: data.settings,
    keyKind: data.keyKind,
    clock: systemClock,
  };
  const { signing } = data;
  const onCall = relay.observe;
  const server = await openServer(basis, { signing, memory, thread, work, onCall, onLost });
  return {
    taken: relay.taken,
    shed() {},
    drain: () => tell({ kind: "drained" }),
    close: () =>
      void server
        .close()
        .then(() => driver.close())
        .then(() => {
          relay.end();
          tell({ kind: "closed" });
        }),
  };
}
