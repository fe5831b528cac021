import { expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { prepareOutputFile } from "../../../cli/safe/output-file.ts";
import { type Config, readCommandConfig } from "../../../src/config.ts";
import { runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { csv, row } from "../../harness/imports.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { catchError } from "../../harness/rejection.ts";
import { makeRegister } from "../../harness/service.ts";

type World = {
  readonly folder: string;
  readonly dataDir: string;
  readonly extract: string;
  run(...words: string[]): ReturnType<typeof runTvs>;
};

function withRegister(act: (world: World) => Promise<void>): Promise<void> {
  return withTempDir(async (folder) => {
    const dataDir = join(folder, "data");
    const [first, extract] = [join(folder, "first.csv"), join(folder, "extract.csv")];
    fs.writeFileSync(first, csv([row(1)]));
    fs.writeFileSync(extract, csv([row(2)]));
    const run = (...words: string[]) => runTvs(words, { dataDir });
    await makeRegister(dataDir);
    expect((await run("teachers", "import", first)).code).toBe(0);
    await act({ folder, dataDir, extract, run });
  });
}

async function teachersIn({ run }: World): Promise<number> {
  return JSON.parse((await run("status", "--json")).stdout).teachers.total;
}

async function expectRefused(world: World, ended: ReturnType<typeof runTvs>, words: string): Promise<void> {
  await expectRefusal(ended, 2, words);
  expect(fs.readdirSync(world.folder).filter((name) => name.startsWith(".tvs-"))).toEqual([]);
}

/** Expects a path to be refused by the function that all commands use, also with --force. */
function expectNoOutput(path: string, config: Config, words: string, inputs: readonly string[] = []): void {
  const refusal = expect.objectContaining({ code: "USAGE", message: expect.stringContaining(words) });
  expect(() => prepareOutputFile({ flag: "--report", path, force: true, config, inputs })).toThrow(refusal);
}

test.concurrent("an output path is refused if it names a file of the register, directly or through a link", () =>
  withRegister(async (world) => {
    const { folder, dataDir, extract, run } = world;
    fs.symlinkSync(dataDir, join(folder, "way"));
    fs.symlinkSync(join(dataDir, "later.json"), join(folder, "dangling.json"));
    fs.mkdirSync(join(folder, "sub"));
    const key = fs.readFileSync(join(dataDir, "master.key"), "utf8");
    const own = ["tvs.db", "tvs.db-wal", "tvs.db.lock", "new.json"].map((name) => join(dataDir, name));
    const links = [join(folder, "way", "master.key"), `${folder}/sub/../data/master.key`];
    const config = readCommandConfig({ data: dataDir }, {});
    for (const name of [...own, ...links]) expectNoOutput(name, config, "belongs to the register");
    expectNoOutput(join(folder, "dangling.json"), config, "symbolic link");
    const overKey = ["--force", "--report", join(dataDir, "master.key")];
    await expectRefused(world, run("teachers", "import", extract, ...overKey), "belongs to the register");
    expect(fs.readFileSync(join(dataDir, "master.key"), "utf8")).toBe(key);
    expect(await teachersIn(world)).toBe(1);
    expect((await run("doctor", "--full")).code).toBe(0);
  }));

test.concurrent("an output path is refused if it is a database outside the data folder, or that database's WAL, lock or key", () =>
  withTempDir(async (folder) => {
    const [extract, elsewhere] = [join(folder, "extract.csv"), join(folder, "elsewhere")];
    fs.writeFileSync(extract, csv([row(1)]));
    fs.mkdirSync(elsewhere);
    fs.mkdirSync(join(folder, "named"));
    fs.symlinkSync(join(elsewhere, "real.db"), join(folder, "named", "link.db"));
    const where = ["--data", join(folder, "data"), "--database", `file:${folder}/named/link.db`];
    const run = (...words: string[]) => runTvs(["teachers", "import", extract, ...where, ...words]);
    expect((await run()).code).toBe(0);
    const real = ["", "-wal", "-shm", ".lock", ".lock-journal"].map((end) => `elsewhere/real.db${end}`);
    const own = [...real, "named/link.db", "named/link.db-journal", "named/master.key"];
    const flags = { data: join(folder, "data"), database: `file:${folder}/named/link.db` };
    for (const name of own)
      expectNoOutput(join(folder, name), readCommandConfig(flags, {}), "belongs to the register");
    expect((await run("--report", join(elsewhere, "report.json"))).code).toBe(0);
  }));

test.concurrent("an output file replaces an existing file only with --force, and does so by a rename", () =>
  withRegister(async (world) => {
    const { folder, dataDir, extract, run } = world;
    const files = ["report.json", "copy.db", "list.csv"].map((name) => join(folder, name));
    const [report = "", copy = "", list = ""] = files;
    for (const name of files) fs.writeFileSync(name, "mine");
    const roster = ["roster", extract, "--purpose", "EMPLOYER_BACKGROUND_CHECK", "--out", list];
    const lines = [["teachers", "import", extract, "--report", report], ["backup", copy], roster];
    for (const line of lines) await expectRefused(world, run(...line), "already exists");
    expect(await teachersIn(world)).toBe(1);
    for (const name of files) expect(fs.readFileSync(name, "utf8")).toBe("mine");
    // This hard link to the master key is replaced, and the master key's file is unchanged.
    const key = fs.readFileSync(join(dataDir, "master.key"), "utf8");
    const second = join(folder, "second-name");
    fs.linkSync(join(dataDir, "master.key"), second);
    await run("teachers", "import", extract, "--force", "--report", second);
    expect(fs.readFileSync(join(dataDir, "master.key"), "utf8")).toBe(key);
    expect(JSON.parse(fs.readFileSync(second, "utf8"))).toMatchObject({ rows: 1 });
    for (const line of lines) expect((await run(...line, "--force")).stderr).toBe("");
    expect(JSON.parse(fs.readFileSync(report, "utf8"))).toMatchObject({ rows: 1, unchanged: 1 });
    expect(fs.readFileSync(list, "utf8")).toStartWith("line,reg_no");
    expect((await run("backup", "verify", copy)).code).toBe(0);
    for (const name of files) expect(fs.statSync(name).mode & 0o777).toBe(0o600);
  }));

test.concurrent("an output path is refused if it is an input, a folder, a device, a link or `-`, or its folder does not exist", () =>
  withRegister(async (world) => {
    const { folder, dataDir, extract, run } = world;
    const before = fs.readFileSync(extract, "utf8");
    fs.linkSync(extract, join(folder, "hard"));
    const refused: [string, string][] = [
      [extract, "is a file that the command reads"],
      [join(folder, "hard"), "is a file that the command reads"],
      [folder, "is not a file"],
      [`${folder}/`, "must be the path of a file"],
      ["-", "must be the path of a file"],
      ["/dev/null", "is not a file"],
      ["/dev/stdout", "symbolic link"],
      [join(folder, "none", "report.json"), "there is no folder"],
    ];
    const config = readCommandConfig({ data: dataDir }, {});
    for (const [report, words] of refused) expectNoOutput(report, config, words, [extract]);
    const overExtract = run("teachers", "import", extract, "--force", "--report", extract);
    await expectRefused(world, overExtract, "is a file that the command reads");
    expect(fs.readFileSync(extract, "utf8")).toBe(before);
    expect(fs.lstatSync("/dev/null").isCharacterDevice()).toBe(true);
    expect(await teachersIn(world)).toBe(1);
    expect(fs.existsSync(join(folder, "none"))).toBe(false);
  }));

test.concurrent("if another program creates the output file during the work, that file stays, and the output is kept under another name", () =>
  withTempDir(async (folder) => {
    const config = readCommandConfig({ data: join(folder, "data") }, {});
    for (const force of [false, true]) {
      const path = join(folder, `report-${force}.json`);
      const report = prepareOutputFile({ flag: "--report", path, force, config });
      fs.writeFileSync(join(folder, "theirs"), "theirs");
      fs.symlinkSync(join(folder, "theirs"), path);
      const refusal = (await catchError(report.write("ours"))) as { code: string; message: string };
      expect(refusal.code).toBe("REFUSED");
      expect(fs.readFileSync(path, "utf8")).toBe("theirs");
      const kept = /is in (.*)$/.exec(refusal.message)?.[1] ?? "";
      expect(fs.readFileSync(kept, "utf8")).toBe("ours");
    }
  }));
