import { runJson, type Service, startService } from "../harness/program.ts";
import { startServer, type TestServer } from "../harness/sqld.ts";
import { adminWords, scrape } from "./admin-port.ts";
import type { Bench } from "./bench.ts";
import type { Table } from "./figures.ts";
import { cpuSeconds } from "./machine.ts";
import { type Measured, measureLoad } from "./measured.ts";
import type { Program } from "./programs.ts";
import { addCaller, type Register, registerSizeFor, serveRegister, writeExtract } from "./register.ts";
import { type Cleanup, dataDirIn, folderUntilCleanup, warmUpSeconds, withCleanup } from "./setup.ts";

/** As many as are promised the few round trips of a check. */
const connections = 64;
const question = "What does a libSQL server cost, and what do two nodes over it answer, beside a file?";

/** A register on a server, and some nodes over it. */
type Cluster = Register & {
  readonly name: string;
  readonly nodes: readonly Service[];
  readonly server: TestServer;
};

/**
 * Single checks of one node and of two over one server, beside the same program over a file; all of them, the server
 * and the load clients share the cores.
 */
export const nodesBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const teachers = registerSizeFor({ isQuick: true });
    const [own] = options.programs;
    const file = await serveRegister(own, { teachers, cleanup });
    const clusters: Cluster[] = [];
    for (const [name, signers] of shapes) {
      const register = await registerOnServer(own, { teachers, cleanup });
      const nodes: Service[] = [];
      for (const count of signers) nodes.push(await startNode(own, { register, signers: count, cleanup }));
      clusters.push({ ...register, name, nodes });
    }
    const warmUp = warmUpSeconds(options);
    await measureLoad({ ...file, kind: "check", connections, seconds: warmUp });
    for (const cluster of clusters) await loadAll(cluster, warmUp);
    const seconds = options.isQuick ? 2 : 3;
    const table = options.figures.about(question);
    for (let round = 0; round < options.rounds; round++) {
      const embedded = await measureLoad({ ...file, kind: "check", connections, seconds });
      table.add("a file, 64 connections", { unit: "checks/s" }, embedded.perSecond);
      table.add("a file: server CPU each", { unit: "µs" }, embedded.cpuSeconds * 1e6);
      for (const cluster of clusters) await measureCluster(table, { cluster, seconds, embedded });
    }
    table.note(
      "Each node has 64 connections of its own. A file is served with the usual signers. The server's processor " +
        "time is apart; on machines of its own it would leave the cores to the nodes.",
    );
  });

/** How many signers each node has. */
const shapes: readonly [name: string, signers: readonly number[]][] = [
  ["one node without signers", [0]],
  ["one node with one signer", [1]],
  ["two nodes without signers", [0, 0]],
];

async function registerOnServer(
  { words }: Program,
  { teachers, cleanup }: { teachers: number; cleanup: Cleanup },
): Promise<Register & { server: TestServer }> {
  const folder = await folderUntilCleanup(cleanup);
  const server = await startServer({ folder });
  cleanup(server.stop);
  const dataDir = dataDirIn(folder);
  const options = { dataDir, program: words, env: { TVS_DATABASE: server.url } };
  const extract = await writeExtract(folder, { rows: teachers });
  await runJson(["teachers", "import", extract, "--baseline"], options);
  return { dataDir, teachers, apiKey: await addCaller(options), server };
}

async function startNode(
  program: Program,
  {
    register: { dataDir, server },
    signers,
    cleanup,
  }: { register: { dataDir: string; server: TestServer }; signers: number; cleanup: Cleanup },
): Promise<Service> {
  const args = ["--issuer", "http://127.0.0.1:1", "--signers", String(signers), ...adminWords];
  const env = { TVS_DATABASE: server.url };
  const node = await startService({ dataDir, args, env, program: program.words });
  cleanup(() => node.stop());
  return node;
}

function loadAll({ nodes, apiKey, teachers }: Cluster, seconds: number): Promise<Measured[]> {
  const load = ({ url, pid }: Service) =>
    measureLoad({ url, pid, apiKey, teachers, kind: "check", connections, seconds });
  return Promise.all(nodes.map(load));
}

async function measureCluster(
  table: Table,
  { cluster, seconds, embedded }: { cluster: Cluster; seconds: number; embedded: Measured },
): Promise<void> {
  const { name, nodes, server } = cluster;
  const before = await Promise.all(nodes.map(scrape));
  const serverBefore = cpuSeconds(server.pid());
  const measured = await loadAll(cluster, seconds);
  const serverSeconds = cpuSeconds(server.pid()) - serverBefore;
  const after = await Promise.all(nodes.map(scrape));
  const grown = (counter: string) => sumOf(after, counter) - sumOf(before, counter);
  const perSecond = measured.reduce((sum, one) => sum + one.perSecond, 0);
  const nodeSeconds = measured.reduce((sum, one) => sum + one.cpuSeconds * one.perSecond, 0) / perSecond;
  // Requests and processor time of the server are of the whole load, what leads in included.
  const checks = grown("tvs_commit_group_size_sum");
  const [reads, commits] = [
    grown('tvs_database_requests_total{kind="read"}'),
    grown('tvs_database_requests_total{kind="commit"}'),
  ];
  table.add(`${name}`, { unit: "checks/s" }, perSecond);
  table.add(`${name}: ÷ a file`, { unit: "times" }, perSecond / embedded.perSecond);
  table.add(`${name}: node CPU each`, { unit: "µs" }, nodeSeconds * 1e6);
  table.add(`${name}: CPU of the libSQL server each`, { unit: "µs" }, (serverSeconds / checks) * 1e6);
  table.add(`${name}: reads a check`, { unit: "round trips" }, reads / checks);
  table.add(`${name}: commits a check`, { unit: "round trips" }, commits / checks);
  table.add(`${name}: p50`, { unit: "ms" }, Math.max(...measured.map(({ p50Ms }) => p50Ms)));
  table.add(`${name}: p99`, { unit: "ms" }, Math.max(...measured.map(({ p99Ms }) => p99Ms)));
}

function sumOf(scraped: readonly Readonly<Record<string, number>>[], counter: string): number {
  return scraped.reduce((sum, one) => sum + (one[counter] ?? 0), 0);
}
