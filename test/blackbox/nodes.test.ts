/** Tests that need several nodes: one register, three services, and commands that run at the same time. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generateMasterKey } from "../../src/domain/secrets.ts";
import { leaderLeaseMs } from "../../src/store/leader.ts";
import { addPartner as addPartnerTo } from "../faults/register.ts";
import { type Cluster, type ClusterNode, startCluster } from "../harness/cluster.ts";
import { withEndpoint } from "../harness/endpoint.ts";
import { until, waitForAnswer } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { csv } from "../harness/imports.ts";
import { runJson, runTvs, runWell, testTimeoutMs } from "../harness/program.ts";
import { expectRefusal } from "../harness/refusal.ts";
import { noServer, startServer } from "../harness/sqld.ts";
import { teacher } from "./registry.ts";
import { api } from "./world.ts";

setDefaultTimeout(3 * testTimeoutMs);

const rows = Array.from({ length: 3 }, (_, at) => teacher(`NO/DE/2024/0000${at}`, { t_id: `777000${at}` }));

let cluster: Cluster;
let nodes: readonly ClusterNode[];
let partners = 0;

const tvs = (...words: string[]) => runTvs(words, cluster.register);
const tvsJson = <T>(...words: string[]) => runJson<T>(words, cluster.register);

/** Sends each request over a connection of its own, so that a restarted node can be asked. */
function ask(node: ClusterNode, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...(init.headers as Record<string, string>), Connection: "close" };
  return fetch(node.url + path, { ...init, headers, keepalive: false });
}

/** Adds a partner, and waits until all nodes know it. @returns the partner, with a function that sends its checks */
async function addPartner() {
  const id = `agency-${++partners}`;
  const headers = { Authorization: `Bearer ${await addPartnerTo(cluster.register, id, 100_000)}` };
  const check = (node: ClusterNode, regNo = rows[0]?.reg_no) =>
    ask(node, `${api}/eligibility-check`, {
      method: "POST",
      headers,
      body: JSON.stringify({ identifier: { regNo }, purpose: "GENERAL_PUBLIC_VERIFICATION" }),
    });
  const isKnown = async (node: ClusterNode) => (await ask(node, `${api}/me`, { headers })).status === 200;
  await until(async () => (await Promise.all(nodes.map(isKnown))).every(Boolean));
  return { id, check };
}

const withFile = <T>(name: string, text: string, act: (file: string) => Promise<T>) =>
  withTempDir(async (folder) => {
    const file = join(folder, name);
    await writeFile(file, text);
    return act(file);
  });

function leader(): ClusterNode | undefined {
  return nodes.find((node) => node.stderr().includes("this service leads"));
}

describe.skipIf(noServer !== undefined)("three nodes over one libSQL server", () => {
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 3, args: ["--allow-private-webhooks"] });
    nodes = cluster.nodes;
    await withFile("extract.csv", csv(rows), (file) =>
      runWell(["teachers", "import", file], cluster.register),
    );
  });
  afterAll(() => cluster?.close());

  test("another node takes over the lead and the deliveries of a killed leader as soon as the killed leader's lease has ended", async () => {
    const answer = (_: unknown, count: number) => (count === 1 ? null : { status: 204 });
    await withEndpoint(answer, async ({ url, received }) => {
      const partner = await addPartner();
      const killed = (await waitForAnswer(async () => leader(), Boolean)) as ClusterNode;
      const others = nodes.filter((node) => node !== killed);
      await tvsJson("partners", "webhook", "set", partner.id, url);
      // This node gets the deliveries, because the other nodes are suspended.
      for (const node of others) node.signal("SIGSTOP");
      expect((await tvs("partners", "webhook", "test", partner.id)).code).toBe(0);
      await until(() => received.length === 1);
      await killed.stop("SIGKILL");
      const killedAt = performance.now();
      for (const node of others) node.signal("SIGCONT");
      await until(() => others.some((node) => node.stderr().includes("this service leads")), testTimeoutMs);
      // The killed leader's lease has to end first. Then another node leads within two seconds.
      expect(performance.now() - killedAt).toBeLessThan(leaderLeaseMs + 2_000);
      for (const node of others) expect((await partner.check(node)).status).toBe(200);
      await until(() => received.length === 2, 2 * testTimeoutMs);
      const ids = received.map(({ headers }) => headers["x-agency-event-id"]);
      expect(ids).toEqual([ids[0], ids[0]]);
      await killed.start();
      expect((await partner.check(killed)).status).toBe(200);
    });
  });

  test("the last running node becomes the leader, and refuses a node with another issuer", async () => {
    const [first, ...others] = nodes as [ClusterNode, ...ClusterNode[]];
    expect(await Promise.all(others.map((node) => node.stop()))).toEqual([0, 0]);
    expect((await ask(first, `${api}/health`)).status).toBe(200);
    await until(() => first.stderr().includes("this service leads"));
    const another = ["serve", "--port", "0", "--issuer", "https://another.example"];
    await expectRefusal(
      runTvs(another, cluster.register),
      1,
      "with --issuer https://teachers.example, and this one would with",
    );
  });
});

test.skipIf(noServer !== undefined)(
  "a node whose folder has a master key is refused on an empty libSQL server",
  () =>
    withTempDir(async (dataDir) => {
      const empty = await startServer();
      await writeFile(join(dataDir, "master.key"), `${generateMasterKey()}\n`, { mode: 0o600 });
      const serve = ["serve", "--port", "0", "--issuer", "https://a.example"];
      const refused = runTvs(serve, { dataDir, env: { TVS_DATABASE: empty.url } });
      await expectRefusal(refused, 1, `the database at ${empty.url} is empty`);
      await empty.stop();
    }),
);
