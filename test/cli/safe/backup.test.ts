import { expect, test } from "bun:test";
import * as fs from "node:fs";
import { chooseBackupPath } from "../../../cli/safe/backup.ts";
import { openService } from "../../../cli/serve/open-service.ts";
import { readCommandConfig } from "../../../src/config.ts";
import { generateMasterKey } from "../../../src/domain/secrets.ts";
import { runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { makeRegister } from "../../harness/service.ts";

type Tvs = (...args: string[]) => ReturnType<typeof runTvs>;
/** `to` is an empty folder. */
type World = Readonly<Record<"folder" | "to" | "dataDir" | "file", string>> & { readonly tvs: Tvs };

function withBackup(act: (world: World) => Promise<void>): Promise<void> {
  return withTempDir(async (folder) => {
    const [dataDir, to] = [`${folder}/data`, `${folder}/backups`];
    fs.mkdirSync(to);
    const tvs = (...args: string[]) => runTvs(args, { dataDir });
    await makeRegister(dataDir);
    const file = `${folder}/backup.db`;
    expect((await tvs("backup", file)).code).toBe(0);
    await act({ folder, to, dataDir, file, tvs });
  });
}

/** Makes the words of a backup that prints when its copy is written, and then waits. */
function unfinished(dataDir: string, file: string): string[] {
  const driver = new URL("../../../src/store/driver/", import.meta.url).href;
  const script = `
    const { openDatabaseFile } = await import("${driver}file.ts");
    const { makeBackup } = await import("${driver}backup.ts");
    const driver = await openDatabaseFile({ file: "${dataDir}/tvs.db" });
    const copyTo = async (target) => {
      await driver.copyTo(target);
      console.log("copied");
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    };
    await makeBackup({ ...driver, copyTo }, "${file}");`;
  return [process.execPath, "-e", script];
}

test.concurrent("tvs backup --keep keeps the newest of its own backups and touches no other file", () =>
  withBackup(async ({ folder, to, file: good, tvs }) => {
    const old = ["tvs-20250101T000000Z.db", "tvs-20250102T000000Z.db", "tvs-20250103T000000Z.db"];
    const others = ["tvs-2025.db", "tvs-20250101T000000Z.db.zst", "sandbox-20250101T000000Z.db"];
    // Empty files with later names.
    const empty = ["tvs-20250104T000000Z.db", "tvs-20250105T000000Z.db"];
    for (const name of old) fs.copyFileSync(good, `${to}/${name}`);
    for (const name of [...others, ...empty]) fs.writeFileSync(`${to}/${name}`, "");
    const { code, stdout } = await tvs("backup", to, "--keep", "2", "--json");
    expect(code).toBe(0);
    const { file, ...rest } = JSON.parse(stdout) as { file: string; deleted: string[] };
    expect(file).toMatch(/\/tvs-\d{8}T\d{6}Z\.db$/);
    const deleted = old.slice(0, 2).map((name) => `${to}/${name}`);
    expect(rest).toMatchObject({ deleted, ahead: [], unfinished: [] });
    const left = [...others, ...empty, "tvs-20250103T000000Z.db", file.slice(to.length + 1)];
    expect(fs.readdirSync(to).sort()).toEqual(left.sort());
    expect((await tvs("backup", "verify", file)).code).toBe(0);
    await expectRefusal(tvs("backup", `${folder}/absent`, "--keep", "2"), 2, "there is no folder");
    await expectRefusal(tvs("backup", to, "--keep", "0"), 2, "at least 1");
    await expectRefusal(tvs("backup", to), 2, "--keep N");
  }));

test.concurrent("a second backup in the same second gets the file name of a later second", () =>
  withTempDir(async (folder) => {
    const config = readCommandConfig({ data: folder }, {});
    const first = await chooseBackupPath(folder, config);
    fs.writeFileSync(first, "");
    expect((await chooseBackupPath(folder, config)) > first).toBe(true);
  }));

test.concurrent("tvs backup --keep exits with 1 if a backup has a future date in its name, and keeps the new backup", () =>
  withBackup(async ({ to, file: good, tvs }) => {
    const ahead = ["tvs-20991230T000000Z.db", "tvs-20991231T000000Z.db"];
    for (const name of [...ahead, "tvs-20250101T000000Z.db"]) fs.copyFileSync(good, `${to}/${name}`);
    const { code, stdout, stderr } = await tvs("backup", to, "--keep", "1", "--json");
    const { file } = JSON.parse(stdout) as { file: string };
    expect(fs.readdirSync(to).sort()).toEqual([...ahead, file.slice(to.length + 1)].sort());
    const line = `their time is still to come: ${ahead.map((name) => `${to}/${name}`).join(", ")}; find out`;
    expect([code, stderr]).toEqual([1, expect.stringContaining(line)]);
  }));

test.concurrent("tvs backup --keep removes the partial file of a killed backup, but not the partial file of a running backup", () =>
  withBackup(async ({ to, dataDir, tvs }) => {
    const [dead, writing] = [`${to}/tvs-20250101T000000Z.db`, `${to}/tvs-20250102T000000Z.db`];
    const killed = Bun.spawn(unfinished(dataDir, dead), { stdout: "pipe" });
    await killed.stdout.getReader().read();
    killed.kill("SIGKILL");
    await killed.exited;
    fs.writeFileSync(`${dead}.partial-journal`, "");
    expect(fs.readdirSync(to)).toContain("tvs-20250101T000000Z.db.partial");
    const other = Bun.spawn(unfinished(dataDir, writing), { stdout: "pipe" });
    try {
      await other.stdout.getReader().read();
      await expectRefusal(tvs("backup", writing), 1, "is being written by another backup");
      const { code, stdout } = await tvs("backup", to, "--keep", "9", "--json");
      const made = JSON.parse(stdout) as { file: string; unfinished: string[] };
      expect([code, made.unfinished]).toEqual([0, [dead]]);
      const names = ["tvs-20250102T000000Z.db.partial", "tvs-20250102T000000Z.db.partial-lock"];
      expect(fs.readdirSync(to).sort()).toEqual([...names, made.file.slice(to.length + 1)].sort());
    } finally {
      other.kill("SIGKILL");
      await other.exited;
    }
    expect((await tvs("backup", writing)).code).toBe(0);
    expect(fs.readdirSync(to).filter((name) => name.includes("partial"))).toEqual([]);
  }));

test.concurrent("tvs backup prints a summary of the backup, and says that the master key is not in the backup and where the key is", () =>
  withBackup(async ({ folder, dataDir, tvs }) => {
    const { code, stdout, stderr } = await tvs("backup", `${folder}/second.db`, "--json");
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toEqual({
      ...{ file: `${folder}/second.db`, bytes: expect.any(Number), schema: expect.any(Number) },
      ...{ sha256: expect.stringMatching(/^\w{64}$/), environment: "live" },
      ...{ teachers: 0, partners: 0, attestations: 0 },
      ...{ events: 0, signingKeys: 2, newestAttestation: null, logOrigin: null, logEntries: null },
      masterKey: { included: false, place: `${dataDir}/master.key` },
    });
    const human = await tvs("backup", `${folder}/third.db`);
    expect(human.stdout).toContain(`The master key is NOT in this backup; it is in ${dataDir}/master.key.`);
    const key = fs.readFileSync(`${dataDir}/master.key`, "utf8").trim();
    expect(fs.readFileSync(`${folder}/third.db`).includes(key)).toBe(false);
  }));

test.concurrent("tvs backup works while a service runs, and without the master key", () =>
  withBackup(async ({ folder, dataDir, tvs }) => {
    const open = await openService(readCommandConfig({ data: dataDir }, {}));
    fs.rmSync(`${dataDir}/master.key`);
    expect((await tvs("backup", `${folder}/serving.db`)).code).toBe(0);
    await open.close();
  }));

test.concurrent("tvs backup refuses a database that does not exist, and a database server", () =>
  withBackup(async ({ folder, file, tvs }) => {
    await expectRefusal(tvs("backup", file), 2);
    await expectRefusal(tvs("backup", `${folder}/b2.db`, "--data", `${folder}/typo`), 2);
    expect(fs.existsSync(`${folder}/typo`)).toBe(false);
    const server = "--database http://127.0.0.1:9";
    for (const line of [`backup ${folder}/b2.db`, `backup verify ${file}`, `restore ${file}`])
      await expectRefusal(tvs(...`${line} ${server}`.split(" ")), 1, "tvs help libsql");
  }));

test.concurrent("tvs backup verify exits with 0 for a good backup, 1 for a bad backup, and 2 for an unreadable file", () =>
  withBackup(async ({ folder, file, dataDir, tvs }) => {
    const good = await tvs("backup", "verify", file, "--json");
    expect([good.code, good.stderr]).toEqual([0, ""]);
    const facts = { ok: true, file, schema: expect.any(Number), signingKeys: 2, masterKey: "matches" };
    expect(JSON.parse(good.stdout)).toMatchObject(facts);
    fs.writeFileSync(`${folder}/text`, "not a backup");
    expect((await tvs("backup", "verify", `${folder}/text`)).code).toBe(1);
    expect((await tvs("backup", "verify", `${folder}/none`)).code).toBe(2);
    fs.writeFileSync(`${dataDir}/master.key`, generateMasterKey());
    const differs = await tvs("backup", "verify", file, "--json");
    expect([differs.code, JSON.parse(differs.stdout).masterKey]).toEqual([1, "differs"]);
    fs.rmSync(`${dataDir}/master.key`);
    const absent = await tvs("backup", "verify", file);
    expect(absent.code).toBe(0);
    expect(absent.stderr).toContain("the master key was not checked");
  }));

test.concurrent("tvs restore into an empty folder says where to put the master key, with which the register then works", () =>
  withBackup(async ({ folder, dataDir, file, tvs }) => {
    const there = `${folder}/new`;
    const { code, stdout, stderr } = await tvs("restore", file, "--data", there, "--json");
    expect([code, stderr]).toEqual([0, `created a new register in ${there}\n`]);
    const value = JSON.parse(stdout);
    const made = { database: `${there}/tvs.db`, masterKey: "absent", replaced: null, webhooksHeld: false };
    expect(value).toMatchObject(made);
    expect(value.notes[0]).toContain(`${there}/master.key`);
    const read = await tvs("restore", file, "--data", there, "--force");
    const last = `First put the master key that belongs to this backup into ${there}/master.key`;
    expect(read.stderr.trimEnd().split("\n").at(-1)).toStartWith(last);
    expect(read.stdout).not.toContain("master.key");
    expect((await tvs("keys", "list", "--data", there)).code).toBe(1);
    fs.copyFileSync(`${dataDir}/master.key`, `${there}/master.key`);
    const keys = await tvs("keys", "list", "--data", there, "--json");
    expect(keys.stdout).toBe((await tvs("keys", "list", "--json")).stdout);
  }));

test.concurrent("tvs restore over a database needs --force, keeps the old database, and names keys that were rotated since the backup", () =>
  withBackup(async ({ file, tvs }) => {
    const rotated = JSON.parse((await tvs("keys", "rotate", "--now", "--json")).stdout);
    expect((await tvs("restore", file)).code).toBe(1);
    const { code, stdout, stderr } = await tvs("restore", file, "--force", "--hold-webhooks");
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Signing keys lost: ${rotated.pendingKid}.`);
    expect(stdout).toContain(`Retired keys that sign again: ${rotated.previousKid}.`);
    expect(stdout).toMatch(/replaced +\S+tvs\.db\.replaced-/);
    expect(stdout).toMatch(/Webhooks are held.* tvs webhooks release/);
    const keys = JSON.parse((await tvs("keys", "list", "--json")).stdout);
    expect(keys).toContainEqual(expect.objectContaining({ state: "active", kid: rotated.previousKid }));
    const released = await tvs("webhooks", "release", "--json");
    expect(JSON.parse(released.stdout)).toEqual({ released: true });
  }));

test.concurrent("tvs restore is refused while a service runs, with another master key, and for a sandbox's backup", () =>
  withBackup(async ({ folder, dataDir, file, tvs }) => {
    const open = await openService(readCommandConfig({ data: dataDir }, {}));
    await expectRefusal(tvs("restore", file, "--force"), 1, "stop it first");
    await open.close();
    const another = ["--issuer", "https://other.example", "--name", "Other", "--data", `${folder}/other`];
    expect((await tvs("init", ...another)).code).toBe(0);
    const wrongKey = tvs("restore", file, "--force", "--data", `${folder}/other`);
    await expectRefusal(wrongKey, 1, "is not the one that this backup was made with");
    const sandbox = tvs("restore", file, "--sandbox", "--data", `${folder}/sandbox`);
    await expectRefusal(sandbox, 1, "backup of a live database");
    expect(fs.existsSync(`${folder}/sandbox`)).toBe(false);
    fs.writeFileSync(`${folder}/text`, "no backup");
    await expectRefusal(tvs("restore", `${folder}/text`, "--force"), 1);
    await expectRefusal(tvs("restore", `${folder}/none`, "--force"), 2);
  }));
