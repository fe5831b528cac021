import { expect, test } from "bun:test";
import { type ClusterNode, startCluster } from "../harness/cluster.ts";
import { eventually } from "../harness/eventually.ts";
import { noServer } from "../harness/sqld.ts";
import { readTryCount } from "../harness/trial.ts";
import { type FaultyServices, playRounds } from "./services.ts";

test.skipIf(noServer !== undefined)(
  "the answers of three nodes that share a server are linearizable while faults kill or cut off nodes",
  async () => {
    const cluster = await startCluster({ nodes: 3, args: [] });
    const { register, nodes, server } = cluster;
    const running = new Set(nodes);
    const healthOf = async ({ url }: ClusterNode) => {
      const response = await fetch(`${url}/v1/inter-agency/health`).catch(String);
      return typeof response === "string" ? response : `${response.status} ${await response.text()}`;
    };
    const fails: ((node: ClusterNode, more: (calls: number) => Promise<void>) => Promise<unknown>)[] = [
      async (node) => {
        running.delete(node);
        await node.stop("SIGKILL");
        await node.start();
        running.add(node);
      },
      async ({ link }, more) => {
        link.cut();
        await more(30);
        link.heal();
      },
      async ({ link }, more) => {
        link.silence();
        await more(30);
        link.heal();
      },
    ];
    let turn = 0;
    const serving: FaultyServices = {
      ...{ register, masterKey: register.env.TVS_MASTER_KEY ?? "", isSure: false },
      async url(random) {
        const some = [...running];
        return some[random(some.length)]?.url ?? "";
      },
      async fail(random, more) {
        const node = nodes[random(nodes.length)] as ClusterNode;
        await fails[turn++ % fails.length]?.(node, more);
        // Waits until the node notices that the server hangs.
        await eventually(async () => (await healthOf(node)).startsWith("200"), 120_000);
        expect(await healthOf(node)).toStartWith("200");
      },
      async revive() {
        await server.restart();
      },
    };
    try {
      // A tenth of the calls, because each takes several times as long as with a database file.
      const operations = readTryCount("TVS_OPERATIONS", 10_000) / 10;
      const faults = readTryCount("TVS_KILLS", 3);
      expect(await playRounds(serving, { operations, faults })).toEqual([]);
    } finally {
      await cluster.close();
    }
  },
  7_200_000,
);
