import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runTvs, type Service, startService } from "../harness/program.ts";
import type { KeyInfo } from "./contract.ts";
import { addPartner, expectOneLine, sharedUsedFolder } from "./used-folder.ts";

const folder = sharedUsedFolder();

describe.concurrent("data folder", () => {
  test("is made for its owner alone, with database, master key and two signing keys, and that is said", async () => {
    const data = join(folder.freshPath(), "nested");
    const { code, stderr } = await addPartner("board", ["--json", "--data", data]);
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

  test("is ./data when nothing else is said", async () => {
    const cwd = folder.freshPath("cwd");
    await mkdir(cwd);
    const added = await addPartner("board", [], { cwd });
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
    await addPartner("board", ["--data", other]);
    const flagged = await runTvs(["keys", "list", "--json", "--data", other], { env });
    expect(flagged.json<KeyInfo[]>()).not.toEqual(kids);
  });

  test("--database names the file, TVS_DATABASE too", async () => {
    const file = join(folder.freshPath(), "registry.db");
    const [flag, env] = [["--database", `file:${file}`], { TVS_DATABASE: `file:${file}` }];
    const data = folder.freshPath();
    await addPartner("board", ["--data", data, ...flag]);
    const keys = (await runTvs(["keys", "list", "--json", "--data", data, ...flag])).json<KeyInfo[]>();
    expect((await stat(file)).isFile()).toBe(true);
    expect((await runTvs(["keys", "list", "--json", "--data", data], { env })).json<KeyInfo[]>()).toEqual(
      keys,
    );
  });

  test("the sandbox keeps to a database of its own", async () => {
    const data = await folder.copyOfUsed();
    const configuration = (await runTvs(["keys", "list", "--json", "--data", data])).json<KeyInfo[]>();
    await addPartner("board", ["--data", data, "--sandbox"]);
    const sandbox = (await runTvs(["keys", "list", "--json", "--data", data, "--sandbox"])).json<KeyInfo[]>();
    expect(sandbox.map(({ kid }) => kid)).not.toEqual(configuration.map(({ kid }) => kid));
    expect((await stat(join(data, "sandbox.db"))).isFile()).toBe(true);
    const mixed = await runTvs(["keys", "list", "--sandbox", "--database", `file:${join(data, "tvs.db")}`]);
    expectOneLine(mixed, 1);
  });

  test("a file in its place, or in the place of a folder above it, is told in one line", async () => {
    const file = folder.freshPath("file");
    await writeFile(file, "not a folder");
    for (const data of [file, join(file, "data")]) {
      expectOneLine(await runTvs(["keys", "list", "--data", data]), 2);
      expectOneLine(await addPartner("board", ["--data", data]), 1);
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

  test("admits one service; after a kill -9 the next starts at once", async () => {
    const dataDir = await folder.copyOfUsed();
    const isHealthy = async ({ url }: Service) => (await fetch(`${url}/v1/inter-agency/health`)).ok;
    const first = await startService({ dataDir });
    expectOneLine(await runTvs(["serve", "--port", "0", "--data", dataDir]), 1);
    expect(await isHealthy(first)).toBe(true);
    await first.stop("SIGKILL");
    const next = await startService({ dataDir });
    expect(await isHealthy(next)).toBe(true);
    expect(await next.stop()).toBe(0);
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
