import { expect, setDefaultTimeout, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { openDatabaseFile } from "../../../src/store/driver/file.ts";
import { applySchema } from "../../../src/store/driver/schema.ts";
import type { KeyInfo } from "../../blackbox/contract.ts";
import { runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { csv, row } from "../../harness/imports.ts";
import { type RunOptions, runTvs as runProgram, startService, testTimeoutMs } from "../../harness/program.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { makeRegister } from "../../harness/service.ts";

setDefaultTimeout(testTimeoutMs);

const missing = (place: string) => `there is no register at ${place}; tvs init makes one`;

function inEmptyFolder(run: (world: ReturnType<typeof worldIn>) => Promise<void>): Promise<void> {
  return withTempDir((folder) => run(worldIn(folder)));
}

function worldIn(folder: string) {
  const dataDir = join(folder, "data");
  const options = { dataDir, stdin: "99999999999", isBare: true };
  return { folder, dataDir, tvs: (words: readonly string[]) => runTvs(words, options) };
}

test.concurrent.each([
  "status",
  "partners list",
  "teachers revoke A/B/C/D --reason fraud",
  "teachers export-subject",
  "attestations check FILE",
  "keys rotate --now --yes",
  "backup BACKUP",
  "console",
  "policy show",
  "roster FILE --purpose GENERAL_PUBLIC_VERIFICATION",
  "teachers import FILE",
  "partners add board --name Board --scopes all --purposes all --per-minute 1 --per-day 1",
  "serve --port 0",
])("a command on a missing register is refused and creates none: %s", (line) =>
  inEmptyFolder(async ({ folder, dataDir, tvs }) => {
    const file = join(folder, "file");
    writeFileSync(file, "reg_no\nA/B/C/D\n");
    const words = line.replace("FILE", file).replace("BACKUP", join(folder, "backup.db")).split(" ");
    const { code, stdout, stderr } = await tvs(words);
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: `tvs: ${missing(dataDir)}\n` });
    expect(readdirSync(folder)).toEqual(["file"]);
  }),
);

test("the refusal of a missing register names the path of --database", () =>
  inEmptyFolder(async ({ folder, tvs }) => {
    const file = join(folder, "other", "registry.db");
    const { stderr } = await tvs(["status", "--database", `file:${file}`]);
    expect(stderr).toBe(`tvs: ${missing(file)}\n`);
    expect(readdirSync(folder)).toEqual([]);
  }));

test("a command that finds no register mentions the sandbox in the same folder", () =>
  inEmptyFolder(async ({ dataDir, tvs }) => {
    await mkdir(dataDir);
    writeFileSync(join(dataDir, "sandbox.db"), "x");
    expect((await tvs(["status"])).stderr).toEndWith("; --sandbox uses the sandbox there\n");
  }));

const init = ["init", "--issuer", "https://verify.example.org", "--name", "Registry"];

test.concurrent.each([
  ["partners add board --name Board --scopes nonsense --purposes all --per-minute 1 --per-day 1", 2],
  ["teachers import BROKEN", 2],
  ["keys import BROKEN --yes", 2],
  ["restore BROKEN", 1],
  ["serve --port TAKEN", 1],
  ["serve --port 0 --admin-port TAKEN", 1],
  ["serve --port 0 --policy BROKEN", 2],
  ["serve --port 0 --trusted-proxy nonsense", 2],
  ["serve --port 0 --tls-port 0 --tls-cert BROKEN --tls-key BROKEN", 1],
  ["serve --port 0 --keep-attestations 1d", 2],
] as const)("a refused command that may create a register leaves none behind: %s", (line, expected) =>
  inEmptyFolder(async ({ folder, dataDir, tvs }) => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    const broken = join(folder, "broken.csv");
    writeFileSync(broken, `${csv([row(1)])}"TR/2019/LA/2,Ada`);
    const words = line.replaceAll("BROKEN", broken).replace("TAKEN", String(port)).split(" ");
    const { code, stderr } = await tvs(words);
    server.close();
    expect({ code, lines: stderr.trimEnd().split("\n").length }).toEqual({ code: expected, lines: 1 });
    expect(existsSync(dataDir)).toBe(false);
  }),
);

test("tvs init completes a register that a kill left incomplete, which other commands refuse", () =>
  inEmptyFolder(async ({ dataDir, tvs }) => {
    await mkdir(dataDir);
    const file = join(dataDir, "tvs.db");
    writeFileSync(file, "");
    expect((await tvs(["status"])).stderr).toBe(`tvs: ${missing(dataDir)}\n`);
    expect(readdirSync(dataDir)).toEqual(["tvs.db"]);
    const driver = await openDatabaseFile({ file });
    await applySchema(driver);
    await driver.close();
    for (const words of [["status"], ["backup", join(dataDir, "..", "backup.db")], ["partners", "list"]])
      expect((await tvs(words)).stderr).toBe(`tvs: ${missing(dataDir)}\n`);
    expect((await tvs(init)).code).toBe(0);
    expect((await tvs(["status"])).code).toBe(0);
  }));

test("tvs init is refused if the folder has a master key and no database", () =>
  inEmptyFolder(async ({ dataDir, tvs }) => {
    await makeRegister(dataDir);
    for (const name of readdirSync(dataDir)) if (name.startsWith("tvs.db")) rmSync(join(dataDir, name));
    expect((await tvs(["status"])).stderr).toBe(`tvs: ${missing(dataDir)}\n`);
    await expectRefusal(tvs(init), 1, "master.key exists, but its database tvs.db is missing");
    expect(readdirSync(dataDir)).toEqual(["master.key"]);
  }));

const keysOf = async (words: readonly string[], options?: RunOptions) =>
  (await runTvs(["keys", "list", "--json", ...words], options)).json<KeyInfo[]>();

test("two commands that create a data folder at the same time create one register", () =>
  inEmptyFolder(async ({ dataDir }) => {
    const words = [...init, "--data", dataDir];
    const both = await Promise.all([runProgram(words), runProgram(words)]);
    expect(both.filter(({ code }) => code === 0)).toHaveLength(1);
    expect((await keysOf(["--data", dataDir])).map(({ state }) => state).sort()).toEqual([
      "active",
      "pending",
    ]);
  }));

test("the option --data may be before the command, and takes precedence over TVS_DATA", () =>
  inEmptyFolder(async ({ folder, dataDir: used }) => {
    await makeRegister(used);
    const kids = await keysOf(["--data", used]);
    for (const words of [
      ["--data", used, "--json", "keys", "list"],
      [`--data=${used}`, "keys", "list", "--json"],
    ])
      expect((await runTvs(words)).json<KeyInfo[]>()).toEqual(kids);
    const env = { TVS_DATA: used };
    expect(await keysOf([], { env })).toEqual(kids);
    const other = ["--data", join(folder, "other")];
    await runTvs([...init, ...other]);
    expect(await keysOf(other, { env })).not.toEqual(kids);
  }));

test("a sandbox has a separate database", () =>
  inEmptyFolder(async ({ dataDir }) => {
    await makeRegister(dataDir);
    await (await startService({ dataDir, args: ["--sandbox"] })).stop();
    const kids = async (...words: string[]) => (await keysOf(words, { dataDir })).map(({ kid }) => kid);
    expect(await kids("--sandbox")).not.toEqual(await kids());
    expect(existsSync(join(dataDir, "sandbox.db"))).toBe(true);
    const live = ["--database", `file:${join(dataDir, "tvs.db")}`];
    await expectRefusal(runTvs(["keys", "list", "--sandbox", ...live]), 1);
  }));

test("a command is refused in one line if a file has the path of the data folder or of its parent", () =>
  inEmptyFolder(async ({ dataDir: file }) => {
    writeFileSync(file, "not a folder");
    for (const data of [file, join(file, "data")]) {
      await expectRefusal(runTvs(["keys", "list", "--data", data]), 2);
      await expectRefusal(runTvs([...init, "--data", data]), 1);
    }
  }));

test("one service at a time can use a data folder, and after a kill -9 the next service can use it", () =>
  inEmptyFolder(async ({ dataDir }) => {
    await makeRegister(dataDir, { hasTeacher: true });
    const isHealthy = async (url: string) => (await fetch(`${url}/v1/inter-agency/health`)).ok;
    const first = await startService({ dataDir });
    await expectRefusal(runProgram(["serve", "--port", "0", "--data", dataDir]), 1);
    expect(await isHealthy(first.url)).toBe(true);
    await first.stop("SIGKILL");
    const next = await startService({ dataDir });
    expect(await isHealthy(next.url)).toBe(true);
    expect(await next.stop()).toBe(0);
  }));

/** Only root can change owners and user ids. */
const isRoot = process.geteuid?.() === 0;
const owner = 4_242;

function withOthersRegister(run: (dataDir: string) => Promise<void>): Promise<void> {
  return withTempDir(async (folder) => {
    chmodSync(folder, 0o755);
    const dataDir = join(folder, "data");
    await makeRegister(dataDir);
    chownSync(dataDir, owner, owner);
    await run(dataDir);
  });
}

test.if(isRoot)(
  "the refusal of a command in another user's folder names the user who may read the folder",
  () =>
    withOthersRegister(async (dataDir) => {
      const script = `
      const { openRegister } = await import("${join(import.meta.dir, "../../../cli/open.ts")}");
      const { readCommandConfig } = await import("${join(import.meta.dir, "../../../src/config.ts")}");
      process.setgid(65534); process.setuid(65534);
      const error = await openRegister(readCommandConfig({ data: ${JSON.stringify(dataDir)} }, {})).catch((one) => one);
      console.log(error.code + ": " + error.message);`;
      const { stdout } = spawnSync(process.execPath, ["-e", script], { encoding: "utf8" });
      expect(stdout).toBe(`REGISTER_CLOSED: this user may not read ${dataDir}; sudo -u '#${owner}' tvs\n`);
    }),
);

test.if(isRoot)(
  "root is refused in another user's folder, and the refusal shows the command to run instead, without option values",
  () =>
    withOthersRegister(async (dataDir) => {
      const before = readdirSync(dataDir).sort();
      const refused = [
        [["status"], "status"],
        [["keys", "rotate", "--now", "--yes"], "keys rotate --now --yes"],
        [["teachers", "show", "12345678901", "--json"], "teachers show …"],
        [["serve", "--port", "0"], "serve --port …"],
        [["doctor"], "doctor"],
        [["init", "--issuer", "https://a.example"], "init --issuer …"],
      ] as const;
      for (const [words, typed] of refused) {
        const { code, stderr } = await runProgram(words, { dataDir, isBare: true });
        const line = `tvs: ${dataDir} belongs to '#${owner}', not to root; sudo -u '#${owner}' tvs ${typed}\n`;
        expect([code, stderr]).toEqual([2, line]);
      }
      expect(readdirSync(dataDir).sort()).toEqual(before);
    }),
);

test("every command that reads the register's location refuses root in another user's folder", () => {
  const folder = join(import.meta.dir, "../../../cli");
  const reading = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => ({ file, text: readFileSync(join(folder, file), "utf8") }))
    .filter(({ text }) => / read(Serve|Command)Config\(/.test(text));
  const unasked = reading.filter(({ text }) => !/\b(refuseForeignFolder|serveConfigOf)\(/.test(text));
  expect(unasked.map(({ file }) => file)).toEqual([]);
});
