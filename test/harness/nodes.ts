/** Several nodes of the service over one libSQL server, as one service with one address. */
import { existsSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Front, startBalancer } from "./balancer.ts";
import type { ProxyTls } from "./caddy.ts";
import type { ServeOptions, Service, Signal } from "./program.ts";

const nodes = 3;

type Start = (options: ServeOptions) => Promise<Service>;

/**
 * Starts three nodes and what stands before them. The first has the data folder itself, each other one a folder beside
 * it with a copy of the master key.
 * @param front what stands before them
 * @param start starts one node and waits until it listens
 */
export async function startNodes(
  options: ServeOptions,
  { front, start }: { front: "balancer" | "caddy"; start: Start },
): Promise<Service> {
  const { args = [] } = options;
  const started = await startAll(
    front === "caddy" ? { ...options, args: argsBehindProxy(args) } : options,
    start,
  );
  try {
    return asOne(started, await (front === "caddy" ? startProxy(started, args) : startBalancer(started)));
  } catch (error) {
    await Promise.all(started.map((node) => node.stop("SIGKILL")));
    throw error;
  }
}

async function startProxy(started: readonly Service[], args: readonly string[]): Promise<Front> {
  // Looks for the program when it is loaded, which only these tests need.
  const { startCaddy } = await import("./caddy.ts");
  const addresses = started.map(({ url }) => url);
  return startCaddy(addresses, proxyTls(args));
}

async function startAll(options: ServeOptions, start: Start): Promise<Service[]> {
  const { dataDir, args = [] } = options;
  const name = args.includes("--sandbox") ? "sandbox-master.key" : "master.key";
  // Whoever makes the register makes its master key, which the others are then given.
  const first = existsSync(join(dataDir, name)) ? [] : [await start(options)];
  const folders = Array.from({ length: nodes }, (_, at) =>
    at === 0 ? dataDir : `${dataDir}.node-${at + 1}`,
  );
  const others = folders.slice(first.length);
  await Promise.all(
    others.filter((folder) => folder !== dataDir).map((folder) => copyKey(dataDir, folder, name)),
  );
  const results = await Promise.allSettled(others.map((folder) => start({ ...options, dataDir: folder })));
  const started = [
    ...first,
    ...results.flatMap((result) => (result.status === "fulfilled" ? result.value : [])),
  ];
  const failure = results.find((result) => result.status === "rejected");
  if (failure === undefined) return started;
  await Promise.all(started.map((node) => node.stop("SIGKILL")));
  throw failure.reason;
}

async function copyKey(from: string, to: string, name: string): Promise<void> {
  if (!existsSync(join(from, name))) return;
  await mkdir(to, { recursive: true, mode: 0o700 });
  await copyFile(join(from, name), join(to, name));
}

/** Nodes behind a balancer, as a service that a test starts, kills and ends. */
function asOne(started: readonly Service[], front: Front): Service {
  const exited = Promise.all(started.map((node) => node.exited)).then(worst);
  return {
    url: front.url,
    tlsUrl: front.tlsUrl,
    pid: started[0]?.pid ?? 0,
    stdout: () => started.map((node) => node.stdout()).join(""),
    stderr: () => started.map((node) => node.stderr()).join(""),
    exited,
    signal(name: Signal) {
      for (const node of started) node.signal(name);
    },
    async stop(signal) {
      const codes = await Promise.all(started.map((node) => node.stop(signal)));
      await front.stop();
      return worst(codes);
    },
  };
}

const worst = (codes: readonly number[]) => codes.find((code) => code !== 0) ?? 0;

/** What `serve` was told of TLS, which the proxy does in its place. */
function proxyTls(args: readonly string[]): ProxyTls | undefined {
  const [certFile, keyFile] = ["--tls-cert", "--tls-key"].map((name) => args[args.indexOf(name) + 1]);
  return args.includes("--tls-port") && certFile !== undefined && keyFile !== undefined
    ? { certFile, keyFile }
    : undefined;
}

/** The proxy says from where a call came, and whose certificate it had. */
function argsBehindProxy(args: readonly string[]): string[] {
  const told = args.filter(
    (word, at) => !word.startsWith("--tls-") && !(args[at - 1] ?? "").startsWith("--tls-"),
  );
  const believed = ["--trusted-proxy", "--client-cert-from"].filter((name) => !told.includes(name));
  return [...told, ...believed.flatMap((name) => [name, "127.0.0.0/8"])];
}
