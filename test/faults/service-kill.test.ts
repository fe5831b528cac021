import { expect, test } from "bun:test";
import { type ClusterNode, startCluster } from "../harness/cluster.ts";
import { eventually, sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { runTvs, startService } from "../harness/program.ts";
import { noServer } from "../harness/sqld.ts";
import { reportTries } from "../harness/trial.ts";
import { askPartnerApi, prepareCallers, startLoad, untilReplayed } from "./keyed-load.ts";
import { foundFaults, roundCount, timeLimit } from "./killed.ts";
import { collectCheckpoints, compareWithDatabase, type PinnedHead, pinnedHeadOf } from "./killed-service.ts";
import type { Register } from "./register.ts";

/**
 * Kills services with SIGKILL repeatedly while callers wait for answers, repeat their idempotency keys and use up their
 * quota, and while checkpoints are signed. Then compares the answers, and every checkpoint that a service published,
 * with the database.
 */
const unlimited = ["--public-per-minute", "100000000"];

async function startWatching(register: Register, url: () => string) {
  const callers = await prepareCallers(register);
  const load = startLoad(url, callers);
  const checkpoints = collectCheckpoints(url);
  const heads: PinnedHead[] = [];
  const unexpected: string[] = [];
  return {
    apiKey: callers[0]?.apiKey ?? "",
    isUnderWay: () => untilReplayed(load),
    /** Runs `tvs log checkpoint`, because a service itself signs a checkpoint every half minute only. */
    async signNow({ mayFail = false } = {}): Promise<void> {
      const { code, stderr } = await runTvs(["log", "checkpoint"], register);
      if (code !== 0 && !mayFail) unexpected.push(`tvs log checkpoint: ${stderr}`);
    },
    async keepHead(dataDir: string): Promise<void> {
      const head = await pinnedHeadOf(dataDir, register);
      if (head !== null) heads.push(head);
    },
    async stop() {
      await load.stop();
      await checkpoints.stop();
    },
    /** Compares all answers and checkpoints with the database. */
    async compare(): Promise<void> {
      const faults = await compareWithDatabase({
        register,
        checkpoints: checkpoints.seen,
        load,
        heads,
        unexpected,
      });
      expect(foundFaults(faults)).toEqual({});
      const isReplayed = load.answers.some(({ isReplay }) => isReplay);
      const seen = [load.answers.length > 50, checkpoints.seen.length > 2];
      expect([...seen, isReplayed, load.failures.length > 0]).toEqual([true, true, true, true]);
      reportTries({ answers: load.answers.length, "failed calls": load.failures.length });
    },
  };
}

test(
  "a service that is killed and restarted loses nothing, does nothing twice, and its checkpoints are all of one log",
  () =>
    withTempDir(async (dataDir) => {
      const args = [...unlimited, "--issuer", "https://teachers.example"];
      const start = () => startService({ dataDir, args });
      let service = await start();
      const watch = await startWatching({ dataDir }, () => service.url);
      for (let round = 0; round < roundCount(3); round++) {
        await watch.isUnderWay();
        const signing = watch.signNow();
        await sleep(Math.random() * 600);
        await service.stop("SIGKILL");
        reportTries({ kills: 1 });
        // The command that signs must have succeeded, although its service was killed.
        await signing;
        await watch.keepHead(dataDir);
        service = await start();
      }
      await watch.stop();
      await service.stop();
      await watch.keepHead(dataDir);
      service = await start();
      expect(await service.stop()).toBe(0);
      await watch.compare();
    }),
  timeLimit(120_000),
);

/** How soon a node that has lost its server must have health 503, and answer partners 503 (decision D12.3). */
const healthMs = 2_000;
const refusalMs = 5_000;

/** Cuts a node's connection to its server until the node's health shows it, and restores the connection. */
async function withoutServer({ url, link }: ClusterNode, fault: "cut" | "silence", apiKey: string) {
  link[fault]();
  reportTries({ "cut connections": 1 });
  const since = performance.now();
  const refused = askPartnerApi(url, apiKey).then(({ status, headers }) => ({
    status,
    isPublishedTo: headers.has("Retry-After"),
    isInTime: performance.now() - since < refusalMs,
  }));
  const isUnhealthy = async () => (await fetch(`${url}/v1/inter-agency/health`)).status === 503;
  expect(await eventually(isUnhealthy, healthMs)).toBe(true);
  expect(await refused).toEqual({ status: 503, isPublishedTo: true, isInTime: true });
  link.heal();
  const isAnswered = async () => (await askPartnerApi(url, apiKey)).status === 200;
  expect(await eventually(isAnswered)).toBe(true);
}

test.skipIf(noServer !== undefined)(
  "nodes and a libSQL server lose nothing if they are killed or cut off, and a node without its server answers 503 in time",
  async () => {
    const cluster = await startCluster({ nodes: 3, args: unlimited });
    const { register, nodes, server } = cluster;
    try {
      let turn = 0;
      const watch = await startWatching(register, () => nodes[turn++ % nodes.length]?.url ?? "");
      const killNode = async (node: ClusterNode) => {
        const signing = watch.signNow();
        await sleep(Math.random() * 600);
        await node.stop("SIGKILL");
        reportTries({ kills: 1 });
        await signing;
        await watch.keepHead(node.dataDir);
        await node.start();
      };
      const killServer = async () => {
        const signing = watch.signNow({ mayFail: true });
        await sleep(Math.random() * 600);
        await server.restart();
        reportTries({ kills: 1 });
        await signing;
      };
      const [first, second, third] = nodes as [ClusterNode, ClusterNode, ClusterNode];
      const acts = [
        ...[first, second, third].map((node) => () => killNode(node)),
        killServer,
        () => withoutServer(first, "cut", watch.apiKey),
        () => withoutServer(second, "silence", watch.apiKey),
      ];
      for (let round = 0; round < roundCount(1); round++)
        for (const act of acts) {
          await watch.isUnderWay();
          await act();
        }
      await watch.stop();
      for (const node of nodes) {
        await node.stop();
        await watch.keepHead(node.dataDir);
      }
      // If the leader was killed last, no checkpoint covers the newest attestations.
      await watch.signNow();
      await first.start();
      await watch.compare();
    } finally {
      await cluster.close();
    }
  },
  timeLimit(180_000),
);
