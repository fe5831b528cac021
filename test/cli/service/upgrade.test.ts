import { describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { inspectBackup } from "../../../src/store/driver/backup.ts";
import type { Statement } from "../../../src/store/driver/driver.ts";
import { openEmbedded } from "../../../src/store/driver/embedded.ts";
import { readSchema, schemaVersion } from "../../../src/store/driver/migrations.ts";
import { openRemote } from "../../../src/store/server/remote.ts";
import { runJson, runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { patienceMs, startService } from "../../harness/program.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { noServer, startServer } from "../../harness/sqld.ts";
import { makeOldRegister } from "../../store/driver/old-database.ts";

setDefaultTimeout(patienceMs);

const [old, later] = [3, 8];
const backupName = `tvs-before-${schemaVersion}.db`;

function withOldRegister(act: (dataDir: string, folder: string) => Promise<void>): Promise<void> {
  return withTempDir(async (folder) => {
    const dataDir = join(folder, "data");
    await makeOldRegister(dataDir, old);
    await act(dataDir, folder);
  });
}

async function schemaOf(dataDir: string): Promise<number> {
  const driver = await openEmbedded({ file: join(dataDir, "tvs.db") });
  return readSchema(driver).finally(() => driver.close());
}

async function write(dataDir: string, statement: Statement): Promise<void> {
  const driver = await openEmbedded({ file: join(dataDir, "tvs.db") });
  await driver.batch([statement]).finally(() => driver.close());
}

describe.concurrent("a register of an earlier release", () => {
  test("is not changed by a command that is not for that, which says what is", () =>
    withOldRegister(async (dataDir, folder) => {
      const extract = join(folder, "extract.csv");
      writeFileSync(extract, "reg_no,name,source,certificate_status\nA/B/C/1,Ada,legacy,CLAIMED\n");
      const message = `tvs: this register has schema ${old}, this program ${schemaVersion}; run tvs upgrade\n`;
      const lines = [
        ["keys", "list"],
        ["partners", "list"],
        ["teachers", "import", extract],
        ["log", "audit"],
      ];
      for (const words of lines) {
        const { code, stdout, stderr } = await runTvs(words, { dataDir });
        expect([words, code, stdout, stderr]).toEqual([words, 2, "", message]);
      }
      expect([await schemaOf(dataDir), existsSync(join(dataDir, backupName))]).toEqual([old, false]);
    }));

  test("is not changed by an upgrade or a start that is refused", () =>
    withOldRegister(async (dataDir) => {
      const key = join(dataDir, "master.key");
      const text = readFileSync(key);
      const lines: [words: string[], code: number, problem: string][] = [
        [["serve", "--host", "0.0.0.0", "--port", "0"], 2, "must be told its public URL"],
        [
          ["serve", "--port", "0", "--sandbox", "--database", `file:${join(dataDir, "tvs.db")}`],
          1,
          "this is a live database",
        ],
        [["upgrade"], 1, "master key"],
      ];
      for (const [words, code, problem] of lines) {
        if (words[0] === "upgrade") writeFileSync(key, "A".repeat(43));
        const refused = await runTvs(words, { dataDir });
        expect([words, refused.code, refused.stderr]).toEqual([
          words,
          code,
          expect.stringContaining(problem),
        ]);
        expect([await schemaOf(dataDir), existsSync(join(dataDir, backupName))]).toEqual([old, false]);
      }
      writeFileSync(key, text);
      expect((await runTvs(["upgrade"], { dataDir })).code).toBe(0);
    }));

  test("is read as it is by doctor and backup, and refused by status", () =>
    withOldRegister(async (dataDir, folder) => {
      const { code, stderr } = await runTvs(["status"], { dataDir });
      expect([code, stderr]).toEqual([2, expect.stringContaining("run tvs upgrade")]);
      const { checks } = await runJson<{ checks: unknown[] }>(["doctor"], { dataDir });
      expect(checks).toContainEqual(
        expect.objectContaining({ name: "schema", advice: expect.stringContaining("tvs upgrade") }),
      );
      const backup = join(folder, "backup.db");
      expect(await runJson<object>(["backup", backup], { dataDir })).toMatchObject({ schema: old });
      expect(await schemaOf(dataDir)).toBe(old);
    }));

  test("is brought to this one by upgrade, after a backup that restore takes too", () =>
    withOldRegister(async (dataDir, folder) => {
      const backup = join(dataDir, backupName);
      const told = await runJson<object>(["upgrade"], { dataDir });
      expect(told).toEqual({ from: old, to: schemaVersion, backup });
      expect([await schemaOf(dataDir), (await inspectBackup(backup)).schema]).toEqual([schemaVersion, old]);
      const kept = readFileSync(backup);
      expect(await runJson<object>(["upgrade"], { dataDir })).toMatchObject({
        from: schemaVersion,
        backup: null,
      });
      expect(readFileSync(backup)).toEqual(kept);
      const again = join(folder, "again");
      mkdirSync(again);
      copyFileSync(join(dataDir, "master.key"), join(again, "master.key"));
      const { notes } = await runJson<{ notes: string[] }>(["restore", backup], { dataDir: again });
      expect(notes.join("\n")).toContain(`its schema ${old} was brought to ${schemaVersion}`);
      expect(await schemaOf(again)).toBe(schemaVersion);
    }));

  test.each([
    [[], true],
    [["--no-backup"], false],
  ] as const)("is brought to this one by serve %j", (args, isBackedUp) =>
    withOldRegister(async (dataDir) => {
      const service = await startService({
        dataDir,
        args: ["--issuer", "https://verify.example.gov", ...args],
      });
      expect(await service.stop()).toBe(0);
      expect([await schemaOf(dataDir), existsSync(join(dataDir, backupName))]).toEqual([
        schemaVersion,
        isBackedUp,
      ]);
    }),
  );

  test("keeps the backup of an upgrade that was cut off on its way, and makes any other anew", () =>
    withOldRegister(async (dataDir, folder) => {
      const backup = join(dataDir, backupName);
      const before = join(folder, "before");
      cpSync(dataDir, before, { recursive: true });
      await runJson(["upgrade"], { dataDir });
      copyFileSync(backup, join(before, backupName));
      const kept = readFileSync(backup);
      const partly = join(folder, "partly");
      await makeOldRegister(partly, later);
      copyFileSync(backup, join(partly, backupName));
      expect(await runJson<object>(["upgrade"], { dataDir: partly })).toMatchObject({ from: later });
      expect(readFileSync(join(partly, backupName))).toEqual(kept);
      const used = join(folder, "used");
      await makeOldRegister(used, later);
      copyFileSync(backup, join(used, backupName));
      await write(used, {
        sql: "INSERT INTO partners VALUES ('since', 'Since', '', '', 1, 1, 'call', 0, NULL)",
        args: [],
      });
      await runJson(["upgrade"], { dataDir: used });
      expect((await inspectBackup(join(used, backupName))).schema).toBe(later);
      // Put back and used since: what is there now is what would be lost.
      await write(before, { sql: "INSERT INTO settings (name, value) VALUES ('since', 'yes')", args: [] });
      await runJson(["upgrade"], { dataDir: before });
      expect(readFileSync(join(before, backupName)).includes("since")).toBe(true);
    }));

  test("stays as it is where no backup of it can be made", () =>
    withOldRegister(async (dataDir) => {
      writeFileSync(join(dataDir, backupName), "something else");
      await expectRefusal(runTvs(["upgrade"], { dataDir }), 1, "--no-backup upgrades without one");
      expect(readFileSync(join(dataDir, backupName), "utf8")).toBe("something else");
      expect(await schemaOf(dataDir)).toBe(old);
      expect(await runJson<object>(["upgrade", "--no-backup"], { dataDir })).toMatchObject({ backup: null });
      expect(await schemaOf(dataDir)).toBe(schemaVersion);
    }));

  test.skipIf(noServer !== undefined)(
    "on a libSQL server is brought to this one by upgrade, which backs nothing up",
    () =>
      withTempDir(async (folder) => {
        const server = await startServer();
        try {
          const dataDir = join(folder, "data");
          const options = { dataDir, env: { TVS_DATABASE: server.url } };
          await makeOldRegister(dataDir, later, await openRemote({ url: server.url }));
          expect((await runTvs(["keys", "list"], options)).stderr).toContain(
            `has schema ${later}, this program`,
          );
          const { code, stdout } = await runTvs(["upgrade"], options);
          expect([code, stdout]).toEqual([0, expect.stringContaining("tvs help libsql says how")]);
          expect((await runTvs(["keys", "list"], options)).code).toBe(0);
          expect(readdirSync(dataDir).filter((name) => name.endsWith(".db"))).toEqual([]);
        } finally {
          await server.stop();
        }
      }),
  );
});
