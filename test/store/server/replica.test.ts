import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Driver, statement } from "../../../src/store/driver/driver.ts";
import { migrate } from "../../../src/store/driver/migrations.ts";
import { createNodeStore } from "../../../src/store/nodes.ts";
import { openRemote } from "../../../src/store/server/remote.ts";
import { openReplica, type ReplicaReader } from "../../../src/store/server/replica.ts";
import { databaseNow } from "../../../src/store/server/served.ts";
import { createTeacherReader, createTeacherStore } from "../../../src/store/teachers.ts";
import { until } from "../../harness/eventually.ts";
import { type FaultProxy, startFaultProxy } from "../../harness/fault-proxy.ts";
import { freePort } from "../../harness/free-port.ts";
import { rejection } from "../../harness/rejection.ts";
import { planImport } from "../../harness/samples.ts";
import { noServer, startServer, type TestServer } from "../../harness/sqld.ts";

const mark = { name: "master_key_check", value: "of this register" };
const self = {
  nodeId: "n",
  host: "h",
  url: "http://h",
  version: "1",
  clockAheadMs: 0,
  pendingKid: null,
  consolePort: null,
};

describe.skipIf(noServer !== undefined)("lookups from a replica", () => {
  let primary: TestServer;
  let replica: TestServer;
  let link: FaultProxy;
  let driver: Driver;
  let reader: ReplicaReader;
  let answers = false;
  let requests = 0;

  const open = (changes: Partial<Parameters<typeof openReplica>[0]> = {}) =>
    openReplica({
      url: replica.url,
      primary: driver,
      mark,
      onRequest: () => requests++,
      onChange: (isNear) => {
        answers = isNear;
      },
      ...changes,
    });

  beforeAll(async () => {
    const grpc = await freePort();
    primary = await startServer({ args: ["--grpc-listen-addr", `127.0.0.1:${grpc}`] });
    link = await startFaultProxy(`http://127.0.0.1:${grpc}`);
    replica = await startServer({ args: ["--primary-grpc-url", link.url] });
    driver = await openRemote({ url: primary.url });
    await migrate(driver, 1_700_000_000_000);
    await driver.batch([
      statement("INSERT INTO settings (name, value) VALUES (?, ?)", [mark.name, mark.value]),
    ]);
    await put("LA/2019/PRI/00001", "Ada Obi");
    reader = await open();
  });
  afterAll(async () => {
    reader.close();
    await driver.close();
    await link.close();
    await replica.stop();
    await primary.stop();
  });
  beforeEach(async () => {
    await beat();
    await untilAnswers(true);
  });

  const beat = () => createNodeStore(driver).beat(self);
  const put = (regNo: string, name: string) =>
    createTeacherStore(driver).apply([planImport(regNo, { name }, 1_700_000_000_000)]);
  const nameOf = async (regNo = "LA/2019/PRI/00001") =>
    (await createTeacherReader(reader).find({ by: "regNo", value: regNo }))?.name;
  const untilAnswers = (wanted: boolean) =>
    until(async () => {
      await reader.look();
      return answers === wanted;
    });

  /** How many requests to the replica it takes. */
  async function asked(act: () => Promise<unknown>): Promise<number> {
    const before = requests;
    await act();
    return requests - before;
  }

  test("are answered by it while a node's sign of life is young there", async () => {
    expect(await asked(async () => expect(await nameOf()).toBe("Ada Obi"))).toBe(1);
  });

  test("are answered by the primary while the newest sign there is old", async () => {
    await driver.batch([statement(`UPDATE nodes SET seen_at = ${databaseNow} - 6000`)]);
    await untilAnswers(false);
    expect(await asked(async () => expect(await nameOf()).toBe("Ada Obi"))).toBe(0);
  });

  test("are answered by the primary from the moment at which a replica that is held back is too old", async () => {
    await driver.batch([statement(`UPDATE nodes SET seen_at = ${databaseNow} - 4000`)]);
    await until(async () => (await readAt(replica.url)) < Date.now() - 3_900);
    link.silence();
    await put("LA/2019/PRI/00002", "Bola Ade");
    await beat();
    await until(async () => {
      const name = await nameOf("LA/2019/PRI/00002");
      return name === "Bola Ade";
    });
    expect(answers).toBe(false);
    link.heal();
    await untilAnswers(true);
    expect(await asked(async () => expect(await nameOf("LA/2019/PRI/00002")).toBe("Bola Ade"))).toBe(1);
  });

  test("are answered by the primary when it is stopped, and by it again when it is back", async () => {
    await replica.kill();
    expect(await nameOf()).toBe("Ada Obi");
    expect(answers).toBe(false);
    await replica.restart();
    await beat();
    await untilAnswers(true);
    expect(await nameOf()).toBe("Ada Obi");
  });

  test("are never answered by a replica of another register", async () => {
    let other = false;
    const elsewhere = await open({
      mark: { ...mark, value: "of another" },
      onChange: (isNear) => {
        other = isNear;
      },
    });
    await elsewhere.look();
    expect(other).toBe(false);
    elsewhere.close();
  });

  test("wait for no replica that is not there, and are refused one that is no libSQL server", async () => {
    const away = await open({ url: `http://127.0.0.1:${await freePort()}` });
    expect(await away.query("SELECT 1 AS one")).toHaveLength(1);
    away.close();
    const web = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("<html>") });
    const error = await rejection(open({ url: web.url.origin }));
    expect(error).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining("--read-from") });
    await web.stop(true);
  });
});

/** When the newest sign of life was given, as a server has it. */
async function readAt(url: string): Promise<number> {
  const sql = "SELECT max(seen_at) AS seen FROM nodes";
  const body = JSON.stringify({ requests: [{ type: "execute", stmt: { sql } }, { type: "close" }] });
  const reply = (await (await fetch(`${url}/v2/pipeline`, { method: "POST", body })).json()) as {
    results: [{ response: { result: { rows: [[{ value: string }]] } } }];
  };
  return Number(reply.results[0].response.result.rows[0][0].value);
}
