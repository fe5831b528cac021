import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { runWell } from "../harness/program.ts";
import { durationOf, killed, printFindings } from "./killed.ts";

/**
 * Kills `tvs restore --force` with SIGKILL at random moments over a database whose own service was killed
 * too, so that its newest changes stand only in its log, and says which database is there afterwards.
 * Run alone: `bun test/faults/restore-kill.ts 100`.
 */
export type RestoreFindings = {
  old: number;
  restored: number;
  /** Must be zero. */
  mixed: number;
};

const rows = 20_000;

export function killRestores(kills: number): Promise<RestoreFindings> {
  return withTempDir(async (folder) => {
    const backup = join(folder, "backup.db");
    await prepare(folder, backup);
    const [words, dataDir] = [["restore", backup, "--force"], join(folder, "data")];
    const durationMs = await durationOf(() => runWell(words, { dataDir }));
    const findings: RestoreFindings = { old: 0, restored: 0, mixed: 0 };
    for (let round = 0; round < kills; round++) {
      makeOld(folder, backup);
      // The first third is the start of the process, in which nothing can go wrong.
      const waitMs = durationMs * (0.3 + 0.75 * Math.random());
      await killed({ words, env: { TVS_DATA: dataDir } }, () => sleep(waitMs));
      findings[await whichIsThere(join(folder, "data", "tvs.db"))]++;
    }
    return findings;
  });
}

async function prepare(folder: string, backup: string): Promise<void> {
  const dataDir = join(folder, "data");
  const terms = ["--scopes", "all", "--purposes", "all", "--per-minute", "10", "--per-day", "10"];
  await runWell(["partners", "add", "board", "--name", "Board", ...terms], { dataDir });
  const insert = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
    INSERT INTO teachers (reg_no, name, source, certificate_status, announced_status, version, updated_at)
    SELECT 'A/B/C/' || i, 'restored', 'legacy', 'CLAIMED', 'NOT_FOUND', 1, 1 FROM n`;
  script(`db.exec(${JSON.stringify(insert)}); db.close();`, join(dataDir, "tvs.db"));
  await runWell(["backup", backup], { dataDir });
}

/** The old database: the backup's file, and a log in which every teacher is renamed. */
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

async function whichIsThere(file: string): Promise<keyof RestoreFindings> {
  const { default: Database } = await import("libsql");
  const db = new Database(file);
  const [names] = db
    .prepare("SELECT group_concat(DISTINCT name) AS names, count(*) AS n FROM teachers")
    .all([]) as {
    names: string;
    n: number;
  }[];
  const [check] = db.prepare("PRAGMA integrity_check").all([]) as { integrity_check: string }[];
  db.close();
  if (names?.n !== rows || check?.integrity_check !== "ok") return "mixed";
  return names.names === "old" || names.names === "restored" ? names.names : "mixed";
}

function script(text: string, file: string): void {
  const open = `const { default: Database } = await import("libsql"); const db = new Database(${JSON.stringify(file)});`;
  spawnSync(process.execPath, ["-e", open + text], { cwd: import.meta.dir });
}

if (import.meta.main) printFindings(await killRestores(Number(process.argv[2] ?? 20)));
