import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { hostname } from "node:os";
import { join } from "node:path";
import { openOperator } from "../../../cli/open.ts";
import packageJson from "../../../package.json" with { type: "json" };
import { readConfig } from "../../../src/config.ts";
import { nodeTimes } from "../../../src/domain/nodes.ts";
import { runTvs } from "../../harness/command.ts";
import { until } from "../../harness/eventually.ts";
import { makeFolder, withTempDir } from "../../harness/folder.ts";
import { patienceMs, startService } from "../../harness/program.ts";
import { aNode } from "../../harness/samples.ts";
import { makeRegister } from "../../harness/service.ts";
import { noServer, startServer } from "../../harness/sqld.ts";

setDefaultTimeout(patienceMs);

const isoTime = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);

test("tvs nodes list shows nobody where nobody serves", () =>
  withTempDir(async (dataDir) => {
    await makeRegister(dataDir);
    expect(await runTvs(["nodes", "list", "--json"], { dataDir })).toMatchObject({ code: 0, stdout: "[]\n" });
    const { code, stdout } = await runTvs(["nodes", "list"], { dataDir });
    expect([code, stdout.trim().split("\n")]).toEqual([0, [expect.stringMatching(/^URL +HOST +VERSION/)]]);
  }));

test("a service is live while it runs, gone when it was killed, and nowhere when it ended", async () => {
  const folder = await makeFolder();
  const dataDir = folder.path;
  const list = async () => JSON.parse((await runTvs(["nodes", "list", "--json"], { dataDir })).stdout);
  const { version } = packageJson;
  try {
    await makeRegister(dataDir);
    const killed = await startService({ dataDir });
    const listed = await list();
    expect(listed).toEqual([
      {
        nodeId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        host: hostname(),
        url: killed.url,
        version,
        startedAt: isoTime,
        seenAt: isoTime,
        state: "live",
      },
    ]);
    const table = (await runTvs(["nodes", "list"], { dataDir })).stdout;
    expect(table.trim().split("\n")[1]).toMatch(/ live +right +keeps house$/);
    await killed.stop("SIGKILL");
    expect(await list()).toEqual([{ ...listed[0], seenAt: isoTime, state: "gone" }]);
    const status = await runTvs(["status"], { dataDir });
    expect(status.stdout).toMatch(new RegExp(`^nodes +1 gone \\(${version}\\)$`, "m"));

    const next = await startService({ dataDir });
    expect(await list()).toMatchObject([{ url: next.url, state: "live" }]);
    await next.stop();
    expect(await list()).toEqual([]);
  } finally {
    await folder.remove();
  }
});

test.skipIf(noServer !== undefined)(
  "the table says whose clock is wrong, and status how many run which version",
  async () => {
    const [server, folder] = [await startServer(), await makeFolder()];
    const env = { TVS_DATABASE: server.url, TVS_DATA: folder.path };
    const operator = await openOperator(readConfig({}, env), { whenMade: () => {} });
    const { driver, stores } = operator;
    const { nodes } = stores;
    try {
      await nodes.beat(aNode({ nodeId: "1", url: "http://one:1", version: "1.4.0", clockAheadMs: 20_400 }));
      await nodes.beat(aNode({ nodeId: "2", url: "http://two:2", version: "1.3.0", clockAheadMs: -2_600 }));
      await nodes.beat(aNode({ nodeId: "3", url: "http://three:3", version: "1.3.0" }));
      await driver.batch([
        { sql: "UPDATE nodes SET seen_at = seen_at - 11000 WHERE node_id = '3'", args: [] },
      ]);
      const { stdout } = await runTvs(["nodes", "list"], { env });
      const [, first, second, third] = stdout.trim().split("\n");
      expect(first).toMatch(/^http:\/\/one:1 .* live +20 s ahead +keeps house$/);
      expect(second).toMatch(/^http:\/\/two:2 .* live +3 s behind +-$/);
      expect(third).toMatch(/^http:\/\/three:3 .* gone +right +-$/);
      const status = (await runTvs(["status"], { env })).stdout;
      expect(status).toMatch(/^nodes +2 live \(1\.4\.0 and 1\.3\.0\), 1 gone \(1\.3\.0\)$/m);
    } finally {
      await driver.close();
      await Promise.all([server.stop(), folder.remove()]);
    }
  },
);

test("an idle sandbox writes nothing into its database, and is seen as it runs", async () => {
  const folder = await makeFolder();
  const dataDir = join(folder.path, "data");
  const sandbox = ["--sandbox"];
  const service = await startService({ dataDir, args: [...sandbox, "--threads", "2"] });
  const database = new Database(join(dataDir, "sandbox.db"));
  try {
    // What the start itself writes is over soon; then nothing may come for longer than two beats of a node of several.
    const stand = () => JSON.stringify(database.query("PRAGMA data_version").get());
    let last = { stand: "", at: 0 };
    await until(() => {
      const found = stand();
      if (found !== last.stand) last = { stand: found, at: performance.now() };
      return performance.now() - last.at > 2.5 * nodeTimes.beatMs;
    });
    const listed = await runTvs(["nodes", "list", "--json", ...sandbox], { dataDir });
    expect(JSON.parse(listed.stdout)).toMatchObject([{ url: service.url, state: "live" }]);
    const [{ seenAt, startedAt }] = JSON.parse(listed.stdout);
    expect(Date.parse(seenAt) - Date.parse(startedAt)).toBeGreaterThan(2 * nodeTimes.beatMs);
    const status = await runTvs(["status", ...sandbox], { dataDir });
    expect(status.stdout).toMatch(/^nodes +1 live/m);
  } finally {
    database.close();
    await service.stop();
    await folder.remove();
  }
});
