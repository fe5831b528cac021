import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { childEnvironment, programWords, runWell } from "../harness/program.ts";
import { reportTries } from "../harness/trial.ts";
import { roundCount, timeLimit } from "./killed.ts";

/**
 * Kills `tvs restore --force` with SIGKILL at random moments, and checks which database is left. It replaces the database
 * of a killed service, whose newest changes are only in the write-ahead log.
 */
const rows = 20_000;

test(
  "a killed restore leaves the old database or the restored one, never a mixture",
  () =>
    withTempDir(async (folder) => {
      const [backup, dataDir] = [join(folder, "backup.db"), join(folder, "data")];
      await prepare(dataDir, backup);
      const words = ["restore", backup, "--force"];
      const begin = performance.now();
      await runWell(words, { dataDir });
      const durationMs = performance.now() - begin;
      for (let round = 0; round < roundCount(6); round++) {
        reportTries({ kills: 1 });
        makeOld(folder, backup);
        // The first third of the time is left out, because the starting process changes nothing.
        const waitMs = durationMs * (0.3 + 0.75 * Math.random());
        const env = childEnvironment({ TVS_DATA: dataDir });
        const child = Bun.spawn([...programWords, ...words], { stdio: ["ignore", "ignore", "ignore"], env });
        await sleep(waitMs);
        child.kill("SIGKILL");
        await child.exited;
        const [names, count, check] = await contentOf(join(dataDir, "tvs.db"));
        expect([count, check]).toEqual([rows, "ok"]);
        expect(["old", "restored"]).toContain(names as string);
      }
    }),
  timeLimit(60_000),
);

async function prepare(dataDir: string, backup: string): Promise<void> {
  await runWell(["init", "--issuer", "https://verify.example.org", "--name", "R"], { dataDir });
  const insert = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
    INSERT INTO teachers (reg_no, name, source, certificate_status, announced_status, version, updated_at)
    SELECT 'A/B/C/' || i, 'restored', 'legacy', 'CLAIMED', 'NOT_FOUND', 1, 1 FROM n`;
  script(`db.exec(${JSON.stringify(insert)}); db.close();`, join(dataDir, "tvs.db"));
  await runWell(["backup", backup], { dataDir });
}

/** Makes the old database: the backup's file, and a write-ahead log in which every teacher is renamed. */
function makeOld(folder: string, backup: string): void {
  const data = join(folder, "data");
  const key = join(folder, "master.key");
  if (!existsSync(key)) copyFileSync(join(data, "master.key"), key);
  rmSync(data, { recursive: true });
  mkdirSync(data, { mode: 0o700 });
  copyFileSync(key, join(data, "master.key"));
  copyFileSync(backup, join(data, "tvs.db"));
  const kill = `db.exec("PRAGMA journal_mode = WAL"); db.exec("UPDATE teachers SET name = 'old'"); process.kill(process.pid, 9);`;
  script(kill, join(data, "tvs.db"));
  if (!readdirSync(data).includes("tvs.db-wal"))
    throw new Error("the old database has no log to be mixed up");
}

/** Reads the teachers' different names, their number, and the result of SQLite's integrity check. */
async function contentOf(file: string): Promise<unknown[]> {
  const { default: Database } = await import("libsql");
  const db = new Database(file);
  const names = "SELECT group_concat(DISTINCT name) AS names, count(*) AS n FROM teachers";
  const [found] = db.prepare(names).all([]) as { names: string; n: number }[];
  const [check] = db.prepare("PRAGMA integrity_check").all([]) as { integrity_check: string }[];
  db.close();
  return [found?.names, found?.n, check?.integrity_check];
}

function script(text: string, file: string): void {
  const open = `const { default: Database } = await import("libsql"); const db = new Database(${JSON.stringify(file)});`;
  spawnSync(process.execPath, ["-e", open + text], { cwd: import.meta.dir });
}
