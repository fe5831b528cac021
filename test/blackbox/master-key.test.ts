import { describe, expect, test } from "bun:test";
import { cp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runTvs } from "../harness/program.ts";
import type { KeyInfo } from "./contract.ts";
import { addPartner, expectOneLine, sharedUsedFolder } from "./used-folder.ts";

const folder = sharedUsedFolder();

test("two first commands at once agree on one register", async () => {
  const data = folder.freshPath();
  const both = await Promise.all(["one", "other"].map((id) => addPartner(id, ["--data", data])));
  expect(both.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual([0, 0]);
  expect(both.filter(({ stderr }) => stderr.includes("created a new register"))).toHaveLength(1);
  const keys = (await runTvs(["keys", "list", "--json", "--data", data])).json<KeyInfo[]>();
  expect(keys.map(({ state }) => state).sort()).toEqual(["active", "pending"]);
  const partners = await runTvs(["partners", "list", "--json", "--data", data]);
  expect(partners.json<unknown[]>()).toHaveLength(2);
});

describe.concurrent("master key", () => {
  test("missing beside a database is refused, and no other one is made", async () => {
    const data = await folder.copyOfUsed();
    const key = (await readFile(join(data, "master.key"), "utf8")).trim();
    await rm(join(data, "master.key"));
    for (const words of [
      ["partners", "list"],
      ["keys", "rotate", "--now"],
      ["serve", "--port", "0"],
    ]) {
      const refused = await runTvs([...words, "--data", data]);
      expectOneLine(refused, 1);
      expect(refused.stderr).toContain("master.key");
    }
    expect(await stat(join(data, "master.key")).catch(() => null)).toBeNull();
    const given = await runTvs(["keys", "list", "--data", data], { env: { TVS_MASTER_KEY: key } });
    expect(given.code).toBe(0);
  });

  test("of another database is refused, in its file and in TVS_MASTER_KEY", async () => {
    const data = await folder.copyOfUsed();
    const other = folder.freshPath();
    await addPartner("board", ["--data", other]);
    const wrong = (await readFile(join(other, "master.key"), "utf8")).trim();
    const inVariable = await runTvs(["keys", "list", "--data", data], { env: { TVS_MASTER_KEY: wrong } });
    expectOneLine(inVariable, 1);
    expect(inVariable.stderr).not.toContain(wrong);
    await cp(join(other, "master.key"), join(data, "master.key"));
    expectOneLine(await runTvs(["serve", "--port", "0", "--data", data]), 1);
  });

  test.each(["", "short", "%%%%"])("that is damaged is refused: %p", async (text) => {
    const data = await folder.copyOfUsed();
    await writeFile(join(data, "master.key"), text);
    const refused = await runTvs(["keys", "list", "--data", data]);
    expectOneLine(refused, 1);
  });
});
