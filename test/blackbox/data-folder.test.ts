import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cp, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { patienceMs, runTvs } from "../harness/program.ts";
import type { KeyInfo } from "./contract.ts";
import { expectOneLine, makeUsedFolder, type UsedFolder } from "./used-folder.ts";

setDefaultTimeout(patienceMs);

let folder: UsedFolder;

const terms = ["--scopes", "all", "--purposes", "all", "--per-minute", "10", "--per-day", "10"];
/** A command that makes a register where there is none. */
const addPartner = (id: string, ...words: string[]) =>
  runTvs(["partners", "add", id, "--name", "Board", ...terms, ...words]);

beforeAll(async () => {
  folder = await makeUsedFolder();
});

afterAll(() => folder?.remove());

describe.concurrent("data folder", () => {
  test("is made for its owner alone, with database, master key and two signing keys, and that is said", async () => {
    const data = join(folder.freshPath(), "nested");
    const { code, stderr } = await addPartner("board", "--json", "--data", data);
    expect({ code, said: stderr.split("\n")[0] }).toEqual({
      code: 0,
      said: `created a new register in ${data}`,
    });
    const keys = (await runTvs(["keys", "list", "--json", "--data", data])).json<KeyInfo[]>();
    expect(keys.map(({ state }) => state).sort()).toEqual(["active", "pending"]);
    const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
    expect(await modeOf(data)).toBe("700");
    expect(await modeOf(join(data, "master.key"))).toBe("600");
    expect((await stat(join(data, "tvs.db"))).isFile()).toBe(true);
    const again = (await runTvs(["keys", "list", "--json", "--data", data])).json<KeyInfo[]>();
    expect(again).toEqual(keys);
  });

  test("two first commands at once agree on one", async () => {
    const data = folder.freshPath();
    const both = await Promise.all(["one", "other"].map((id) => addPartner(id, "--data", data)));
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(both.filter(({ stderr }) => stderr.includes("created a new register"))).toHaveLength(1);
    const keys = (await runTvs(["keys", "list", "--json", "--data", data])).json<KeyInfo[]>();
    expect(keys.map(({ state }) => state).sort()).toEqual(["active", "pending"]);
    const partners = await runTvs(["partners", "list", "--json", "--data", data]);
    expect(partners.json<unknown[]>()).toHaveLength(2);
  });

  test("is ./data when nothing else is said", async () => {
    const cwd = folder.freshPath("cwd");
    await mkdir(cwd);
    const added = await runTvs(["partners", "add", "board", "--name", "Board", ...terms], { cwd });
    expect(added.code).toBe(0);
    expect((await stat(join(cwd, "data", "tvs.db"))).isFile()).toBe(true);
  });

  test("may stand before the command, and in TVS_DATA; the flag counts more", async () => {
    const kids = (await runTvs(["keys", "list", "--json", "--data", folder.used])).json<KeyInfo[]>();
    expect((await runTvs(["--data", folder.used, "--json", "keys", "list"])).json<KeyInfo[]>()).toEqual(kids);
    expect((await runTvs([`--data=${folder.used}`, "keys", "list", "--json"])).json<KeyInfo[]>()).toEqual(
      kids,
    );
    const env = { TVS_DATA: folder.used };
    expect((await runTvs(["keys", "list", "--json"], { env })).json<KeyInfo[]>()).toEqual(kids);
    const other = folder.freshPath();
    await addPartner("board", "--data", other);
    const flagged = await runTvs(["keys", "list", "--json", "--data", other], { env });
    expect(flagged.json<KeyInfo[]>()).not.toEqual(kids);
  });

  test("--database names the file, TVS_DATABASE too", async () => {
    const file = join(folder.freshPath(), "registry.db");
    const [flag, env] = [["--database", `file:${file}`], { TVS_DATABASE: `file:${file}` }];
    const data = folder.freshPath();
    await addPartner("board", "--data", data, ...flag);
    const keys = (await runTvs(["keys", "list", "--json", "--data", data, ...flag])).json<KeyInfo[]>();
    expect((await stat(file)).isFile()).toBe(true);
    expect((await runTvs(["keys", "list", "--json", "--data", data], { env })).json<KeyInfo[]>()).toEqual(
      keys,
    );
  });

  test("the sandbox keeps to a database of its own", async () => {
    const data = await folder.copyOfUsed();
    const live = (await runTvs(["keys", "list", "--json", "--data", data])).json<KeyInfo[]>();
    await addPartner("board", "--data", data, "--sandbox");
    const sandbox = (await runTvs(["keys", "list", "--json", "--data", data, "--sandbox"])).json<KeyInfo[]>();
    expect(sandbox.map(({ kid }) => kid)).not.toEqual(live.map(({ kid }) => kid));
    expect((await stat(join(data, "sandbox.db"))).isFile()).toBe(true);
    const mixed = await runTvs(["keys", "list", "--sandbox", "--database", `file:${join(data, "tvs.db")}`]);
    expectOneLine(mixed, 1);
  });

  test("a file in its place, or in the place of a folder above it, is told in one line", async () => {
    const file = folder.freshPath("file");
    await writeFile(file, "not a folder");
    for (const data of [file, join(file, "data")]) {
      expectOneLine(await runTvs(["keys", "list", "--data", data]), 2);
      expectOneLine(await addPartner("board", "--data", data), 1);
    }
  });

  test("a database that is none, is cut off, or belongs to another program", async () => {
    const garbage = await folder.copyOfUsed();
    for (const name of ["tvs.db-wal", "tvs.db-shm"]) await rm(join(garbage, name), { force: true });
    await writeFile(join(garbage, "tvs.db"), "x".repeat(10_000));
    expectOneLine(await runTvs(["keys", "list", "--data", garbage]), 1);

    const foreign = folder.freshPath();
    await mkdir(foreign);
    const database = new Database(join(foreign, "tvs.db"));
    database.run("CREATE TABLE songs (title TEXT)");
    database.close();
    expectOneLine(await runTvs(["keys", "list", "--data", foreign]), 1);
  });

  test("a database that a newer program has used is refused", async () => {
    const data = await folder.copyOfUsed();
    const database = new Database(join(data, "tvs.db"));
    database.run(
      "INSERT INTO schema_migrations SELECT MAX(version) + 1, sha256, applied_at FROM schema_migrations",
    );
    database.close();
    for (const words of [
      ["keys", "list"],
      ["serve", "--port", "0"],
    ]) {
      const refused = await runTvs([...words, "--data", data]);
      expectOneLine(refused, 1);
      expect(refused.stderr).toContain("newer");
    }
  });
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
    await addPartner("board", "--data", other);
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
