import { describe, expect, test } from "bun:test";
import { judgeDatabaseClock, judgeLoaded } from "../../../cli/doctor/database.ts";
import { runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { aNode } from "../../harness/samples.ts";
import { withTestOperator } from "../../harness/service.ts";

const pendingKid = "a-kid";
const [one, two] = [aNode({ url: "http://one:8080" }), aNode({ url: "http://two:8080" })];

describe("the nodes that doctor finds", () => {
  test("are warned of when one has not loaded the pending key, which a rotation would wait for", () => {
    expect(judgeLoaded([one, two], pendingKid)).toMatchObject({ name: "node-keys", result: "ok" });
    expect(judgeLoaded([one, { ...two, pendingKid: "another" }], pendingKid)).toMatchObject({
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
