import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import * as fs from "node:fs";
import { makeBackup } from "../../../src/store/driver/backup.ts";
import { openDatabaseFile } from "../../../src/store/driver/file.ts";
import { type RestoreOptions, restoreBackup } from "../../../src/store/driver/restore.ts";
import { applySchema } from "../../../src/store/driver/schema.ts";
import { withTempDir } from "../../harness/folder.ts";
import { catchError } from "../../harness/rejection.ts";

/** Makes the setting that identifies a database. */
const named = (name: string) =>
  `INSERT INTO settings VALUES ('name', '${name}') ON CONFLICT DO UPDATE SET value = excluded.value`;

/**
 * Runs SQL over a file and closes it. The program's driver prepares statements, and until these are collected a closed
 * connection stays open, for which a restore is refused.
 */
async function execute(file: string, sql: string): Promise<void> {
  const { default: Database } = await import("libsql");
  const db = new Database(file);
  db.exec(`PRAGMA journal_mode = WAL; ${sql}`);
  db.close();
}

async function settings(file: string): Promise<Record<string, unknown>> {
  const driver = await openDatabaseFile({ file });
  const rows = await driver.query("SELECT name, value FROM settings");
  expect(await driver.query("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  await driver.close();
  return Object.fromEntries(rows.map((row) => [row.name, row.value]));
}

type Folder = { target: string; options: RestoreOptions; names(): string[] };

/** Makes `backup.db`, whose name setting is "backup", and if `old` is true `tvs.db`, whose name setting is "old". */
async function withBackup(old: boolean, act: (world: Folder) => Promise<void>): Promise<void> {
  await withTempDir(async (folder) => {
    const target = `${folder}/tvs.db`;
    const driver = await openDatabaseFile({ file: `${folder}/source.db` });
    await applySchema(driver);
    await driver.batch([{ sql: named("backup"), args: [] }]);
    const facts = await makeBackup(driver, `${folder}/backup.db`);
    await driver.close();
    if (old) {
      fs.copyFileSync(`${folder}/backup.db`, target);
      await execute(target, named("old"));
    }
    await act({
      target,
      options: { from: `${folder}/backup.db`, facts, target, force: old, stamp: "then" },
      names: () =>
        fs
          .readdirSync(folder)
          .filter((name) => name.startsWith("tvs.db") && !name.endsWith(".lock"))
          .sort(),
    });
  });
}

test("a restore into an empty folder creates only the database file, for its owner only", () =>
  withBackup(false, async ({ target, options, names }) => {
    expect(await restoreBackup(options)).toMatchObject({ replaced: null, undone: null });
    expect(names()).toEqual(["tvs.db"]);
    expect(fs.statSync(target).mode & 0o777).toBe(0o600);
    expect(await settings(target)).toEqual({ name: "backup" });
  }));

test("a restore follows no symbolic link at the path of the database or its lock", () =>
  withBackup(true, async ({ target, options, names }) => {
    const [real, nowhere] = [`${target}-real`, `${target}-nowhere`];
    fs.renameSync(target, real);
    fs.symlinkSync(real, target);
    const message = `${target} is a symbolic link; take it away, or name the file itself`;
    expect(await catchError(restoreBackup(options))).toMatchObject({ code: "REFUSED", message });
    fs.rmSync(target);
    fs.renameSync(real, target);
    fs.symlinkSync(nowhere, `${target}.lock`);
    expect(await catchError(restoreBackup(options))).toMatchObject({ code: "REFUSED" });
    expect(fs.lstatSync(`${target}.lock`).isSymbolicLink()).toBe(true);
    expect([fs.existsSync(nowhere), names()]).toEqual([false, ["tvs.db"]]);
    expect(await settings(target)).toEqual({ name: "old" });
  }));

test("a restore writes the write-ahead log of a killed old database into the copy that it keeps", () =>
  withBackup(true, async ({ target, options }) => {
    const script = `import { openDatabaseFile } from ${JSON.stringify(new URL("../../../src/store/driver/file.ts", import.meta.url).href)};
      const driver = await openDatabaseFile({ file: ${JSON.stringify(target)} });
      await driver.batch([{ sql: "INSERT INTO settings VALUES ('late', 'yes')", args: [] }]);
      process.kill(process.pid, "SIGKILL");`;
    const child = spawn(process.execPath, ["-e", script], { stdio: "ignore" });
    await new Promise((done) => child.once("exit", done));
    expect(fs.existsSync(`${target}-wal`)).toBe(true);
    await restoreBackup(options);
    expect(await settings(target)).toEqual({ name: "backup" });
    expect(await settings(`${target}.replaced-then`)).toEqual({ name: "old", late: "yes" });
  }));

test("a restore renames a write-ahead log that has no database, and does not replay it", () =>
  withBackup(false, async ({ target, options, names }) => {
    fs.writeFileSync(`${target}-wal`, "a log of who knows what");
    fs.writeFileSync(`${target}-journal`, "a journal of who knows what");
    await restoreBackup(options);
    expect(names()).toEqual(["tvs.db", "tvs.db.replaced-then-journal", "tvs.db.replaced-then-wal"]);
    expect(await settings(target)).toEqual({ name: "backup" });
  }));

test("a restore replaces a database that is too damaged to open", () =>
  withBackup(false, async ({ target, options, names }) => {
    fs.writeFileSync(
      target,
      "SQLite format 3\0 but nothing more of it, at the length of a header ".repeat(20),
    );
    fs.writeFileSync(`${target}-wal`, "its log");
    expect(await restoreBackup({ ...options, force: true })).toMatchObject({ undone: null });
    expect(names().filter((name) => !name.includes("replaced"))).toEqual(["tvs.db"]);
    expect(fs.readFileSync(`${target}.replaced-then`, "utf8")).toContain("nothing more of it");
    expect(await settings(target)).toEqual({ name: "backup" });
  }));

test("a restore is refused while a service or a command uses the database", () =>
  withBackup(true, async ({ target, options, names }) => {
    const service = await openDatabaseFile({ file: target });
    expect(await catchError(restoreBackup(options))).toMatchObject({ code: "DATABASE_IN_USE" });
    await service.lockService();
    expect(await catchError(restoreBackup(options))).toMatchObject({ code: "DATABASE_IN_USE" });
    expect(await service.query("SELECT value FROM settings")).toEqual([{ value: "old" }]);
    await service.close();
    expect(names().filter((name) => /restoring|replaced/.test(name))).toEqual([]);
  }));

test("a command that waited for the old database file cannot write into the restored one", () =>
  withBackup(true, async ({ target, options }) => {
    const { default: Database } = await import("libsql");
    // This connection is opened before the restore and first used after it, like that of a waiting command.
    const stale = new Database(target, { timeout: 0 });
    await restoreBackup(options);
    expect(() =>
      stale.exec("PRAGMA journal_mode = WAL; INSERT INTO settings VALUES ('stale', 'yes')"),
    ).toThrow();
    stale.close();
    expect(fs.existsSync(`${target}-wal`)).toBe(false);
    expect(await settings(target)).toEqual({ name: "backup" });
  }));

test("a restore of a file that changed since its inspection changes nothing and leaves nothing behind", () =>
  withBackup(true, async ({ target, options, names }) => {
    fs.writeFileSync(`${target}.text`, "another file");
    for (const from of [`${target}.text`, `${target}.none`]) {
      const error = await catchError(restoreBackup({ ...options, from }));
      expect(error).toMatchObject({ code: "INPUT_UNREADABLE" });
    }
    expect(names()).toEqual(["tvs.db", "tvs.db.text"]);
    expect(await settings(target)).toEqual({ name: "old" });
  }));

test("a restore lists the keys and credentials that become valid again, and counts the rows that it loses", () =>
  withBackup(true, async ({ target, options }) => {
    await execute(
      target,
      `INSERT INTO partners (partner_id, name, scopes, purposes, per_minute, per_day, batch_cost, created_at)
        VALUES ('gone', 'n', '[]', '[]', 1, 1, 'call', 1);
      INSERT INTO api_keys VALUES ('k1', 'gone', x'00', 1, NULL, 2);
      INSERT INTO signing_keys VALUES ('kid1', 'compromised', '{}', NULL, 1, 1, 1, 2, 1);
      INSERT INTO teachers (reg_no, name, source, active, certificate_status, license_revoked_on, announced_status, version, updated_at)
        VALUES ('A/B/C/1', 'n', 'legacy', 1, 'CLAIMED', '2026-01-01', 'REVOKED', 1, 1);
      INSERT INTO events (event_id, event_type, occurred_at, content) VALUES ('e', 't', 1, '{}')`,
    );
    const changes = [
      { kind: "signingKey", id: "kid1", was: "compromised", now: null },
      { kind: "partner", id: "gone", was: "enabled", now: null },
      { kind: "apiKey", id: "k1", was: "revoked", now: null },
      { kind: "teacher", id: "A/B/C/1", was: "revoked", now: null },
    ] as const;
    const lost = { attestations: 0, history: 0, events: 1 };
    expect((await restoreBackup(options)).undone).toEqual({ changes, lost });
  }));
