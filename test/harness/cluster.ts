/** Several nodes over one libSQL server, each behind a link that can fail. */
import { join } from "node:path";
import { generateMasterKey } from "../../src/domain/secrets.ts";
import { startFaultProxy } from "./fault-proxy.ts";
import { makeFolder } from "./folder.ts";
import { freePort } from "./free-port.ts";
import { type Environment, type Service, type Signal, startService } from "./program.ts";
import { startServer, type TestServer } from "./sqld.ts";

/** @property args more options of every `serve` */
type ClusterOptions = { readonly nodes: number; readonly args: readonly string[] };

/** A register: its data directory, and the environment by which commands and services find it. */
type Register = { readonly dataDir: string; readonly env: Environment };

export type ClusterNode = Awaited<ReturnType<typeof makeNode>>;
export type Cluster = Awaited<ReturnType<typeof startCluster>>;

/** Starts the libSQL server and the nodes; the first node makes the register. If one fails, all are removed. */
export async function startCluster({ nodes, args }: ClusterOptions) {
  const folder = makeFolder();
  const closers: (() => Promise<unknown>)[] = [folder.remove];
  const close = async () => {
    for (const end of closers.splice(0).reverse()) await end();
  };
  try {
    const server = await startServer();
    closers.push(server.stop);
    const secret = { TVS_MASTER_KEY: generateMasterKey(), TVS_ISSUER: "https://teachers.example" };
    const made: ClusterNode[] = [];
    for (let n = 0; n < nodes; n++) {
      const node = await makeNode(server, { dataDir: join(folder.path, `node-${n}`), env: secret }, args);
      closers.push(node.close);
      made.push(node);
    }
    for (const node of made.slice(0, 1)) await node.start();
    await Promise.all(made.slice(1).map((node) => node.start()));
    // Commands connect to the libSQL server without a link.
    const register = { dataDir: join(folder.path, "operator"), env: { ...secret, TVS_DATABASE: server.url } };
    return { server, nodes: made as readonly ClusterNode[], register, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function makeNode(server: TestServer, { dataDir, env }: Register, args: readonly string[]) {
  const link = await startFaultProxy(server.url);
  const port = await freePort();
  const trusted = ["--trusted-proxy", "127.0.0.1", "--port", String(port)];
  let service: Service | null = null;
  return {
    /** The same after each start. */
    url: `http://127.0.0.1:${port}`,
    /** The folder for the node's own files, such as the last checkpoint of the evidence log. */
    dataDir,
    /** The link between the node and the libSQL server. */
    link,
    async start(): Promise<Service> {
      const all = { ...env, TVS_DATABASE: link.url };
      service = await startService({ dataDir, env: all, args: [...trusted, ...args] });
      return service;
    },
    /** The log since the last start. */
    stderr: () => service?.stderr() ?? "",
    /** Sends a signal and does not wait. SIGSTOP pauses the node at any point, SIGCONT continues it. */
    signal: (name: NodeJS.Signals) => void (service !== null && process.kill(service.pid, name)),
    /** Sends SIGTERM, or another signal, and waits. @returns the exit code */
    stop: async (signal?: Signal) => (await service?.stop(signal)) ?? 0,
    async close() {
      await service?.stop("SIGKILL");
      await link.close();
    },
  };
}
