import { describe, expect, test } from "bun:test";
import { judgeDatabaseClock, judgeNodes } from "../../../cli/doctor/nodes.ts";
import { withTempDir } from "../../harness/folder.ts";
import { runTvs } from "../../harness/program.ts";
import { aNode } from "../../harness/samples.ts";
import { withTestOperator } from "../../harness/service.ts";

const pendingKid = "a-kid";
const [one, two] = [aNode({ url: "http://one:8080" }), aNode({ url: "http://two:8080" })];

const judged = (nodes: Parameters<typeof judgeNodes>[0]["nodes"]) =>
  Object.fromEntries(judgeNodes({ nodes, pendingKid }).map((check) => [check.name, check]));

describe("the nodes that doctor finds", () => {
  test("are as they should be when they live, agree and have loaded the pending key", () => {
    const checks = judged([one, two]);
    expect(Object.values(checks).map(({ name, result, found }) => [name, result, found])).toEqual([
      ["nodes", "ok", "2 live"],
      ["node-versions", "ok", "all run 1.0.0"],
      ["node-clocks", "ok", "every clock is within 2 s"],
      ["node-keys", "ok", "all have loaded the pending key"],
    ]);
  });

  test("are not compared where none serves", () => {
    expect(judgeNodes({ nodes: [], pendingKid })).toMatchObject([{ result: "ok", found: "0 live" }]);
  });

  test("are warned of when one is gone, whatever it had loaded", () => {
    const { nodes, ...others } = judged([one, { ...two, state: "gone", version: "0.9.0", pendingKid: null }]);
    expect(nodes).toMatchObject({ result: "warn", found: "1 live, 1 gone without an end: http://two:8080" });
    expect(Object.values(others).map(({ result }) => result)).toEqual(["ok", "ok", "ok"]);
  });

  test("are warned of while a rolling upgrade is not finished", () => {
    expect(judged([one, { ...two, version: "1.1.0" }])["node-versions"]).toMatchObject({
      result: "warn",
      found: "1.0.0 at http://one:8080; 1.1.0 at http://two:8080",
    });
  });

  test("are warned of by their clocks, and fail where partners are refused", () => {
    const clocks = (ms: number) => judged([one, { ...two, clockAheadMs: ms }])["node-clocks"];
    expect(clocks(-2_000)?.result).toBe("ok");
    const found = "http://two:8080 is 3 s behind the database's";
    expect(clocks(-3_000)).toMatchObject({ result: "warn", found });
    expect(clocks(31_000)).toMatchObject({ result: "fail" });
  });

  test("are warned of when one has not loaded the pending key, which a rotation would wait for", () => {
    expect(judged([one, { ...two, pendingKid: "another" }])["node-keys"]).toMatchObject({
      result: "warn",
      found: "the pending key is not loaded by http://two:8080",
      advice: expect.stringContaining("tvs keys rotate"),
    });
  });

  test("stand in what tvs doctor says", () =>
    withTempDir(async (dataDir) => {
      await withTestOperator(dataDir, async ({ driver, stores: { nodes } }) => {
        await driver.lockService();
        await nodes.beat({ ...one, pendingKid: null });
        const { stdout } = await runTvs(["doctor", "--json"], { dataDir });
        const { checks } = JSON.parse(stdout) as { checks: { name: string; result: string }[] };
        const results = checks.filter(({ name }) => /^node|^database-clock/.test(name));
        expect(results.map(({ name, result }) => `${name}: ${result}`)).toEqual([
          "nodes: ok",
          "node-versions: ok",
          "node-clocks: ok",
          "node-keys: warn",
        ]);
      });
    }));
});

describe("this machine's clock beside the database's", () => {
  test("may be off by two seconds, is warned of beyond, and fails where commands are refused", () => {
    expect(judgeDatabaseClock(2_000).result).toBe("ok");
    expect(judgeDatabaseClock(-2_001)).toMatchObject({
      result: "warn",
      found: "this machine's clock is 2 s behind the database's",
    });
    expect(judgeDatabaseClock(30_001)).toMatchObject({ result: "fail" });
  });
});
