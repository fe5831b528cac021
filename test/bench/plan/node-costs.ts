/** Real nodes over the server, under the load of the benchmark: what a check costs there, and how many are answered. */
import { join } from "node:path";
import { type Environment, type Service, startService } from "../../harness/program.ts";
import type { TestServer } from "../../harness/sqld.ts";
import { adminWords, scrape } from "../admin-port.ts";
import { answered, type LoadPlan, type LoadResult, runLoad } from "../load.ts";
import type { Observed } from "./costs.ts";

type Cluster = {
  readonly server: TestServer;
  readonly folder: string;
  readonly env: Environment;
  readonly apiKey: string;
  readonly teachers: number;
};

type Each = { readonly cpuSeconds: number; readonly clientSeconds: number };
export type LoadedNodes = {
  /** Of one node, with {@link connections}. */
  readonly checks: Each;
  readonly lookups: Each;
  readonly checksInCommit: number;
  readonly observed: readonly Observed[];
};

const connections = 64;
const seconds = 6;

async function start({ folder, env }: Cluster, count: number, threads: number): Promise<Service[]> {
  const args = [...adminWords, "--threads", String(threads), "--public-per-minute", "100000000"];
  const services: Service[] = [];
  // The first one makes the register's tables, if there are none.
  for (let n = 0; n < count; n++)
    services.push(await startService({ dataDir: join(folder, `node-${n}`), args, env }));
  return services;
}

type Shape = Pick<LoadPlan, "kind" | "connections" | "seconds">;

/** The same load on each of them at once. */
function loadAll(
  { apiKey, teachers }: Cluster,
  services: readonly Service[],
  shape: Shape,
): Promise<LoadResult[]> {
  return Promise.all(
    services.map(async ({ url, pid }) => {
      const plan = { url, pid, apiKey, teachers, ...shape };
      const load = await runLoad(plan);
      // Refusals are told and no reason to stop: commits of several threads that meet may refuse each other.
      if (answered(load) === 0)
        throw new Error(`${shape.kind}: no answer but ${JSON.stringify(load.statuses)}`);
      process.stderr.write(
        `${shape.kind}, ${shape.connections} connections: ${JSON.stringify(load.statuses)}\n`,
      );
      return load;
    }),
  );
}

function eachOf([load]: readonly LoadResult[]): Each {
  if (load === undefined) throw new Error("nothing was loaded");
  const count = answered(load);
  return { cpuSeconds: load.serverCpuSeconds / count, clientSeconds: load.clientCpuSeconds / count };
}

function observe(loads: readonly LoadResult[], shape: Omit<Observed, "perSecond" | "p50Ms">): Observed {
  const perSecond = loads.reduce((sum, load) => sum + answered(load) / load.seconds, 0);
  return { ...shape, perSecond, p50Ms: loads.reduce((sum, { p50Ms }) => sum + p50Ms, 0) / loads.length };
}

async function measureOne(cluster: Cluster) {
  const services = await start(cluster, 1, 1);
  const [service] = services as [Service];
  try {
    const shape = { kind: "check", connections, seconds } as const;
    await loadAll(cluster, services, shape);
    const before = await scrape(service);
    const checks = await loadAll(cluster, services, shape);
    const after = await scrape(service);
    const grown = (name: string) => (after[name] ?? 0) - (before[name] ?? 0);
    const lookups = await loadAll(cluster, services, { ...shape, kind: "lookup" });
    const observed = [observe(checks, { nodes: 1, threads: 1, connections })];
    for (const few of [4, 1]) {
      const loads = await loadAll(cluster, services, { ...shape, connections: few });
      observed.push(observe(loads, { nodes: 1, threads: 1, connections: few }));
    }
    const checksInCommit = grown("tvs_commit_group_size_sum") / grown("tvs_commit_group_size_count");
    return { checks: eachOf(checks), lookups: eachOf(lookups), checksInCommit, observed };
  } finally {
    for (const one of services) await one.stop();
  }
}

async function observeTwo(cluster: Cluster): Promise<Observed> {
  const services = await start(cluster, 2, 1);
  try {
    const shape = { kind: "check", connections, seconds } as const;
    await loadAll(cluster, services, shape);
    return observe(await loadAll(cluster, services, shape), { nodes: 2, threads: 1, connections });
  } finally {
    for (const one of services) await one.stop();
  }
}

export async function measureNodes(cluster: Cluster): Promise<LoadedNodes> {
  const one = await measureOne(cluster);
  const two = await observeTwo(cluster).catch((error) => void process.stderr.write(`two nodes: ${error}\n`));
  return { ...one, observed: [...one.observed, ...(two ? [two] : [])] };
}
