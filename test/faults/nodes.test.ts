import { expect, test } from "bun:test";
import { startCluster } from "../harness/cluster.ts";
import { noServer } from "../harness/sqld.ts";
import { startLoad } from "./keyed-load.ts";
import { broken } from "./killed.ts";
import { makeFault } from "./node-faults.ts";
import { addPartner, importTeachers, openDatabase } from "./register.ts";

// With three nodes, a proxy, webhooks, links that fail and a rolling release, by itself: bun test/faults/nodes.ts 10.
test.skipIf(noServer !== undefined)(
  "two nodes of which one is killed, over a server that is killed, lose nothing and do nothing twice",
  async () => {
    const cluster = await startCluster({ nodes: 2, args: ["--threads", "1"] });
    try {
      const { register, nodes } = cluster;
      await importTeachers(register, 20);
      const [big, small] = [await addPartner(register, "big", 1e8), await addPartner(register, "small", 25)];
      let turn = 0;
      const load = startLoad({
        url: () => nodes[turn++ % nodes.length]?.url ?? "",
        teachers: 20,
        callers: [
          { apiKey: big, partnerId: "big", count: 8, perMinute: null },
          { apiKey: small, partnerId: "small", count: 2, perMinute: 25 },
        ],
      });
      const world = { cluster, load, apiKey: big };
      for (const [n, kind] of (["a node killed", "the server killed"] as const).entries()) {
        const node = nodes[n];
        if (node !== undefined) await makeFault(kind, world, node);
      }
      await load.stop();
      expect(load.failures.length).toBeGreaterThan(0);
      const database = await openDatabase(register);
      const found = await load.judge(database);
      await database.close();
      expect(broken(found)).toEqual({});
    } finally {
      await cluster.close();
    }
  },
  120_000,
);
