import { describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { openEmbedded } from "../../../src/store/driver/embedded.ts";
import { migrate } from "../../../src/store/driver/migrations.ts";
import { runTvs } from "../../harness/command.ts";
import { sleep } from "../../harness/eventually.ts";
import { withTempDir } from "../../harness/folder.ts";
import { csv, row } from "../../harness/imports.ts";
import { programWords } from "../../harness/program.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { makeRegister } from "../../harness/service.ts";

const terms = ["--scopes", "all", "--purposes", "all", "--per-minute", "10", "--per-day", "10"];
const addPartner = ["partners", "add", "board", "--name", "Board", ...terms];
const missing = (place: string) => `there is no register at ${place}; set --data or TVS_DATA to where it is`;

type World = {
  readonly folder: string;
  readonly dataDir: string;
  tvs(words: readonly string[]): ReturnType<typeof runTvs>;
};

function inEmptyFolder(act: (world: World) => Promise<void>): Promise<void> {
  return withTempDir((folder) => {
    const dataDir = join(folder, "data");
    return act({ folder, dataDir, tvs: (words) => runTvs(words, { dataDir, stdin: "99999999999" }) });
  });
}

describe("a command that only reads or changes", () => {
  test.concurrent.each([
    "status",
    "partners list",
    "partners set board --per-minute 1",
    "partners webhook show board",
    "teachers show 1001",
    "teachers revoke A/B/C/D --reason fraud",
    "teachers sweep",
    "teachers export-subject",
    "attestations check FILE",
    "attestations list",
    "keys list",
    "keys history",
    "keys rotate --now --yes",
    "backup BACKUP",
    "webhooks list",
    "console",
    "policy show",
    "roster FILE --purpose GENERAL_PUBLIC_VERIFICATION",
  ])("makes no register and answers from none: %s", (line) =>
    inEmptyFolder(async ({ folder, dataDir, tvs }) => {
      const file = join(folder, "file");
      writeFileSync(file, "reg_no\nA/B/C/D\n");
      const words = line.replace("FILE", file).replace("BACKUP", join(folder, "backup.db")).split(" ");
      const { code, stdout, stderr } = await tvs(words);
      expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: `tvs: ${missing(dataDir)}\n` });
      expect(readdirSync(folder)).toEqual(["file"]);
    }),
  );

  test("names the place that --database gave, and of a server's address only the host", () =>
    inEmptyFolder(async ({ folder, tvs }) => {
      const file = join(folder, "other", "registry.db");
      const { stderr } = await tvs(["status", "--database", `file:${file}`]);
      expect(stderr).toBe(
        `tvs: there is no register at ${file}; set --database or TVS_DATABASE to where it is\n`,
      );
      expect(readdirSync(folder)).toEqual([]);
    }));

  test("says that there is a sandbox where there is only that", () =>
    inEmptyFolder(async ({ dataDir, tvs }) => {
      await mkdir(dataDir);
      writeFileSync(join(dataDir, "sandbox.db"), "x");
      expect((await tvs(["status"])).stderr).toEndWith(", or use --sandbox for the sandbox there\n");
    }));
});

/** What a process holds open, by the names that the files had; nothing where the system does not tell. */
function openFiles(pid: number | undefined): string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((descriptor) => readlinkSync(join(folder, descriptor)));
  } catch {
    return []; // One was closed meanwhile, or the process has ended.
  }
}

describe("a command that may make a register", () => {
  test("makes one, and says so on stderr", () =>
    inEmptyFolder(async ({ dataDir, folder, tvs }) => {
      const said = `created a new register in ${dataDir}\n`;
      expect((await tvs(addPartner)).stderr).toStartWith(said);
      expect((await tvs(["partners", "set", "board", "--per-minute", "20"])).stderr).toBe("");
      rmSync(dataDir, { recursive: true });
      writeFileSync(join(folder, "extract.csv"), csv([row(1)]));
      const imported = await tvs(["teachers", "import", join(folder, "extract.csv"), "--json"]);
      expect([imported.stderr, JSON.parse(imported.stdout).inserted]).toEqual([said, 1]);
    }));

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
  ] as const)("leaves none behind when it is refused: %s", (line, expected) =>
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

  test("an extract that is refused for what it lacks makes none, and its result says why", () =>
    inEmptyFolder(async ({ folder, tvs }) => {
      const extract = join(folder, "extract.csv");
      writeFileSync(extract, csv([row(1)]).replaceAll("license_expiry_date", "valid_until"));
      const { code, stdout, stderr } = await tvs(["teachers", "import", extract, "--json"]);
      expect([code, JSON.parse(stdout)]).toMatchObject([
        1,
        { inserted: 0, stopped: { missing: [{ kind: "license" }] }, unknownColumns: ["valid_until"] },
      ]);
      expect(stderr).toContain(
        "the column license_expiry_date is missing, so that nobody would have a licence",
      );
      expect(readdirSync(folder)).toEqual(["extract.csv"]);
    }));

  test("a dry run counts what a new register would take, says that there is none, and makes none", () =>
    inEmptyFolder(async ({ folder, dataDir, tvs }) => {
      writeFileSync(join(folder, "extract.csv"), csv([row(1), row(2)]));
      const dry = await tvs(["teachers", "import", join(folder, "extract.csv"), "--dry-run", "--json"]);
      expect(JSON.parse(dry.stdout)).toMatchObject({ inserted: 2, dryRun: true });
      expect(dry.stderr).toBe(`${missing(dataDir)}; this is what a new one would contain\n`);
      expect(readdirSync(folder)).toEqual(["extract.csv"]);
    }));

  test("a dry run that is stopped leaves nothing of the extract behind, and its key never touches the disk", () =>
    inEmptyFolder(async ({ folder, dataDir }) => {
      const temporary = join(folder, "tmp");
      await mkdir(temporary);
      const extract = join(folder, "extract.csv");
      writeFileSync(extract, csv(Array.from({ length: 100_000 }, (_, n) => row(n))));
      const [program = "", ...words] = [...programWords, "teachers", "import", extract, "--dry-run"];
      const child = spawn(program, words, {
        env: { ...process.env, TVS_DATA: dataDir, TMPDIR: temporary },
        stdio: "ignore",
      });
      const ended = new Promise((done) => child.once("exit", done));
      const files = () => readdirSync(temporary, { recursive: true }).map(String);
      // It has a name for some milliseconds only, and is held open for as long as the extract is read.
      let during: string[] = [];
      while (child.exitCode === null && !during.some((name) => name.includes("import-"))) {
        await sleep(1);
        during = [...files(), ...openFiles(child.pid)];
      }
      child.kill("SIGTERM");
      await ended;
      expect(during.filter((name) => name.includes("import-"))).not.toEqual([]);
      expect(during.filter((name) => name.includes("master.key"))).toEqual([]);
      expect(files().filter((name) => name.startsWith("tvs-dry-run"))).toEqual([]);
    }));

  test("finishes a register that a kill -9 left unfinished, which nobody else takes for one", () =>
    inEmptyFolder(async ({ dataDir, tvs }) => {
      await mkdir(dataDir);
      const file = join(dataDir, "tvs.db");
      writeFileSync(file, "");
      expect((await tvs(["status"])).stderr).toBe(`tvs: ${missing(dataDir)}\n`);
      expect(readdirSync(dataDir)).toEqual(["tvs.db"]);
      const driver = await openEmbedded({ file });
      await migrate(driver, 1);
      await driver.close();
      for (const words of [["status"], ["backup", join(dataDir, "..", "backup.db")], ["partners", "list"]])
        expect((await tvs(words)).stderr).toBe(`tvs: ${missing(dataDir)}\n`);
      expect((await tvs(addPartner)).stderr).toStartWith(`created a new register in ${dataDir}\n`);
      expect((await tvs(["status"])).code).toBe(0);
    }));

  test("begins no new register beside a master key whose database was moved away", () =>
    inEmptyFolder(async ({ dataDir, tvs }) => {
      await makeRegister(dataDir);
      for (const name of readdirSync(dataDir)) if (name.startsWith("tvs.db")) rmSync(join(dataDir, name));
      expect((await tvs(["status"])).stderr).toBe(`tvs: ${missing(dataDir)}\n`);
      await expectRefusal(tvs(addPartner), 1, "master.key exists, but its database tvs.db is missing");
      expect(readdirSync(dataDir)).toEqual(["master.key"]);
    }));
});

/** Only root can become somebody else. */
test.if(process.geteuid?.() === 0)(
  "another user's register is not called missing: who may look is named",
  () =>
    withTempDir(async (folder) => {
      const dataDir = join(folder, "data");
      await makeRegister(dataDir);
      chmodSync(folder, 0o755);
      const owner = 4_242;
      chownSync(dataDir, owner, owner);
      const script = `
      const { openOperator } = await import("${join(import.meta.dir, "../../../cli/open.ts")}");
      const { readConfig } = await import("${join(import.meta.dir, "../../../src/config.ts")}");
      process.setgid(65534); process.setuid(65534);
      const error = await openOperator(readConfig({ data: ${JSON.stringify(dataDir)} }, {})).catch((one) => one);
      console.log(error.code + ": " + error.message);`;
      const { stdout } = spawnSync(process.execPath, ["-e", script], { encoding: "utf8" });
      expect(stdout).toBe(`REGISTER_CLOSED: this user may not read ${dataDir}; sudo -u '#${owner}' tvs …\n`);
    }),
);
